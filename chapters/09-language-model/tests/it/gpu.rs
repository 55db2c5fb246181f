//! A step on a device is the CPU's step.

use crate::steps::models;
use backprop::check::error_f32;
use cpu_gpu::gpu::{Kind, open, testing};
use engine::{plan::Plan, program::Numbers, record::Pass, step::program, tensor::Place};
use engine_gpu::{
    Gpu,
    cast::{FORM, launches},
};
use lab::random::SplitMix64;
use language_model::{
    Config, Error, Model,
    devices::{How, Rank, replicas},
    gpu,
    train::{Backend, Settings, Trainer, batches},
};
use multi_gpu::threads;
use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
};

/// Sizes that no tile divides: more than one block of queries, heads of 2, 6 and 32 numbers, and a batch that goes in pieces.
const SIZES: [(Config, [usize; 3]); 4] = [
    (ODD, [3, 67, 1]),
    (ODD, [6, 65, 3]),
    (Config { vocabulary: 5, context: 3, width: 2, heads: 1, layers: 1, hidden: 1 }, [1, 3, 1]),
    (
        Config { vocabulary: 300, context: 40, width: 96, heads: 3, layers: 1, hidden: 70 },
        [5, 33, 1],
    ),
];

const ODD: Config =
    Config { vocabulary: 37, context: 70, width: 12, heads: 2, layers: 2, hidden: 10 };

/// A trainer whose batch has so many sequences of so many tokens, in so many pieces, and its text.
fn trainer((config, [batch, length, accumulate]): (Config, [usize; 3])) -> (Trainer, Vec<u32>) {
    let mut random = SplitMix64::new(3);
    let stream: Vec<u32> = (0..900).map(|_| random.below(config.vocabulary) as u32).collect();
    let usual = Settings { steps: 9, warmup: 2, lr: 1e-2, clip: 0.5, ..Settings::default() };
    let settings = Settings { batch, length, accumulate, ..usual };
    (Trainer::new(Model::new(config, 1).unwrap(), settings, &stream, 1).unwrap(), stream)
}

#[test]
fn steps_are_the_cpus_steps() {
    let Some(device) = testing::opencl() else { return };
    for size in SIZES {
        let (mut cpu, stream) = trainer(size);
        cpu.step(&stream).unwrap(); // it takes over in the middle of a run
        let mut there = gpu::trainer(&*device, &cpu, &stream).unwrap();
        for at in 0..4 {
            let (wanted, got) = (cpu.step(&stream).unwrap(), there.step(&stream).unwrap());
            assert_eq!((wanted.step, wanted.lr), (got.step, got.lr));
            assert!((wanted.loss / got.loss - 1.0).abs() < 1e-5, "{wanted:?} {got:?}");
            assert!((wanted.norm / got.norm - 1.0).abs() < 1e-4, "{wanted:?} {got:?}");
            let [found, gradient] = [there.gradient(), cpu.gradient()];
            for (name, range, _) in cpu.model().layout.tensors(&cpu.config) {
                let error = error_f32(&found[range.clone()], &gradient[range]);
                assert!(error < 1e-3, "{size:?}, step {at}, {name}: {error:e}");
            }
        }
        let (mut back, _) = trainer(size);
        there.hand_back(&mut back).unwrap();
        assert_eq!(back.step, cpu.step);
        assert!(error_f32(&back.model().parameters, &cpu.model().parameters) < 1e-3);
        assert!(error_f32(&back.moments().v, &cpu.moments().v) < 1e-3);
        // A trainer goes on where the device stopped.
        let (wanted, got) = (cpu.step(&stream).unwrap(), back.step(&stream).unwrap());
        assert!((wanted.loss / got.loss - 1.0).abs() < 1e-4);
    }
}

