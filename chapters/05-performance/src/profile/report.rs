//! A profile: what each kind of operation takes in a step, over many steps.

use super::{
    cost::{Cost, beside, operations},
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
    engine::Resident,
    model::{self, Network},
    order::order,
};

/// One kind of operation in one phase of a step.
#[derive(Clone, Debug)]
pub struct Row {
    /// The phase.
    pub phase: Phase,
    /// Its name: `dense 784→128`.
    pub name: String,
    /// How often it is done in a step.
    pub times: usize,
    /// Seconds that they take together, in each step that was profiled.
    pub seconds: Samples,
    /// What they cost together.
    pub cost: Cost,
}

impl Row {
    /// One more operation of the kind.
    fn add(&mut self, Moment { times, seconds, .. }: &Moment, cost: &Cost) {
        self.times += times;
        self.cost = self.cost.plus(cost);
        self.seconds.0.iter_mut().zip(&seconds.0).for_each(|(sum, s)| *sum += s);
    }
}

/// An event of a step with its name, as a timeline draws it.
#[derive(Clone, Debug)]
pub struct Moment {
    /// The phase.
    pub phase: Phase,
    /// The operation's name.
    pub name: String,
    /// How often it is done in a step: once for each piece of the batch.
    pub times: usize,
    /// Seconds, in each step that was profiled.
    pub seconds: Samples,
}

/// Where the time of a model's training step goes.
#[derive(Clone, Debug)]
pub struct Profile {
    /// The model and its batch: `mlp on 128 images`.
    pub what: String,
    /// The kinds of operations, the one that takes longest first.
    pub rows: Vec<Row>,
    /// Every event, in the order of the step.
    pub moments: Vec<Moment>,
    /// Seconds of a whole step with the profiler.
    pub total: Samples,
    /// Seconds of a whole step without it, taken in turn; on a device none was.
    pub plain: Samples,
}

impl Profile {
    /// Of the events of a step, in its order, each with what it costs; `total` and `plain` are seconds of a whole step.
    pub(crate) fn of(
        what: String,
        events: Vec<(Moment, Cost)>,
        [total, plain]: [Samples; 2],
    ) -> Self {
        let (mut rows, mut moments): (Vec<Row>, Vec<Moment>) = (Vec::new(), Vec::new());
        for (moment, cost) in events {
            let Moment { phase, name, times, seconds } = moment.clone();
            match rows.iter_mut().find(|row| row.phase == phase && row.name == name) {
                Some(row) => row.add(&moment, &cost),
                None => rows.push(Row { phase, name, times, seconds, cost }),
            }
            moments.push(moment);
        }
        rows.sort_by(|a, b| b.seconds.median().total_cmp(&a.seconds.median()));
        Self { what, rows, moments, total, plain }
    }

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
    check(data.train.len(), batch, steps)?;
    let run = training::by_model!(model, Cpu, run);
    run(model, data, batch, steps)
}

/// What is profiled, in a caption.
pub fn on_images(model: Model, batch: usize) -> String {
    format!("{model} on {batch} images")
}

/// Fails unless so many images have a batch, and there are steps to profile.
pub(super) fn check(images: usize, batch: usize, steps: usize) -> Result<()> {
    if batch == 0 || steps == 0 || batch > images {
        return Err(Error::Config(format!(
            "a profile needs at least one step, and a batch from 1 to {images} images, not {batch}"
        )));
    }
    Ok(())
}

/// Steps before the first that counts: they meet cold caches and memory that was never touched.
pub(super) const WARM_UP: usize = 3;

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
/// [`Error::Config`] if the tape has noted other operations than the model's list has.
pub fn named(
    (model, batch): (Model, usize),
    events: &[Event],
    parameters: usize,
) -> Result<Vec<(String, Cost)>> {
    let known = operations(model, batch);
    let noted = events.iter().filter(|e| e.phase != Phase::Backward && e.op.is_some()).count();
    if noted != known.len() {
        return Err(Error::Config(format!(
            "a step of {model} has {noted} operations, and the list in profile::cost {}; bring it up to date",
            known.len()
        )));
    }
    let each = events.iter().map(|event| match event.op {
        None => (event.what.into(), beside(event.phase, event.what, batch, parameters)),
        Some(op) => {
            let operation = &known[op];
            let back = event.phase == Phase::Backward;
            (operation.name.clone(), if back { operation.backward } else { operation.forward })
        }
    });
    Ok(each.collect())
}

fn summary(
    model: Model,
    batch: usize,
    parameters: usize,
    all: &[Vec<Event>],
    plain: Samples,
) -> Result<Profile> {
    let first = all.first().map_or(&[][..], Vec::as_slice);
    let event = |(at, (name, cost)): (usize, (String, Cost))| {
        let seconds = Samples(all.iter().filter_map(|e| e.get(at)).map(Event::seconds).collect());
        (Moment { phase: first[at].phase, name, times: 1, seconds }, cost)
    };
    let events =
        named((model, batch), first, parameters)?.into_iter().enumerate().map(event).collect();
    let total = all.iter().map(|e| e.last().map_or(0.0, |event| event.end)).collect();
    Ok(Profile::of(on_images(model, batch), events, [Samples(total), plain]))
}

/// An operation's fraction of its roofline. One above it has its data out of a cache.
pub fn of_roof(share: f64) -> String {
    match 100.0 * share {
        percent if percent > 100.5 => "cached".into(),
        percent if percent > 0.0 => format!("{percent:.0}%"),
        _ => "–".into(),
    }
}

/// A table of at most so many operations, under a peak in FLOP/s, infinite if nobody knows it, and a bandwidth in B/s; the rest is
/// summed up.
pub fn table(profile: &Profile, peak: f64, bandwidth: f64, most: usize) -> TableData {
    let mut rows: Vec<Vec<String>> = Vec::new();
    let (shown, others) = profile.rows.split_at(most.min(profile.rows.len()));
    for row in shown {
        let median = row.seconds.median();
        let times = if row.times > 1 { format!(" ×{}", row.times) } else { String::new() };
        rows.push(vec![
            format!("{}{times}", row.name),
            row.phase.name().into(),
            Unit::Seconds.format(median),
            format!("{:.1}%", 100.0 * profile.share(row)),
            format!("{:.1}", row.cost.flops() / 1e6),
            format!("{:.2}", row.cost.bytes / 1e6),
            format!("{:.1}", row.cost.intensity()),
            of_roof(row.cost.seconds(peak, bandwidth) / median),
        ]);
    }
    let rest: f64 = others.iter().map(|row| profile.share(row)).sum();
    if rest > 0.0 {
        let mut row = vec![String::new(); 8];
        (row[0], row[3]) = ("all others".to_owned(), format!("{:.1}%", 100.0 * rest));
        rows.push(row);
    }
    let head = ["operation", "phase", "time", "share", "MFLOP", "MB", "FLOP/B", "of roof"];
    TableData {
        caption: format!(
            "One step of {}: {}. The roof: {}{}.",
            profile.what,
            Unit::Seconds.format(profile.total.median()),
            if peak < f64::INFINITY {
                Unit::FlopsPerSecond.format(peak) + " and "
            } else {
                String::new()
            },
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
