//! The sports car and the truck: one small job and ever larger ones, on the CPU and on every device.

#![allow(clippy::float_cmp)] // JobSizes are whole numbers, which f64 holds exactly.

use super::{
    devices::{number_or, skip_device, skip_missing},
    ladder::repeated,
};
use crate::{
    Error, Result,
    gpu::{self, Element, Gpu, Kind},
    ladder,
    truck::{self, Crossover, Line, MapTrip, ProductTrip, Trip},
};
use lab::{
    Budget, Experiment, Key, Plan, Race, Recorder, Samples, Unit, key::Quantity, machine,
    random::numbers,
};
use std::{
    collections::BTreeMap,
    hint::black_box,
    time::{Duration, Instant},
};

lab::keys! {
    /// The time of the smallest job.
    pub LATENCY: measured "cpu_gpu.truck.latency", Seconds, ["job", "device", "transfer"];
    /// The rate of the map of n elements.
    pub MAP: measured "cpu_gpu.truck.map", FlopsPerSecond, ["steps", "n", "device", "transfer"];
    /// The rate of the product of n×n matrices.
    pub PRODUCT: measured "cpu_gpu.truck.product", FlopsPerSecond, ["n", "device", "transfer"];
    /// The size above which a device is faster than the CPU.
    pub CROSSOVER: measured "cpu_gpu.truck.crossover", Count, ["work", "device", "transfer"];
    /// The same, predicted by the lines through the times.
    pub PREDICTED: calculated "cpu_gpu.truck.crossover.predicted", Count, ["work", "device", "transfer"];
    /// The size above which all threads are faster than one.
    pub THREADS: measured "cpu_gpu.truck.threads", Count, ["work"];
    /// How many times as fast as the CPU a device is at the largest size.
    pub SPEEDUP: measured "cpu_gpu.truck.speedup", Ratio, ["work", "device", "transfer", "over", "n"];
}

/// This file's experiments.
pub fn all() -> Vec<Experiment> {
    lab::experiments! {
        quick "cpu_gpu.truck" =>
            &[LATENCY, MAP, PRODUCT, CROSSOVER, PREDICTED, THREADS, SPEEDUP],
            |r| run(r, &JobSizes::of(r.budget)),
            "one small job and ever larger ones: above which size the CPU's threads and each device win";
    }
}

/// A job of the comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Work {
    /// The same steps for each of n elements.
    Map(u32),
    /// A product of n×n matrices.
    Product,
}

impl Work {
    /// All of them. With one step a map waits for memory, with a hundred it computes.
    pub const ALL: [Self; 3] = [Self::Map(1), Self::Map(100), Self::Product];

    /// Its name in records: `map`, `map100`, `product`.
    pub fn name(self) -> String {
        match self {
            Self::Map(1) => "map".to_owned(),
            Self::Map(steps) => format!("map{steps}"),
            Self::Product => "product".to_owned(),
        }
    }

    /// The key of its rates.
    pub fn key(self) -> Key {
        match self {
            Self::Map(_) => MAP,
            Self::Product => PRODUCT,
        }
    }

    /// Its rates on a device, with the copies or without.
    pub fn rate(self, device: &str, transfer: &str) -> Quantity {
        let rate = self.key().at(&[("device", &device), ("transfer", &transfer)]);
        match self {
            Self::Map(steps) => rate.with("steps", steps),
            Self::Product => rate,
        }
    }

    /// Operations of a job of this size.
    pub fn operations(self, n: f64) -> f64 {
        match self {
            Self::Map(steps) => 2.0 * f64::from(steps) * n,
            Self::Product => 2.0 * n.powi(3),
        }
    }

    /// Bytes that go to a device and that come back.
    pub fn bytes(self, n: f64) -> (f64, f64) {
        match self {
            Self::Map(_) => (4.0 * n, 4.0 * n),
            Self::Product => (8.0 * n * n, 4.0 * n * n),
        }
    }
}

/// How far to go.
pub struct JobSizes {
    /// Numbers of a map.
    pub map: Vec<usize>,
    /// Rows of a product's matrices.
    pub product: Vec<usize>,
    /// Bytes of a transfer.
    pub transfer: Vec<usize>,
    /// No job is begun that would take longer.
    pub longest: f64,
    /// How long each is timed.
    pub plan: Plan,
}

