//! LU decomposition: how fast, where the time goes, how exact, and which block is best.

use super::devices::{DEVICES, why_missing};
use crate::{
    gpu::{self, Gpu, Kind},
    lu::{
        BLOCK, Lu, Plan as Cut, blocked,
        check::{random, residual},
        device::OnDevice,
        operations, product_share, unblocked,
    },
};
use lab::{
    Budget, Experiment, Plan, Recorder, Result, Samples, Unit, peak,
    record::{Limit, ParamList},
};
use matmul::{MatMut, MatRef, Options, Threads, parallel, sgemm};
use std::time::{Duration, Instant};

/// The experiments of this file.
pub fn all() -> Vec<Experiment> {
    vec![Experiment {
        key: "cpu_gpu.lu",
        shows: "LU decomposition as fast as its products let it be: unblocked, in blocks, by a library, on a device",
        values: &[
            "cpu_gpu.lu",
            "cpu_gpu.lu.product",
            "cpu_gpu.lu.ratio",
            "cpu_gpu.lu.of_product",
            "cpu_gpu.lu.share",
            "cpu_gpu.lu.predicted",
            "cpu_gpu.lu.residual",
            "cpu_gpu.lu.block",
        ],
        quick: true,
        run: |r| {
            let sizes = [256, 512, 1024, 2048, 4096];
            if r.budget == Budget::Quick {
                measure(
                    r,
                    &MatrixSizes { cpu: &sizes[..3], sweep: 512, slow: &[256], fast: &sizes[1..4] },
                )
            } else {
                let fast = &[512, 1024, 2048, 4096, 8192];
                measure(r, &MatrixSizes { cpu: &sizes, sweep: 2048, slow: &[256, 512, 1024], fast })
            }
        },
    }]
}

/// The largest matrix that the unblocked decomposition is given.
const UNBLOCKED_MOST: usize = 1024;
/// The panels' widths that are tried.
pub const BLOCKS: [usize; 7] = [8, 16, 32, 64, 128, 256, 512];
/// Names of the numbers of threads in the records.
const THREADS: [(&str, Threads); 2] = [("one", Threads::One), ("all", Threads::All)];
/// What is measured, by the n of the matrices.
struct MatrixSizes<'a> {
    /// On the CPU.
    cpu: &'a [usize],
    /// For the sweep of the block's width.
    sweep: usize,
    /// On a CPU behind a GPU's interface.
    slow: &'a [usize],
    /// On a GPU.
    fast: &'a [usize],
}

