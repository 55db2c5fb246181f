//! LU decomposition: how fast, where the time goes, how exact, and which block is best.

use super::devices::{DEVICES, open};
use crate::{
    gpu::{Gpu, Kind},
    lu::{
        BLOCK, Lu, Plan as Cut, blocked,
        check::{random, residual},
        device::OnDevice,
        operations, product_share, unblocked,
    },
};
use lab::{
    Budget, Error, Experiment, Key, Plan, Race, Recorder, Result, Samples, peak, record::Limit,
};
use matmul::{MatMut, MatRef, Options, Threads, parallel, sgemm};
use std::time::{Duration, Instant};

lab::keys! {
    /// The rate of a decomposition.
    RATE: measured "cpu_gpu.lu", FlopsPerSecond, ["n", "threads", "variant", "device"];
    /// The rate of chapter 1's product of the same n.
    PRODUCT: measured "cpu_gpu.lu.product", FlopsPerSecond, ["n", "threads"];
    /// How many times as fast as faer the blocked decomposition is, round by round.
    RATIO: measured "cpu_gpu.lu.ratio", Ratio, ["n", "threads"];
    /// Its rate as a fraction of the product's, round by round.
    OF_PRODUCT: measured "cpu_gpu.lu.of_product", Share, ["n", "threads"];
    /// A part's fraction of the time.
    pub SHARE: measured "cpu_gpu.lu.share", Share, ["n", "threads", "part"];
    /// The product's fraction of the operations.
    pub PREDICTED: calculated "cpu_gpu.lu.predicted", Share, ["n"];
    /// How far solutions are from solving their systems.
    pub RESIDUAL: measured "cpu_gpu.lu.residual", Number, ["n", "variant", "device"];
    /// The rate by the width of the panels.
    WIDTH: measured "cpu_gpu.lu.block", FlopsPerSecond, ["n", "block"];
}

/// The experiments of this file.
pub fn all() -> Vec<Experiment> {
    lab::experiments! {
        quick RATE.name => &[RATE, PRODUCT, RATIO, OF_PRODUCT, SHARE, PREDICTED, RESIDUAL, WIDTH], |r| {
            let (cpu, fast) = ([256, 512, 1024, 2048, 4096], [512, 1024, 2048, 4096, 8192]);
            let sizes = match r.budget {
                Budget::Quick => MatrixSizes { cpu: &cpu[..3], sweep: 512, slow: &cpu[..1], fast: &fast[..3] },
                Budget::Full => MatrixSizes { cpu: &cpu, sweep: 2048, slow: &cpu[..3], fast: &fast },
            };
            measure(r, &sizes)
        },
            "LU decomposition at the speed of its products: unblocked, in blocks, by a library, on a device";
    }
}

/// The largest matrix that the unblocked decomposition is given.
const UNBLOCKED_MOST: usize = 1024;
/// The panels' widths that are tried.
const BLOCKS: [usize; 7] = [8, 16, 32, 64, 128, 256, 512];
/// Names of the numbers of threads in the records.
const THREADS: [(&str, Threads); 2] = [("one", Threads::One), ("all", Threads::All)];
/// What is measured, by the n of the matrices.
pub struct MatrixSizes<'a> {
    /// On the CPU.
    pub cpu: &'a [usize],
    /// For the sweep of the block's width.
    pub sweep: usize,
    /// On a CPU behind a GPU's interface.
    pub slow: &'a [usize],
    /// On a GPU.
    pub fast: &'a [usize],
}

/// The whole experiment, on matrices of these sizes.
///
/// # Errors
/// A device's.
pub fn measure(r: &mut Recorder, sizes: &MatrixSizes) -> Result<()> {
    for &n in sizes.cpu {
        for (name, threads) in THREADS {
            rates(r, n, name, threads)?;
        }
        share(r, n)?;
        exactness(r, n)?;
    }
    sweep(r, sizes.sweep)?;
    devices(r, sizes)
}

fn failed(error: impl std::fmt::Display) -> Error {
    Error::message(error.to_string())
}

fn limit(threads: Threads) -> Limit {
    peak::fma_f32(if threads == Threads::One { 1 } else { parallel::available() })
}