impl JobSizes {
    /// Those of a budget.
    pub fn of(budget: Budget) -> Self {
        let quick = budget == Budget::Quick;
        let powers = |base: usize, most: usize| -> Vec<usize> {
            std::iter::successors(Some(1), |n| Some(n * base)).take_while(|n| *n <= most).collect()
        };
        Self {
            map: powers(4, if quick { 1 << 22 } else { 1 << 26 }),
            product: powers(2, if quick { 1024 } else { 8192 }),
            transfer: powers(16, if quick { 1 << 24 } else { 1 << 28 }),
            longest: if quick { 0.06 } else { 2.0 },
            plan: Plan {
                warm_up: Duration::from_millis(if quick { 4 } else { 20 }),
                time: Duration::from_millis(if quick { 20 } else { 150 }),
                min_samples: 3,
                max_samples: if quick { 30 } else { 100 },
            },
        }
    }

    /// The sizes of a job whose buffers all fit a quarter of this memory.
    pub fn that_fit(&self, work: Work, memory: u64) -> Vec<usize> {
        let all = if work == Work::Product { &self.product } else { &self.map };
        let fits = |n: &usize| {
            let (there, back) = work.bytes(*n as f64);
            memory == 0 || there + back <= memory as f64 / 4.0
        };
        all.iter().copied().filter(fits).collect()
    }
}

/// What runs a job: `core` and `cpu` are one thread and all threads of the CPU; others are devices.
type Runner = (String, &'static str);

/// The measured seconds of a job by size, for each runner.
type Timed = BTreeMap<Runner, Vec<(f64, f64)>>;

/// Seconds of one call. Short jobs are done many times for one sample, so that looking at the clock costs nothing.
///
/// # Errors
/// What is measured fails.
pub fn samples(plan: Plan, work: &mut dyn FnMut() -> Result<()>) -> Result<Samples> {
    let turn = repeated(2e-5, |times| {
        let began = Instant::now();
        (0..times).try_for_each(|_| work())?;
        Ok(began.elapsed().as_secs_f64() / times as f64)
    });
    let mut race = Race::new();
    race.turn("job", turn);
    race.run(plan)?.samples("job")
}

/// Measures a job at rising sizes until one would take too long.
///
/// # Errors
/// What is measured fails.
pub fn rising(
    r: &mut Recorder,
    (work, who): (Work, &Runner),
    sizes: &[usize],
    limits: &JobSizes,
    job: &mut dyn FnMut(usize) -> Result<()>,
) -> Result<Vec<(f64, f64)>> {
    let (device, transfer) = who;
    let mut points: Vec<(f64, f64)> = Vec::new();
    for n in sizes {
        let rate = work.rate(device, transfer).with("n", n);
        let operations = work.operations(*n as f64);
        let expected = points
            .last()
            .map_or(0.0, |&(before, seconds)| seconds * operations / work.operations(before));
        // What a short job costs does not grow with it; a long one's time does.
        if expected > limits.longest && points.last().is_some_and(|p| p.1 > 0.05 * limits.longest) {
            let longest = Unit::Seconds.format(limits.longest);
            r.skip_at(rate, format!("it would take longer than {longest}"));
            continue;
        }
        r.note_at(&rate);
        let seconds = samples(limits.plan, &mut || job(*n))?;
        points.push((*n as f64, seconds.median()));
        if *n == 1 {
            let what =
                LATENCY.at(&[("job", &work.name()), ("device", device), ("transfer", transfer)]);
            r.record(what, seconds.clone());
        }
        r.record(rate, seconds.map(|s| operations / s));
    }
    Ok(points)
}

fn on_cpu(r: &mut Recorder, work: Work, limits: &JobSizes, timed: &mut Timed) -> Result<()> {
    let sizes = limits.that_fit(work, machine::caches_and_memory().1);
    let Some(most) = sizes.last() else { return Ok(()) };
    let count = if work == Work::Product { most * most } else { *most };
    let (x, mut y) = (numbers(count, 1), vec![0.0; count]);
    for (device, threads) in [("core", 1), ("cpu", machine::cores())] {
        let who = (device.to_owned(), "without");
        let points = rising(r, (work, &who), &sizes, limits, &mut |n| {
            match work {
                Work::Map(steps) => {
                    truck::map_on_cpu(black_box(&x[..n]), &mut y[..n], steps, threads);
                }
                Work::Product => {
                    let x = black_box(&x[..n * n]);
                    truck::product_on_cpu(x, x, &mut y[..n * n], n, threads > 1)?;
                }
            }
            black_box(&mut y);
            Ok(())
        })?;
        timed.insert(who, points);
    }
    Ok(())
}

/// The rung that a device's products take.
fn rung_for(kind: Kind) -> Result<&'static ladder::Rung> {
    ladder::rung(if kind == Kind::Cpu { "tile2d" } else { "warp_tiles" })
}