fn measure(r: &mut Recorder, sizes: &MatrixSizes) -> Result<()> {
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

fn failed(error: impl std::fmt::Display) -> lab::Error {
    lab::Error::message(error.to_string())
}

fn limit(threads: Threads) -> Limit {
    peak::fma_f32(if threads == Threads::One { 1 } else { parallel::available() })
}

/// A contender: does its work once on numbers that it prepares, and returns the seconds of the work alone.
type Contender<'a> = Box<dyn FnMut() -> Result<f64> + 'a>;

/// Seconds of each contender, taken in turn, after one round that does not count.
fn in_turn(budget: Budget, contenders: &mut [Contender]) -> Result<Vec<Samples>> {
    let (time, least) = match budget {
        Budget::Quick => (Duration::from_millis(60), 3),
        Budget::Full => (Duration::from_secs(1), 3),
    };
    let plan = Plan { warm_up: Duration::ZERO, time, min_samples: least, max_samples: 60 };
    let mut samples = vec![Vec::new(); contenders.len()];
    for work in contenders.iter_mut() {
        work()?;
    }
    let mut spent = 0.0;
    let enough = plan.time.as_secs_f64() * contenders.len() as f64;
    while samples[0].len() < plan.min_samples
        || (samples[0].len() < plan.max_samples && spent < enough)
    {
        for (work, samples) in contenders.iter_mut().zip(&mut samples) {
            let seconds = work()?;
            spent += seconds;
            samples.push(seconds);
        }
    }
    Ok(samples.into_iter().map(Samples).collect())
}

/// Seconds of `work` on a fresh copy of `a` in `place`; the copying does not count.
fn fresh(a: &[f32], place: &mut [f32], work: impl FnOnce(&mut [f32]) -> Result<()>) -> Result<f64> {
    place.copy_from_slice(a);
    let start = Instant::now();
    work(place)?;
    Ok(start.elapsed().as_secs_f64())
}

/// Rates of the decompositions and of the product of the same n, sampled in turn.
fn rates(r: &mut Recorder, n: usize, name: &str, threads: Threads) -> Result<()> {
    r.note("cpu_gpu.lu", &[("n", &n), ("threads", &name)]);
    let a = random(n, n, 1);
    let [mut p0, mut p1, mut p2, mut p3] = std::array::from_fn(|_| vec![0.0; n * n]);
    let mut names = vec!["product", "blocked"];
    let mut contenders: Vec<Contender> = vec![
        Box::new(|| {
            fresh(&a, &mut p0, |c| {
                let view = MatRef::new(&a, n, n).map_err(failed)?;
                let options = Options { threads, ..Options::default() };
                let c = MatMut::new(c, n, n).map_err(failed)?;
                sgemm(c, view, view, options).map_err(failed)
            })
        }),
        Box::new(|| {
            fresh(&a, &mut p1, |a| {
                let cut = Cut { block: BLOCK, threads };
                blocked::factor(a, n, n, &cut).map(|_| ()).map_err(failed)
            })
        }),
    ];
    if threads == Threads::One && n <= UNBLOCKED_MOST {
        names.push("unblocked");
        contenders.push(Box::new(|| {
            fresh(&a, &mut p2, |a| unblocked::factor(a, n, n).map(|_| ()).map_err(failed))
        }));
    }
    peer(&mut names, &mut contenders, &a, &mut p3, n, threads);
    let seconds = in_turn(r.budget, &mut contenders)?;
    drop(contenders);
    let of = |wanted: &str| names.iter().position(|name| *name == wanted).map(|at| &seconds[at]);
    for (variant, seconds) in names.iter().zip(&seconds) {
        let list: ParamList = &[("n", &n), ("threads", &name), ("variant", variant)];
        let limit = Some(limit(threads));
        if *variant == "product" {
            let rates = seconds.map(|seconds| 2.0 * (n as f64).powi(3) / seconds);
            r.limited("cpu_gpu.lu.product", &list[..2], Unit::FlopsPerSecond, rates, limit);
        } else {
            let rates = seconds.map(|seconds| operations(n) / seconds);
            r.limited("cpu_gpu.lu", list, Unit::FlopsPerSecond, rates, limit);
        }
    }
    let list: ParamList = &[("n", &n), ("threads", &name)];
    let (Some(product), Some(ours)) = (of("product"), of("blocked")) else { return Ok(()) };
    let round = |f: &dyn Fn(usize) -> f64| Samples((0..ours.0.len()).map(f).collect());
    // A third of the operations in the same time is the same rate.
    let of_product = round(&|i| product.0[i] / 3.0 / ours.0[i]);
    r.value("cpu_gpu.lu.of_product", list, Unit::Share, of_product);
    if let Some(theirs) = of("faer") {
        r.value("cpu_gpu.lu.ratio", list, Unit::Ratio, round(&|i| theirs.0[i] / ours.0[i]));
    } else {
        let why = "the program was built without the cargo feature `peers`";
        r.skip("cpu_gpu.lu", &[("n", &n), ("threads", &name), ("variant", &"faer")], why);
        r.skip("cpu_gpu.lu.ratio", list, why);
    }
    Ok(())
}

#[cfg(feature = "peers")]
fn peer<'a>(
    names: &mut Vec<&'static str>,
    contenders: &mut Vec<Contender<'a>>,
    a: &'a [f32],
    place: &'a mut [f32],
    n: usize,
    threads: Threads,
) {
    names.push("faer");
    contenders.push(Box::new(move || {
        fresh(a, place, |a| {
            let done = crate::lu::peer::factor(a, n, threads != Threads::One);
            done.map(|_| ()).map_err(failed)
        })
    }));
}

#[cfg(not(feature = "peers"))]
fn peer<'a>(
    _: &mut Vec<&'static str>,
    _: &mut Vec<Contender<'a>>,
    _: &'a [f32],
    _: &'a mut [f32],
    _: usize,
    _: Threads,
) {
}

/// Where the time goes, and where the operations are.
fn share(r: &mut Recorder, n: usize) -> Result<()> {
    let a = random(n, n, 1);
    let mut place = vec![0.0; n * n];
    r.value("cpu_gpu.lu.predicted", &[("n", &n)], Unit::Share, one(product_share(n, BLOCK)));
    for (name, threads) in THREADS {
        r.note("cpu_gpu.lu.share", &[("n", &n), ("threads", &name)]);
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
            let list: ParamList = &[("n", &n), ("threads", &name), ("part", &part)];
            r.value("cpu_gpu.lu.share", list, Unit::Share, Samples(samples));
        }
    }
    Ok(())
}

/// The parts of a step, as [`crate::lu::Times::parts`] has them.
pub const PARTS: [&str; 4] = ["panel", "swaps", "triangle", "product"];

fn one(value: f64) -> Samples {
    Samples(vec![value])
}

