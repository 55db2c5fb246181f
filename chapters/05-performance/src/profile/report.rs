//! A profile: what each kind of operation takes in a step, over many steps.

use super::{
    cost::{Cost, Operation, Reader, beside},
    step::{Step, plain},
    tape::{Event, Phase},
};
use crate::{Error, Result};
use dfdx::prelude::*;
use lab::{
    Samples, TableData, Unit,
    data::DataSet,
    peak::{self, Traffic},
};
use std::time::Instant;
use training::{
    Model, Settings,
    any::AllModels,
    cnn::Cnn,
    engine::Resident,
    linear::Linear,
    mlp::Mlp,
    model::{self, Network},
    order::order,
    resnet::Resnet,
    rnn::Rnn,
    transformer::Transformer,
};

/// One kind of operation in one phase of a step.
#[derive(Clone, Debug)]
pub struct Row {
    /// The phase.
    pub phase: Phase,
    /// Its name: `dense 784→128`.
    pub name: String,
    /// How many of them there are in a step.
    pub times: usize,
    /// Seconds that they take together, in each step that was profiled.
    pub seconds: Samples,
    /// What they cost together.
    pub cost: Cost,
}

/// An event of a step with its name, as a timeline draws it.
#[derive(Clone, Debug)]
pub struct Moment {
    /// The phase.
    pub phase: Phase,
    /// The operation's name.
    pub name: String,
    /// Seconds, in each step that was profiled.
    pub seconds: Samples,
}

/// Where the time of a model's training step goes.
#[derive(Clone, Debug)]
pub struct Profile {
    /// The model.
    pub model: Model,
    /// Images in a step.
    pub batch: usize,
    /// The kinds of operations, the one that takes longest first.
    pub rows: Vec<Row>,
    /// Every event, in the order of the step.
    pub moments: Vec<Moment>,
    /// Seconds of a whole step with the profiler.
    pub total: Samples,
    /// Seconds of a whole step without it, taken in turn.
    pub plain: Samples,
}

impl Profile {
    /// The median of a row's fraction of the step.
    pub fn share(&self, row: &Row) -> f64 {
        row.seconds.median() / self.rows.iter().map(|row| row.seconds.median()).sum::<f64>()
    }
}

/// The machine's limits: peak in FLOP/s and bandwidth in B/s, with all cores. Chapter 0 measures both.
pub fn limits() -> [lab::record::Limit; 2] {
    let threads = rayon::current_num_threads();
    [peak::fma_f32(threads), peak::bandwidth(Traffic::Copy, threads)]
}

/// Profiles `steps` steps of a model of chapter 4 on the CPU, each with `batch` images, after three steps that are
/// not counted.
///
/// # Errors
/// [`Error::Config`] for a batch or a number of steps that is 0, or larger than the data set; [`Error::Device`].
pub fn profile(model: Model, data: &DataSet, batch: usize, steps: usize) -> Result<Profile> {
    if batch == 0 || steps == 0 || batch > data.train.len() {
        return Err(Error::Config(format!(
            "a profile needs at least one step, and a batch from 1 to {} images, not {batch}",
            data.train.len()
        )));
    }
    let profile = match model {
        Model::Linear => run::<Linear<Cpu>>,
        Model::Mlp => run::<Mlp<Cpu>>,
        Model::Cnn => run::<Cnn<f32, Cpu>>,
        Model::Resnet => run::<Resnet<f32, Cpu>>,
        Model::Rnn => run::<Rnn<f32, Cpu>>,
        Model::Transformer => run::<Transformer<f32, Cpu>>,
    };
    profile(model, data, batch, steps)
}

/// Steps before the first that counts: they meet cold caches and memory that was never touched.
const WARM_UP: usize = 3;