#[test]
fn replicas_take_the_steps_of_one_device_and_of_the_cores() {
    let Some(device) = testing::opencl() else { return };
    let id = device.about().id.clone();
    // With four of them, one has no sequence.
    for (size, ranks) in [(SIZES[0], 2), (SIZES[0], 4), (SIZES[3], 2)] {
        let (mut cpu, stream) = trainer(size);
        let mut one = gpu::trainer(&*device, &cpu, &stream).unwrap();
        let (model, settings) = (cpu.model(), cpu.settings);
        let found = threads::run(ranks, |comm| {
            let gpu = open(&id)?;
            let (device, comm) = (Gpu::new(&*gpu), Arc::new(Mutex::new(comm)));
            let split = How::Data.split(&settings, ranks);
            let with = |peers| device.with_ranks(peers);
            let mut rank = Rank::new(&model, split, settings, comm, with)?;
            let mut step = || {
                let step = rank.step(&batches::batch(&settings, rank.step, &stream)?)?;
                Ok((step, rank.member.step.to_file(Place::Gradient)))
            };
            (0..3).map(|_| step()).collect::<multi_gpu::Result<Vec<_>>>()
        });
        let found = found.unwrap();
        for (at, (step, gradient)) in found[0].iter().enumerate() {
            let wanted = [one.step(&stream).unwrap(), cpu.step(&stream).unwrap()];
            for (wanted, all) in wanted.into_iter().zip([one.gradient(), cpu.gradient()]) {
                assert!((wanted.loss / step.loss - 1.0).abs() < 1e-5, "{wanted:?} {step:?}");
                assert!((wanted.norm / step.norm - 1.0).abs() < 1e-4, "{wanted:?} {step:?}");
                for (name, range, _) in model.layout.tensors(&model.config) {
                    let error = error_f32(&gradient[range.clone()], &all[range]);
                    assert!(error < 1e-3, "{ranks} ranks, step {at}, {name}: {error:e}");
                }
            }
        }
        assert!(found.iter().all(|rank| *rank == found[0]), "{ranks} ranks differ");
    }
}

#[test]
fn a_device_gives_the_same_bits_again_in_segments_and_after_a_break() {
    let Some(device) = testing::opencl() else { return };
    for size in SIZES {
        let after = |begun: &Trainer, steps: usize| {
            let stream = trainer(size).1;
            let mut there = gpu::trainer(&*device, begun, &stream).unwrap();
            (0..steps).for_each(|_| _ = there.step(&stream).unwrap());
            let mut back = trainer(size).0;
            there.hand_back(&mut back).unwrap();
            back
        };
        let bits = |trainer: &Trainer| {
            let all = [trainer.model().parameters, trainer.moments().m, trainer.moments().v];
            all.concat().into_iter().map(f32::to_bits).collect::<Vec<_>>()
        };
        let [mut begun, other] = [(); 2].map(|()| trainer(size).0);
        let whole = bits(&after(&begun, 4));
        for recompute in [None, Some(2)] {
            begun.settings.recompute = recompute;
            assert!(whole == bits(&after(&begun, 4)), "{size:?}, {recompute:?}");
        }
        assert!(whole == bits(&after(&after(&other, 1), 3)), "{size:?}");
    }
}

#[test]
fn steps_that_are_begun_ahead_are_those_that_are_waited_for() {
    let Some(device) = testing::opencl() else { return };
    for (size, pieces) in SIZES.into_iter().zip([1, 3, 1, 3]) {
        let (mut begun, stream) = trainer(size);
        begun.settings.batch *= 3;
        begun.settings.accumulate *= pieces;
        let begun = Trainer::new(begun.model(), begun.settings, &stream, 1).unwrap();
        let run = |ahead: &dyn Fn(u64) -> u64| {
            let mut there = gpu::trainer(&*device, &begun, &stream).unwrap();
            let mut most = 0;
            let steps: Vec<_> = (0..5)
                .map(|step| {
                    let found = there.step_of(&stream, ahead(step)).unwrap();
                    most = there.ahead().max(most);
                    found
                })
                .collect();
            assert_eq!(there.ahead(), 0);
            (most, steps, there.model().parameters)
        };
        let (none, (most, ..)) = (run(&|_| 0), run(&|_| 5));
        assert_eq!((none.0, most), (0, 2));
        for all in [run(&|_| 5), run(&|step| (step + 2).min(5))] {
            assert!((all.1, all.2) == (none.1.clone(), none.2.clone()), "{size:?}");
        }
    }
}

