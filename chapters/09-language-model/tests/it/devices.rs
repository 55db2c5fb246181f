//! A training that is split over ranks against one device.

use crate::talker::far as model;
use backprop::check::error_f32;
use lab::random::SplitMix64;
use lab::testing::refused;
use language_model::{
    Config,
    count::Bytes,
    devices::{
        How,
        how::{self, Ran},
        replicas::{self, Team},
    },
    product::Numbers,
    train::{Backend as _, Settings, Trainer, batches},
};
use mixed_precision::amp::scaler::{Dynamic, LossScale, Scaler, Scaling};
use multi_gpu::{
    replicas::tcp,
    split::{equality::Strategy, hybrid::Grid, schedule::Schedule, zero::Level},
    threads::PATIENCE,
};
use std::time::Instant;

/// Three heads, five hidden units and three layers: nothing that two divides.
const ODD: Config =
    Config { vocabulary: 11, context: 9, width: 12, heads: 3, layers: 3, hidden: 5 };
/// What four divides.
const EVEN: Config =
    Config { vocabulary: 64, context: 16, width: 64, heads: 4, layers: 4, hidden: 32 };
const STEPS: u64 = 4;

fn settings(config: &Config, batch: usize) -> Settings {
    let length = config.context;
    Settings { batch, length, steps: 100, lr: 1e-3, warmup: 2, ..Settings::default() }
}

fn stream(config: &Config) -> Vec<u32> {
    let mut random = SplitMix64::new(3);
    (0..300).map(|_| random.below(config.vocabulary) as u32).collect()
}

/// Losses and parameters of one device.
fn alone(config: Config, batch: usize) -> (Vec<f64>, Trainer) {
    let stream = stream(&config);
    let mut trainer = Trainer::new(model(config), settings(&config, batch), &stream, 1).unwrap();
    let losses = (0..STEPS).map(|_| trainer.step(&stream).unwrap().loss).collect();
    (losses, trainer)
}

/// What ranks came to against what one device did.
#[track_caller]
fn equal(name: &str, ran: &Ran, (losses, trainer): &(Vec<f64>, Trainer)) {
    assert_eq!(ran.losses.len(), losses.len());
    for (found, wanted) in ran.losses.iter().zip(losses) {
        assert!((found / wanted - 1.0).abs() < 1e-5, "{name}: {found} {wanted}");
    }
    let wanted = &trainer.model().parameters;
    for found in &ran.parameters {
        assert_eq!(*found, ran.parameters[0], "{name}: the ranks differ");
        let off = error_f32(found, wanted);
        assert!(off < 1e-5, "{name}: {off}");
    }
    // Far less than what the steps have moved.
    let moved = error_f32(&model(trainer.config).parameters, wanted);
    assert!(error_f32(&ran.parameters[0], wanted) < 1e-2 * moved, "{name}: {moved}");
}

#[test]
fn every_split_is_equal_to_one_device() {
    for (config, batch, most) in [(ODD, 5, 3), (EVEN, 8, 4), (ODD, 1, 2)] {
        let (one, settings, stream) =
            (alone(config, batch), settings(&config, batch), stream(&config));
        for (how, ranks) in How::ALL.into_iter().flat_map(|how| (1..=most).map(move |n| (how, n))) {
            let ran = how::train(how, &model(config), settings, &stream, (ranks, STEPS)).unwrap();
            equal(&format!("{} over {ranks}, {batch} sequences", how.name()), &ran, &one);
        }
    }
}

#[test]
fn every_setting_of_the_engine_is_equal_to_one_device() {
    let grid = |data, stages, tensor| Strategy::Hybrid(Grid { data, stages, tensor }, 2);
    let ways = [grid(2, 3, 1), grid(1, 2, 3), grid(2, 1, 2), grid(2, 2, 2), Strategy::Overlap(999)];
    let ways = ways.into_iter().chain(Level::ALL.map(Strategy::Zero));
    let (one, settings, stream) = (alone(ODD, 5), settings(&ODD, 5), stream(&ODD));
    for way in ways {
        let ranks = if let Strategy::Hybrid(grid, _) = way { grid.ranks() } else { 3 };
        // Whole models in segments.
        let settings = Settings { recompute: (ranks == 3).then_some(2), ..settings };
        let split = way.settings(ranks);
        let run = |split| how::run(split, &model(ODD), settings, &stream, STEPS);
        equal(&way.name(), &run(split).unwrap(), &one);
        // In micro-batches, of which ranks have one or two.
        let cut = run(split.in_order(Schedule::OneForwardOneBackward, 2));
        match way {
            Strategy::Zero(Level::Parameters) => {
                refused(cut, ["whole batches"]);
            }
            _ => equal(&way.name(), &cut.unwrap(), &one),
        }
    }
}