fn on_device(
    r: &mut Recorder,
    gpu: &dyn Gpu,
    work: Work,
    limits: &JobSizes,
    timed: &mut Timed,
) -> Result<()> {
    let memory = gpu.about().memory.min(machine::caches_and_memory().1.max(1 << 30));
    let sizes = limits.that_fit(work, memory);
    let Some(most) = sizes.last().copied() else { return Ok(()) };
    let trip: Box<dyn Trip> = match work {
        Work::Map(steps) => Box::new(MapTrip::new(gpu, steps, most)?),
        Work::Product => Box::new(ProductTrip::new(gpu, rung_for(gpu.about().kind)?, most)?),
    };
    let (there, back) = work.bytes(most as f64);
    let (input, mut output) = (f32::bytes(&numbers(there as usize / 4, 1)), vec![0; back as usize]);
    trip.load(most, &input)?;
    for transfer in ["without", "with"] {
        let who = (gpu.about().id.clone(), transfer);
        let points = rising(r, (work, &who), &sizes, limits, &mut |n| {
            if transfer == "without" {
                return trip.drive(n);
            }
            trip.load(n, &input)?;
            trip.drive(n)?;
            trip.unload(n, &mut output)
        })?;
        timed.insert(who, points);
    }
    Ok(())
}

/// Times copies to a device and back, and fits a line to each. α in seconds, β in seconds for each byte.
fn transfers(gpu: &dyn Gpu, limits: &JobSizes) -> Result<[Option<Line>; 2]> {
    let most = limits.transfer.iter().copied().filter(|n| *n as u64 <= gpu.about().memory / 8);
    let sizes: Vec<usize> = most.collect();
    let Some(most) = sizes.last().copied() else { return Ok([None; 2]) };
    let (buffer, mut bytes) = (gpu.alloc(most)?, vec![1_u8; most]);
    let mut lines = [None; 2];
    for (line, direction) in lines.iter_mut().zip(["to", "from"]) {
        let mut points = Vec::new();
        for n in &sizes {
            let seconds = samples(limits.plan, &mut || match direction {
                "to" => gpu.write(&buffer, &bytes[..*n]),
                _ => gpu.read(&buffer, &mut bytes[..*n]),
            })?;
            points.push((*n as f64, seconds.median()));
        }
        *line = Line::fit(&points);
    }
    Ok(lines)
}

/// The smaller time at each size that both have.
pub fn best(one: &[(f64, f64)], all: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let sizes = one.iter().chain(all).map(|&(size, _)| size);
    let mut sizes: Vec<f64> = sizes.collect();
    sizes.sort_by(f64::total_cmp);
    sizes.dedup();
    let at = |points: &[(f64, f64)], size| {
        points.iter().find(|point| point.0 == size).map_or(f64::INFINITY, |point| point.1)
    };
    sizes.into_iter().map(|size| (size, at(one, size).min(at(all, size)))).collect()
}

/// Records where the lines cross, or why they do not.
fn record_crossover(r: &mut Recorder, what: Quantity, found: Option<Crossover>, smallest: f64) {
    let (size, why) = match found {
        Some(Crossover::At(size)) => (Some(size.round().max(smallest)), String::new()),
        Some(Crossover::Always) => (Some(smallest), String::new()),
        Some(Crossover::Never(largest)) => {
            let n = Unit::Count.format(largest);
            (None, format!("it is no faster at n = {n}, the largest size that both ran"))
        }
        None => (None, "no size was measured on both".to_owned()),
    };
    number_or(r, what, size, &why);
}

/// A device wins where it is so many times as fast: less may be noise.
pub const CLEARLY: f64 = 1.05;

/// Above which size `truck` is clearly faster, from points (size, seconds).
pub fn clear_crossover(car: &[(f64, f64)], truck: &[(f64, f64)]) -> Option<Crossover> {
    let slower: Vec<_> = truck.iter().map(|&(size, seconds)| (size, CLEARLY * seconds)).collect();
    truck::crossover(car, &slower)
}

/// What was measured of a job on one runner: sizes and seconds.
fn points<'t>(timed: &'t Timed, device: &str, transfer: &'static str) -> &'t [(f64, f64)] {
    timed.get(&(device.to_owned(), transfer)).map_or(&[], Vec::as_slice)
}

/// The line through a job's seconds over its operations.
fn line(work: Work, points: &[(f64, f64)]) -> Option<Line> {
    let by_operations: Vec<_> =
        points.iter().map(|&(n, seconds)| (work.operations(n), seconds)).collect();
    Line::fit(&by_operations)
}