#[test]
fn a_loss_that_is_no_number_shows_as_on_the_cpu_and_changes_nothing() {
    let Some(device) = testing::opencl() else { return };
    let (mut cpu, stream) = trainer(SIZES[0]);
    let (mut model, moments) = (cpu.model(), cpu.moments());
    model.parameters[3] = f32::NAN; // a number of the first token's row
    cpu.restore(0, &model.parameters, &moments);
    let mut there = gpu::trainer(&*device, &cpu, &stream).unwrap();
    for error in [cpu.step(&stream).unwrap_err(), there.step(&stream).unwrap_err()] {
        assert!(matches!(error, Error::Diverged { step: 1, .. }), "{error}");
    }
    let nan = |gradient: Vec<f32>| gradient.into_iter().map(f32::is_nan).collect::<Vec<_>>();
    assert!(nan(there.gradient()) == nan(cpu.gradient()));
    // Those that were begun behind it change nothing, too.
    let error = there.step_of(&stream, 9).unwrap_err();
    assert!(matches!(error, Error::Diverged { step: 1, .. }) && there.ahead() == 0, "{error}");
    assert_eq!(there.transformer.step.updates(), 0);
    let mut back = trainer(SIZES[0]).0;
    there.hand_back(&mut back).unwrap();
    assert_eq!((back.step, back.moments()), (0, moments));
}

#[test]
fn a_batch_that_does_not_fit_is_refused_with_one_that_does() {
    let Some(device) = testing::opencl() else { return };
    let (config, stream) = (Config::small(), vec![0; 300]);
    let settings = Settings { batch: 1 << 15, length: 256, ..Settings::default() };
    let model = Model::new(config, 1).unwrap();
    let mut cpu = Trainer::new(model, settings, &stream, 1).unwrap();
    let said = gpu::trainer(&*device, &cpu, &stream).err().unwrap().to_string();
    assert!(said.contains("32768 sequences needs") && said.contains("take --batch "), "{said}");
    if device.about().kind == Kind::Cpu {
        cpu.settings.accumulate = 1 << 14; // and yet a rank takes all of its sequences at once
        let id = device.about().id.parse().unwrap();
        let said = replicas::threads(2, Some(id), |team| team.lead(&cpu).map(drop));
        lab::testing::refused(said, ["by 2 replicas needs", "take --batch "]);
    }
}

/// So that a forgotten copy or another launch fails here: what a GPU does between a batch and its gradient, by number. It takes no
/// device.
#[test]
fn the_launches_of_a_step() {
    let mut found = String::new();
    for (model, config) in models().into_iter().zip([Config::tiny(), Config::small()]) {
        let rows = 16 * config.context;
        let pass = Pass { rows, training: true, numbers: Numbers::F32, adds: false };
        let program = program(&model, pass, FORM);
        let all = launches(&program, &Plan::new(&program, false)).unwrap().all;
        let mut kinds = BTreeMap::new();
        for planned in &all {
            *kinds.entry(planned.launch.entry).or_insert(0) += 1;
        }
        // Of each layer, and of the rest.
        let layers = config.layers;
        let kinds = kinds.iter().map(|(kind, n)| format!("{kind} {}+{}", n / layers, n % layers));
        found += &format!("{}: {}\n", all.len(), kinds.collect::<Vec<_>>().join(", "));
    }
    assert_eq!(found, LAUNCHES);
}

const LAUNCHES: &str = "\
120: add 4+0, add_up 0+1, attention 1+0, attention_dkv 1+0, attention_dq 1+0, finish 0+2, gate 1+0, gate_backward 1+0, look_up 0+1, \
loss 0+1, product 12+3, rms_norm 2+1, rms_norm_backward 2+1, rms_norm_sums 2+1, sum_all 0+1
173: add 4+0, add_up 0+1, attention 1+0, attention_dkv 1+0, attention_dq 1+0, finish 0+1, gate 1+0, gate_backward 1+0, look_up 0+1, \
loss 0+1, product 12+3, rms_norm 2+1, rms_norm_backward 2+1, rms_norm_sums 2+1, sum_all 0+1
";