#[test]
fn one_rank_has_the_bits_of_one_device() {
    let (_, trainer) = alone(ODD, 5);
    let (stream, settings) = (stream(&ODD), settings(&ODD, 5));
    for recompute in [None, Some(3)] {
        let settings = Settings { recompute, ..settings };
        let ran = how::train(How::Data, &model(ODD), settings, &stream, (1, STEPS)).unwrap();
        assert!(ran.parameters[0] == trainer.model().parameters);
        assert_eq!(ran.traffic[0].bytes_sent, 0);
    }
}

#[test]
fn replicas_take_a_trainers_place_and_hand_back() {
    let stream = stream(&ODD);
    let (_, mut trainer) = alone(ODD, 5);
    let mut ahead = alone(ODD, 5).1;
    let led = replicas::threads(2, None, |team| {
        let mut replicas = team.lead(&trainer)?;
        for _ in 0..2 {
            let (found, wanted) = (replicas.step(&stream)?, ahead.step(&stream)?);
            assert_eq!((found.step, found.lr), (wanted.step, wanted.lr));
            assert!((found.loss / wanted.loss - 1.0).abs() < 1e-5);
            assert!((found.norm / wanted.norm - 1.0).abs() < 1e-4);
        }
        replicas.hand_back(&mut trainer)
    });
    led.unwrap();
    assert_eq!(trainer.step, ahead.step);
    assert!(error_f32(&trainer.model().parameters, &ahead.model().parameters) < 1e-5);
    assert!(error_f32(&trainer.moments().v, &ahead.moments().v) < 1e-4);
    // And the trainer goes on by itself.
    let (found, wanted) = (trainer.step(&stream).unwrap(), ahead.step(&stream).unwrap());
    assert!((found.loss / wanted.loss - 1.0).abs() < 1e-5);
}

#[test]
fn numbers_of_16_bits_are_rounded_as_on_one_device() {
    let stream = stream(&ODD);
    let exact = alone(ODD, 5).1.model().parameters;
    for numbers in [Numbers::Bf16, Numbers::F16] {
        let settings = Settings { numbers, ..settings(&ODD, 5) };
        let mut one = Trainer::new(model(ODD), settings, &stream, 1).unwrap();
        for _ in 0..STEPS {
            one.step(&stream).unwrap();
        }
        let one = one.model().parameters;
        let rounding = error_f32(&one, &exact);
        assert!(rounding > 1e-7, "{numbers:?}: nothing was rounded");
        for ranks in [1, 3] {
            let ran = how::train(How::Data, &model(ODD), settings, &stream, (ranks, STEPS));
            for own in ran.unwrap().parameters {
                assert!(error_f32(&own, &one) < 2.0 * rounding, "{numbers:?}, {ranks} ranks");
                assert!(ranks > 1 || own == one, "{numbers:?}");
            }
        }
    }
}

#[test]
fn all_replicas_skip_the_step_that_overflowed() {
    let (stream, start) = (stream(&ODD), 2f32.powi(60));
    let settings = Settings { numbers: Numbers::F16, ..settings(&ODD, 5) };
    let mut trainer = Trainer::new(model(ODD), settings, &stream, 1).unwrap();
    trainer.scaler = Some(Scaler::new(Scaling::Dynamic(Dynamic { start, every: 2000 })));
    let led = replicas::threads(2, None, |team| {
        let mut replicas = team.lead(&trainer)?;
        for _ in 0..3 {
            assert!(!replicas.step(&stream)?.norm.is_finite());
        }
        replicas.hand_back(&mut trainer)
    });
    led.unwrap();
    let at = LossScale { scale: start / 8.0, good: 0, skipped: 3 };
    assert_eq!(trainer.scaler.map(|scaler| scaler.state()), Some(at));
    assert_eq!((trainer.step, trainer.transformer.step.updates()), (3, 0));
    assert!(trainer.model().parameters == model(ODD).parameters);
}