/// How far solutions are from solving their systems.
fn exactness(r: &mut Recorder, n: usize) -> Result<()> {
    let (a, b) = (random(n, n, 1), random(n, 1, 2));
    let mut record = |variant: &str, lu: Lu| -> Result<()> {
        let x = lu.solve(&b, 1).map_err(failed)?;
        let error = residual(&a, &x, &b).map_err(failed)?;
        let list: ParamList = &[("n", &n), ("variant", &variant)];
        r.value("cpu_gpu.lu.residual", list, Unit::Number, one(error));
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
    r.note("cpu_gpu.lu.block", &[("n", &n)]);
    let a = random(n, n, 1);
    let mut places: Vec<Vec<f32>> = BLOCKS.iter().map(|_| vec![0.0; n * n]).collect();
    let mut contenders: Vec<Contender> = Vec::new();
    for (place, block) in places.iter_mut().zip(BLOCKS) {
        let a = &a;
        contenders.push(Box::new(move || {
            fresh(a, place, |a| {
                let cut = Cut { block, threads: Threads::All };
                blocked::factor(a, n, n, &cut).map(|_| ()).map_err(failed)
            })
        }));
    }
    let seconds = in_turn(r.budget, &mut contenders)?;
    for (seconds, block) in seconds.iter().zip(BLOCKS) {
        let rates = seconds.map(|seconds| operations(n) / seconds);
        let list: ParamList = &[("n", &n), ("block", &block)];
        let limit = Some(limit(Threads::All));
        r.limited("cpu_gpu.lu.block", list, Unit::FlopsPerSecond, rates, limit);
    }
    Ok(())
}

/// The matrix on each device that there is.
fn devices(r: &mut Recorder, sizes: &MatrixSizes) -> Result<()> {
    let devices = gpu::devices();
    for id in DEVICES {
        let list: ParamList = &[("variant", &"device"), ("device", &id)];
        if !devices.found.iter().any(|about| about.id == id) {
            r.skip("cpu_gpu.lu", list, why_missing(&devices, id));
            continue;
        }
        let device = match gpu::open(id) {
            Ok(device) => device,
            Err(error) => {
                r.skip("cpu_gpu.lu", list, error.to_string());
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

/// The rate of a matrix that is on the device already; the panels' journeys are part of the time.
fn on_a_device(r: &mut Recorder, gpu: &dyn Gpu, on_device: &OnDevice, n: usize) -> Result<()> {
    let id = &gpu.about().id;
    let list: ParamList = &[("variant", &"device"), ("device", id), ("n", &n)];
    r.note("cpu_gpu.lu", list);
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
    r.value("cpu_gpu.lu", list, Unit::FlopsPerSecond, Samples(rates));
    let b = random(n, 1, 2);
    let x = on_device.factor(&a, n, n, BLOCK).map_err(failed)?.solve(&b, 1).map_err(failed)?;
    let error = residual(&a, &x, &b).map_err(failed)?;
    r.value("cpu_gpu.lu.residual", list, Unit::Number, one(error));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use lab::{Device, progress::Progress};

    #[test]
    fn the_experiment_leaves_what_it_declares() {
        let _turn = gpu::testing::turn();
        let [experiment] = &all()[..] else { panic!("one experiment") };
        let progress = Progress::hidden();
        let mut r = Recorder::new(experiment, Budget::Quick, Device::Cpu, &progress);
        let sizes = MatrixSizes { cpu: &[24, 40], sweep: 32, slow: &[20], fast: &[20] };
        measure(&mut r, &sizes).unwrap_or_else(|error| panic!("{error}"));
        let (values, skipped) = r.finish();
        for key in experiment.values {
            let left = values.iter().any(|value| value.key == *key)
                || skipped.iter().any(|skipped| skipped.key == *key);
            assert!(left, "{key} is declared and not left");
        }
        for value in &values {
            assert!(value.median.is_finite() && value.median >= 0.0, "{value:?}");
        }
        for device in DEVICES {
            let measured =
                values.iter().any(|v| v.params.get("device").is_some_and(|d| d == device));
            let told = skipped.iter().any(|s| s.params.get("device").is_some_and(|d| d == device));
            assert!(measured != told, "{device} is neither measured nor explained");
        }
        let residuals = values.iter().filter(|value| value.key == "cpu_gpu.lu.residual");
        assert!(residuals.clone().count() >= 4);
        assert!(residuals.clone().all(|value| value.median < 16.0), "HPL would not pass it");
        let shares = values.iter().filter(|v| v.key == "cpu_gpu.lu.share" && v.params["n"] == "40");
        let parts: Vec<_> = shares.clone().filter(|v| v.params["threads"] == "one").collect();
        assert_eq!(parts.len(), 4);
        let sum: f64 = (0..3).map(|i| parts.iter().map(|v| v.samples.0[i]).sum::<f64>()).sum();
        assert!((sum - 3.0).abs() < 1e-9, "the shares of a round add up to one: {sum}");
    }

    #[test]
    fn parts_have_the_names_of_the_times() {
        assert_eq!(crate::lu::Times::default().parts().map(|part| part.0), PARTS);
    }

    #[test]
    fn contenders_take_turns_and_the_first_round_does_not_count() {
        let order = std::cell::RefCell::new(Vec::new());
        let contender = |name: &'static str| -> Contender<'_> {
            let order = &order;
            Box::new(move || {
                order.borrow_mut().push(name);
                Ok(1.0)
            })
        };
        let seconds = in_turn(Budget::Quick, &mut [contender("a"), contender("b")]).unwrap();
        assert_eq!(seconds[0].0.len(), 3);
        assert_eq!(*order.borrow(), ["a", "b"].repeat(4));
        let failing: Contender = Box::new(|| Err(failed("no such luck")));
        assert!(in_turn(Budget::Quick, &mut [failing]).is_err());
    }
}