/// Rounds of a race, and the seconds for each contender.
pub fn plan(budget: Budget) -> Plan {
    let time = match budget {
        Budget::Quick => Duration::from_millis(60),
        Budget::Full => Duration::from_secs(1),
    };
    Plan::within(time, 3, 60)
}

/// A contender that does its work on a fresh copy of `a`; the copying does not count.
pub fn enter<'w>(
    race: &mut Race<'w>,
    name: &str,
    a: &'w [f32],
    mut work: impl FnMut(&mut [f32]) -> Result<()> + 'w,
) {
    let mut place = vec![0.0; a.len()];
    race.turn(name, move |_| {
        place.copy_from_slice(a);
        let start = Instant::now();
        work(&mut place)?;
        Ok(start.elapsed().as_secs_f64())
    });
}

/// Rates of the decompositions and of the product of the same n, sampled in turn.
fn rates(r: &mut Recorder, n: usize, name: &str, threads: Threads) -> Result<()> {
    let at = |key: Key| key.at(&[("n", &n), ("threads", &name)]);
    r.note_at(at(RATE));
    let a = random(n, n, 1);
    let mut race = Race::new();
    enter(&mut race, "product", &a, |c| {
        let view = MatRef::new(&a, n, n).map_err(failed)?;
        let options = Options { threads, ..Options::default() };
        let c = MatMut::new(c, n, n).map_err(failed)?;
        sgemm(c, view, view, options).map_err(failed)
    });
    enter(&mut race, "blocked", &a, move |a| {
        let cut = Cut { block: BLOCK, threads };
        blocked::factor(a, n, n, &cut).map(|_| ()).map_err(failed)
    });
    if threads == Threads::One && n <= UNBLOCKED_MOST {
        enter(&mut race, "unblocked", &a, move |a| {
            unblocked::factor(a, n, n).map(|_| ()).map_err(failed)
        });
    }
    peer(&mut race, &a, n, threads);
    let results = race.run(plan(r.budget))?;
    for variant in VARIANTS {
        // A variant that is not in the race has no rate, and no reason either.
        if !matches!(results.of(variant), Err(Error::Key(_))) {
            let rate = at(RATE).with("variant", variant).against(limit(threads));
            r.record_or_skip(rate, results.rate(variant, operations(n)))?;
        }
    }
    let product = results.rate("product", 2.0 * (n as f64).powi(3))?;
    r.record(at(PRODUCT).against(limit(threads)), product);
    // A third of the operations in the same time is the same rate.
    let of_product = results.ratio("product", "blocked")?.map(|ratio| ratio / 3.0);
    r.record(at(OF_PRODUCT), of_product);
    r.record_or_skip(at(RATIO), results.ratio("faer", "blocked"))
}

/// The decompositions that take their turns.
const VARIANTS: [&str; 3] = ["blocked", "unblocked", "faer"];

#[cfg(feature = "peers")]
fn peer<'w>(race: &mut Race<'w>, a: &'w [f32], n: usize, threads: Threads) {
    enter(race, "faer", a, move |a| {
        let done = crate::lu::peer::factor(a, n, threads != Threads::One);
        done.map(|_| ()).map_err(failed)
    });
}

#[cfg(not(feature = "peers"))]
fn peer(race: &mut Race, _: &[f32], _: usize, _: Threads) {
    race.skip("faer", "the program was built without the cargo feature `peers`");
}

/// Where the time goes, and where the operations are.
fn share(r: &mut Recorder, n: usize) -> Result<()> {
    let a = random(n, n, 1);
    let mut place = vec![0.0; n * n];
    r.record(PREDICTED.at(&[("n", &n)]), Samples::one(product_share(n, BLOCK)));
    for (name, threads) in THREADS {
        let what = SHARE.at(&[("n", &n), ("threads", &name)]);
        r.note_at(&what);
        let rounds = match (r.budget, n) {
            (Budget::Quick, _) | (_, 4096..) => 3,
            _ => 9,
        };
        let mut parts: [Vec<f64>; 4] = Default::default();
        for _ in 0..rounds {
            place.copy_from_slice(&a);
            let done = blocked::factor(&mut place, n, n, &Cut { block: BLOCK, threads });
            let times = done.map_err(failed)?.times;
            let total = times.total().as_secs_f64();
            for (samples, (_, time)) in parts.iter_mut().zip(times.parts()) {
                samples.push(time.as_secs_f64() / total);
            }
        }
        for (samples, part) in parts.into_iter().zip(PARTS) {
            r.record(what.clone().with("part", part), Samples(samples));
        }
    }
    Ok(())
}