/// The largest size that both ran, and how many times as fast the second is there.
fn ratio_at_end(car: &[(f64, f64)], truck: &[(f64, f64)]) -> Option<(f64, f64)> {
    let &(size, seconds) = truck.iter().rfind(|p| car.iter().any(|c| c.0 == p.0))?;
    let &(_, other) = car.iter().find(|c| c.0 == size)?;
    Some((size, other / seconds))
}

/// What follows from the measured times of one job.
fn conclude(
    r: &mut Recorder,
    work: Work,
    timed: &Timed,
    links: &BTreeMap<String, [Option<Line>; 2]>,
) {
    let [core, cpu] = ["core", "cpu"].map(|device| points(timed, device, "without"));
    let best = best(core, cpu);
    let [smallest, largest] =
        [best.first(), best.last()].map(|point| point.map_or(1.0, |point| point.0));
    // With fewer elements than threads, some threads have no work.
    let enough = cpu.iter().copied().filter(|point| point.0 >= machine::cores() as f64);
    let lines = [line(work, core), line(work, &enough.collect::<Vec<_>>())];
    // The lesson without a GPU: one thread is the car, all threads are the truck.
    let found = clear_crossover(core, cpu);
    record_crossover(r, THREADS.at(&[("work", &work.name())]), found, smallest);
    for (device, transfer) in timed.keys().filter(|who| who.0 != "core" && who.0 != "cpu") {
        let own = points(timed, device, transfer);
        let at = |key: Key| of_device(key, work, device, transfer);
        // Above which size a device is faster than the CPU, and how much at the largest size.
        record_crossover(r, at(CROSSOVER), clear_crossover(&best, own), smallest);
        for (over, car) in [("core", core), ("cpu", cpu)] {
            if let Some((n, ratio)) = ratio_at_end(car, own) {
                r.record(at(SPEEDUP).with("over", over).with("n", n), Samples::one(ratio));
            }
        }
        // Where the lines alone predict that: its own, and those of the copies both ways.
        let alone = line(work, points(timed, device, "without"));
        let copies = links.get(device).copied().unwrap_or_default();
        let ([Some(core), Some(cpu)], Some(alone), [Some(to), Some(from)]) = (lines, alone, copies)
        else {
            r.skip_at(at(PREDICTED), "too few sizes were measured for a line");
            continue;
        };
        let carried = f64::from(u8::from(*transfer == "with"));
        let car = |n| core.at(work.operations(n)).min(cpu.at(work.operations(n)));
        let truck = |n| {
            let (there, back) = work.bytes(n);
            alone.at(work.operations(n)) + carried * (to.at(there) + from.at(back))
        };
        let found = truck::crossover_of(car, truck, smallest, largest);
        record_crossover(r, at(PREDICTED), found, smallest);
    }
}

/// What is recorded of a job on a device, with the copies or without.
pub fn of_device(key: Key, work: Work, device: &str, transfer: &str) -> Quantity {
    key.at(&[("work", &work.name()), ("device", &device), ("transfer", &transfer)])
}

/// Every key that names a device.
const OF_DEVICES: [Key; 6] = [LATENCY, MAP, PRODUCT, CROSSOVER, PREDICTED, SPEEDUP];

/// The whole experiment, as far as these limits go.
///
/// # Errors
/// A device's.
pub fn run(r: &mut Recorder, limits: &JobSizes) -> Result<()> {
    let found = gpu::devices();
    skip_missing(r, &found, &OF_DEVICES);
    let (mut opened, mut links) = (Vec::new(), BTreeMap::new());
    for about in &found.found {
        let ready = gpu::open(&about.id).and_then(|gpu| {
            let lines = transfers(&*gpu, limits)?;
            Ok((gpu, lines))
        });
        match ready {
            Ok((gpu, lines)) => {
                links.insert(about.id.clone(), lines);
                opened.push(gpu);
            }
            Err(error) => skip_device(r, &about.id, &error.to_string(), &OF_DEVICES),
        }
    }
    for work in Work::ALL {
        let mut timed = Timed::new();
        on_cpu(r, work, limits, &mut timed)?;
        for gpu in &opened {
            if let Err(Error::Message(why)) = on_device(r, &**gpu, work, limits, &mut timed) {
                r.skip_at(work.key().at(&[("device", &gpu.about().id)]), why);
            }
        }
        conclude(r, work, &timed, &links);
    }
    Ok(())
}