fn run<M: Network<Cpu>>(
    model: Model,
    data: &DataSet,
    batch: usize,
    steps: usize,
) -> Result<Profile> {
    let dev = Cpu::seed_from_u64(0);
    let mut step = Step::<M, Cpu>::new(&dev)?;
    let mut learner = dev.learner(&Settings { model, ..Settings::default() })?;
    let data = Resident::new(&dev, &data.train)?;
    let order = order(0, 1, data.len());
    let whole = data.len() / batch * batch;
    let mut batches = order[..whole].chunks(batch).cycle();
    let (mut all, mut seconds) = (Vec::new(), Vec::new());
    for at in 0..WARM_UP + steps {
        let Some(index) = batches.next() else { break };
        let events = step.profiled(&data, index)?;
        let start = Instant::now();
        plain(&mut *learner, &data, index)?;
        if at >= WARM_UP {
            seconds.push(start.elapsed().as_secs_f64());
            all.push(events);
        }
    }
    let parameters = model::parameters(step.model())?.len();
    summary(model, batch, parameters, &all, Samples(seconds))
}

/// The name and the cost of each event of a step, in its order.
///
/// # Errors
/// [`Error::Config`] if there is an operation that [`Reader`] does not know.
pub fn named(events: &[Event], batch: usize, parameters: usize) -> Result<Vec<(String, Cost)>> {
    let ahead = events.iter().filter(|e| e.phase != Phase::Backward && e.op.is_some());
    let types: Vec<&str> = ahead.map(|event| event.what).collect();
    let known = Reader::new(batch).operations(&types);
    let each = events.iter().map(|event| {
        let Some(op) = event.op else {
            return Ok((event.what.into(), beside(event.phase, event.what, batch, parameters)));
        };
        let Some(Operation { name, forward, backward }) = known.get(op).cloned().flatten() else {
            return Err(Error::Config(format!(
                "the profiler does not know the cost of {}; teach it to profile::cost::Reader",
                event.what
            )));
        };
        Ok((name, if event.phase == Phase::Backward { backward } else { forward }))
    });
    each.collect()
}

fn summary(
    model: Model,
    batch: usize,
    parameters: usize,
    all: &[Vec<Event>],
    plain: Samples,
) -> Result<Profile> {
    let first = all.first().map_or(&[][..], Vec::as_slice);
    let mut moments = Vec::new();
    let mut rows: Vec<Row> = Vec::new();
    for (at, (name, cost)) in named(first, batch, parameters)?.into_iter().enumerate() {
        let phase = first[at].phase;
        let seconds = Samples(all.iter().filter_map(|e| e.get(at)).map(Event::seconds).collect());
        moments.push(Moment { phase, name: name.clone(), seconds: seconds.clone() });
        match rows.iter_mut().find(|row| row.phase == phase && row.name == name) {
            Some(row) => {
                row.times += 1;
                row.cost = row.cost.plus(&cost);
                row.seconds.0.iter_mut().zip(&seconds.0).for_each(|(sum, s)| *sum += s);
            }
            None => rows.push(Row { phase, name, times: 1, seconds, cost }),
        }
    }
    rows.sort_by(|a, b| b.seconds.median().total_cmp(&a.seconds.median()));
    let total = all.iter().map(|e| e.last().map_or(0.0, |event| event.end)).collect();
    Ok(Profile { model, batch, rows, moments, total: Samples(total), plain })
}

/// A table of at most so many operations, under a peak in FLOP/s and a bandwidth in B/s; the rest is summed up.
pub fn table(profile: &Profile, peak: f64, bandwidth: f64, most: usize) -> TableData {
    let mut rows: Vec<Vec<String>> = Vec::new();
    let mut rest = 0.0;
    for (at, row) in profile.rows.iter().enumerate() {
        let median = row.seconds.median();
        if at >= most {
            rest += profile.share(row);
            continue;
        }
        let bound = row.cost.seconds(peak, bandwidth);
        let of_roof =
            if bound > 0.0 { format!("{:.0}%", 100.0 * bound / median) } else { "–".into() };
        let times = if row.times > 1 { format!(" ×{}", row.times) } else { String::new() };
        rows.push(vec![
            format!("{}{times}", row.name),
            row.phase.name().into(),
            Unit::Seconds.format(median),
            format!("{:.1}%", 100.0 * profile.share(row)),
            format!("{:.1}", row.cost.flops() / 1e6),
            format!("{:.2}", row.cost.bytes / 1e6),
            format!("{:.1}", row.cost.intensity()),
            of_roof,
        ]);
    }
    if rest > 0.0 {
        let mut row = vec!["all others".to_owned(), String::new(), String::new()];
        row.extend([format!("{:.1}%", 100.0 * rest)]);
        row.resize(8, String::new());
        rows.push(row);
    }
    let head = ["operation", "phase", "time", "share", "MFLOP", "MB", "FLOP/B", "of roof"];
    TableData {
        caption: format!(
            "One step of {} on {} images: {}. The roof: {} and {}.",
            profile.model,
            profile.batch,
            Unit::Seconds.format(profile.total.median()),
            Unit::FlopsPerSecond.format(peak),
            Unit::BytesPerSecond.format(bandwidth)
        ),
        head: head.map(str::to_owned).to_vec(),
        rows,
    }
}