/// The parts of a step, as [`crate::lu::Times::parts`] has them.
pub const PARTS: [&str; 4] = ["panel", "swaps", "triangle", "product"];

/// How far solutions are from solving their systems.
fn exactness(r: &mut Recorder, n: usize) -> Result<()> {
    let (a, b) = (random(n, n, 1), random(n, 1, 2));
    let mut record = |variant: &str, lu: Lu| -> Result<()> {
        let x = lu.solve(&b, 1).map_err(failed)?;
        let error = residual(&a, &x, &b).map_err(failed)?;
        r.record(RESIDUAL.at(&[("n", &n), ("variant", &variant)]), Samples::one(error));
        Ok(())
    };
    record("blocked", Lu::blocked(a.clone(), n, n, &Cut::default()).map_err(failed)?)?;
    if n <= UNBLOCKED_MOST {
        record("unblocked", Lu::unblocked(a.clone(), n, n).map_err(failed)?)?;
    }
    Ok(())
}

/// The rate at each width of the panels, sampled in turn.
fn sweep(r: &mut Recorder, n: usize) -> Result<()> {
    r.note_at(WIDTH.at(&[("n", &n)]));
    let a = random(n, n, 1);
    let mut race = Race::new();
    for block in BLOCKS {
        enter(&mut race, &block.to_string(), &a, move |a| {
            let cut = Cut { block, threads: Threads::All };
            blocked::factor(a, n, n, &cut).map(|_| ()).map_err(failed)
        });
    }
    let results = race.run(plan(r.budget))?;
    for block in BLOCKS {
        let rate = results.rate(&block.to_string(), operations(n))?;
        r.record(WIDTH.at(&[("n", &n), ("block", &block)]).against(limit(Threads::All)), rate);
    }
    Ok(())
}

/// The matrix on each device that there is.
fn devices(r: &mut Recorder, sizes: &MatrixSizes) -> Result<()> {
    for id in DEVICES {
        let rate = RATE.at(&[("variant", &"device"), ("device", &id)]);
        let device = match open(id) {
            Ok(device) => device,
            Err(why) => {
                r.skip_at(rate, why);
                continue;
            }
        };
        let sizes = if device.about().kind == Kind::Gpu { sizes.fast } else { sizes.slow };
        let on_device = OnDevice::new(&*device).map_err(failed)?;
        for &n in sizes {
            on_a_device(r, &*device, &on_device, n)?;
        }
    }
    Ok(())
}

/// The rate of a matrix that is on the device already; copying the panels is part of the time.
fn on_a_device(r: &mut Recorder, gpu: &dyn Gpu, on_device: &OnDevice, n: usize) -> Result<()> {
    let id = &gpu.about().id;
    let at = |key: Key| key.at(&[("variant", &"device"), ("device", id), ("n", &n)]);
    r.note_at(at(RATE));
    let a = random(n, n, 1);
    let rounds = if r.budget == Budget::Quick { 2 } else { 5 };
    let mut rates = Vec::new();
    // The first round warms up.
    for round in 0..=rounds {
        let seconds = on_device.seconds(&a, n, BLOCK).map_err(failed)?;
        if round > 0 {
            rates.push(operations(n) / seconds);
        }
    }
    r.record(at(RATE), Samples(rates));
    let b = random(n, 1, 2);
    let x = on_device.factor(&a, n, n, BLOCK).map_err(failed)?.solve(&b, 1).map_err(failed)?;
    let error = residual(&a, &x, &b).map_err(failed)?;
    r.record(at(RESIDUAL), Samples::one(error));
    Ok(())
}