#[test]
fn replicas_that_are_processes_have_the_bits_of_threads_and_stop_together() {
    let stream = stream(&ODD);
    let lead = |team: &Team| {
        let mut home = alone(ODD, 5).1;
        let mut replicas = team.lead(&home)?;
        for _ in 0..3 {
            replicas.step(&stream)?;
        }
        let asked = replicas.stops();
        replicas.hand_back(&mut home)?;
        Ok((home.model().parameters, asked))
    };
    let (wanted, asked) = replicas::threads(3, None, lead).unwrap();
    assert!(!asked);
    let all = tcp::run(3, |comm| {
        let rank = comm.rank().0;
        replicas::on(comm, (None, 3), |team| {
            if rank > 0 {
                let stop = &mut || rank == 2;
                return team.follow(stop).map(|()| (Vec::new(), false));
            }
            let led = lead(team)?;
            team.end().map(|()| led)
        })
    });
    assert!(all.unwrap()[0] == (wanted, true));
}

#[test]
fn a_replica_that_panics_ends_the_others_at_once() {
    let trainer = alone(ODD, 5).1;
    // A token that the model does not know, in a sequence of the second one alone.
    let (places, own) = ((0..300).collect::<Vec<u32>>(), 3 * ODD.context);
    let [at, next] = batches::batch(&trainer.settings, trainer.step, &places).unwrap();
    let (first, second) = at.split_at(own);
    let bad = second.iter().find(|at| !first.contains(at) && !next[..own].contains(at));
    let mut stream = stream(&ODD);
    stream[*bad.unwrap() as usize] = 1000;
    let begun = Instant::now();
    let failed = replicas::threads(2, None, |team| team.lead(&trainer)?.step(&stream));
    let said = failed.unwrap_err().to_string();
    assert!(said.starts_with("rank 1 is gone: it panicked"), "{said}");
    assert!(begun.elapsed() < PATIENCE / 10);
}

#[test]
fn what_is_sent_and_held_is_what_the_formulas_say() {
    // Four divides all parameters; loss and norm are a few numbers more.
    let (batch, ranks) = (8, 4);
    let (stream, settings, start) = (stream(&EVEN), settings(&EVEN, batch), model(EVEN));
    let run = |how| how::train(how, &start, settings, &stream, (ranks, 1)).unwrap();
    let bytes = 4 * start.layout.len;
    let activations = 4 * batch * EVEN.context * EVEN.width;
    for (how, wanted) in [
        (How::Data, 2 * bytes * 3 / 4),
        (How::Zero, 2 * bytes * 3 / 4),
        (How::Tensor, 4 * EVEN.layers * 2 * activations * 3 / 4),
    ] {
        for traffic in run(how).traffic {
            let off = traffic.bytes_sent.abs_diff(wanted);
            assert!(off <= 32, "{}: {} {wanted}", how.name(), traffic.bytes_sent);
        }
    }
    // A pipeline's ends: a pass of activations, and an all-reduce of the table between the two.
    let table = 4 * EVEN.vocabulary * EVEN.width;
    let sent: Vec<_> = run(How::Pipeline).traffic.iter().map(|t| t.bytes_sent).collect();
    for (sent, wanted) in sent.iter().zip([activations + table, 2 * activations]) {
        assert!(sent.abs_diff(wanted) <= 32, "{sent} {wanted}");
    }
    let held = |how| -> Vec<Bytes> { run(how).bytes };
    let (data, zero) = (held(How::Data), held(How::Zero));
    // A whole buffer is a multiple of 1024 numbers.
    assert!(data[0].moments.abs_diff(2 * bytes as u64) < 2 * 4096);
    assert!(zero.iter().all(|rank| rank.moments == bytes as u64 / 2));
    for how in [How::Tensor, How::Pipeline] {
        let held = held(how);
        assert!(held.iter().all(|rank| rank.parameters < data[0].parameters * 2 / 3));
    }
}

#[test]
fn what_cannot_be_split_is_refused() {
    let (stream, settings) = (stream(&ODD), settings(&ODD, 5));
    for how in [How::Tensor, How::Pipeline] {
        refused(how::train(how, &model(ODD), settings, &stream, (4, 1)), ["take 3 at most"]);
    }
    assert!(how::train(How::Data, &model(ODD), settings, &stream, (0, 1)).is_err());
    let trainer = alone(ODD, 2).1;
    for (ranks, why) in [(0, "at least one rank"), (3, "take 2 at most")] {
        let led = replicas::threads(ranks, None, |team| team.lead(&trainer).map(drop));
        refused(led, [why]);
    }
    let cut = Settings { recompute: Some(2), ..settings };
    refused(how::train(How::Pipeline, &model(ODD), cut, &stream, (2, 1)), ["leave them out"]);
    let wild = Settings { lr: 1e30, clip: 1e30, warmup: 0, ..settings };
    refused(how::train(How::Tensor, &model(ODD), wild, &stream, (2, 20)), ["became NaN"]);
}