/// Profiles a model of chapter 4 and shows a table of its sixteen longest operations, in a terminal or a notebook.
///
/// # Errors
/// As [`profile`]; a data set that can't be found.
pub fn print(model: Model, batch: usize) -> Result<()> {
    let data = lab::data::load(&lab::data::Options::default())?;
    let [peak, bandwidth] = limits();
    lab::show::table(&table(&profile(model, &data, batch, 20)?, peak.value, bandwidth.value, 16));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::tape::{timed, untimed};
    use dfdx::losses::cross_entropy_with_logits_loss;
    use training::optimizer::{Optimizer, Rule};

    fn of(model: Model, batch: usize) -> Profile {
        profile(model, &lab::data::drawn(40, 10, 1), batch, 2).unwrap()
    }

    #[test]
    fn every_operation_of_every_model_has_a_name_and_a_cost() {
        for model in Model::ALL {
            let profile = of(model, 6);
            for row in &profile.rows {
                let free = row.name == "release";
                assert!(free || row.cost.bytes > 0.0, "{model}: {row:?}");
                assert!(!row.name.contains("::"), "{model}: {row:?}");
            }
        }
    }

    #[test]
    fn the_products_follow_from_the_models_sizes() {
        let mlp = |name: &str| {
            // dfdx also computes the gradient of the images, which is unused.
            let counts = backprop::count::Model::named(name).unwrap().count().unwrap();
            counts.forward + counts.backward + counts.rows[0].forward
        };
        let conv = |side: f64, k: f64, i: f64, o: f64| side * side * k * k * i * o;
        let block = |side, channels| 2. * conv(side, 3., channels, channels);
        let cnn = conv(28., 5., 1., 16.) + conv(10., 5., 16., 32.) + 800. * 128. + 1280.;
        let resnet = conv(28., 3., 1., 24.)
            + block(14., 24.)
            + conv(7., 1., 24., 48.)
            + block(7., 48.)
            + 480.;
        let rnn = 28. * (28. * 384. + 128. * 384.) + 1280.;
        let layer = 16. * (4. * 64. * 64. + 2. * 64. * 128.) + 2. * 4. * 16. * 16. * 16.;
        let transformer = 16. * 49. * 64. + 2. * layer + 640.;
        for (model, of_an_image) in [
            (Model::Linear, mlp("784-10")),
            (Model::Mlp, mlp("mlp")),
            (Model::Cnn, 6.0 * cnn),
            (Model::Resnet, 6.0 * resnet),
            (Model::Rnn, 6.0 * rnn),
            (Model::Transformer, 6.0 * transformer),
        ] {
            let profile = of(model, 5);
            let found: f64 = profile.rows.iter().map(|row| row.cost.products).sum();
            let wanted = 5.0 * of_an_image;
            assert!((found - wanted).abs() < 1.0, "{model}: {found}, and not {wanted}");
        }
    }

    #[test]
    fn events_have_no_gaps_and_cover_the_step() {
        let dev = Cpu::seed_from_u64(1);
        let mut step = Step::<Mlp<Cpu>, Cpu>::new(&dev).unwrap();
        let data = Resident::new(&dev, &lab::data::drawn(20, 10, 1).train).unwrap();
        let start = Instant::now();
        let events = step.profiled(&data, &[3, 1, 4]).unwrap();
        let whole = start.elapsed().as_secs_f64();
        assert!(events[0].start.abs() < 1e-12);
        for pair in events.windows(2) {
            assert_eq!(pair[0].end.to_bits(), pair[1].start.to_bits());
            assert!(pair[1].end >= pair[1].start);
        }
        let last = events.last().unwrap();
        assert_eq!(last.phase, Phase::Zero);
        assert!(last.end <= whole);
        // Each operation goes both ways, and the backward pass is the forward pass in reverse.
        let ways = |back: bool| {
            let of = events.iter().filter(|event| (event.phase == Phase::Backward) == back);
            of.filter_map(|event| event.op).collect::<Vec<_>>()
        };
        let mut back = ways(true);
        back.reverse();
        assert!(!back.is_empty());
        assert_eq!(ways(false), back);
    }

    fn same_bits<M: Network<Cpu>>() {
        let build = || {
            let dev = Cpu::seed_from_u64(3);
            (build_on::<M>(&dev), dev)
        };
        let slopes = |mut model: M, mut grads: Gradients<f32, Cpu>| {
            // One step of plain descent from the same weights: the gradient, as the weights show it.
            let mut sgd = Optimizer::new(&model, Rule::Sgd, 0.0).unwrap();
            sgd.update(1.0, &mut model, &mut grads).unwrap();
            model::parameters(&model).unwrap()
        };
        let targets = |dev: &Cpu| {
            let mut hot = vec![0.0; 30];
            for at in [3, 14, 25] {
                hot[at] = 1.0;
            }
            dev.tensor_from_vec(hot, (3, Const::<10>))
        };
        let pixels: Vec<f32> = (0..3 * 784).map(|i| (i % 13) as f32 / 13.0).collect();
        let (mut one, dev) = build();
        let images = dev.tensor_from_vec(pixels.clone(), (3, Const::<784>));
        let scores = one.learn(timed(images, one.alloc_grads())).unwrap();
        let watched = untimed(cross_entropy_with_logits_loss(scores, targets(&dev))).backward();
        let (mut two, dev) = build();
        let images = dev.tensor_from_vec(pixels, (3, Const::<784>));
        let scores = two.learn(images.traced(two.alloc_grads())).unwrap();
        let unwatched = cross_entropy_with_logits_loss(scores, targets(&dev)).backward();
        let [one, two] = [slopes(one, watched), slopes(two, unwatched)];
        assert!(one.iter().zip(&two).all(|(a, b)| a.to_bits() == b.to_bits()));
        assert!(one != model::parameters(&build().0).unwrap(), "no slope");
    }

    fn build_on<M: Network<Cpu>>(dev: &Cpu) -> M {
        let mut model: M = model::build(dev).unwrap();
        model.set_dropout(0.2);
        model
    }

    #[test]
    fn to_be_watched_changes_no_bit_of_a_gradient() {
        same_bits::<Linear<Cpu>>();
        same_bits::<Mlp<Cpu>>();
        same_bits::<Cnn<f32, Cpu>>();
        same_bits::<Resnet<f32, Cpu>>();
        same_bits::<Rnn<f32, Cpu>>();
        same_bits::<Transformer<f32, Cpu>>();
    }

    #[test]
    fn the_table_fits_a_terminal() {
        for model in Model::ALL {
            let text = lab::show::table_text(&table(&of(model, 3), 1e11, 1e10, 16));
            let lines = text.lines().take_while(|line| !line.starts_with("One step"));
            for line in lines {
                assert!(line.chars().count() <= 80, "{line}");
            }
        }
    }

    #[test]
    fn what_cannot_be_profiled_is_refused() {
        let data = lab::data::drawn(4, 2, 1);
        for (batch, steps) in [(0, 1), (1, 0), (5, 1)] {
            assert!(profile(Model::Mlp, &data, batch, steps).is_err());
        }
    }
}
