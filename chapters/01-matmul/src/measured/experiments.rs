//! What this chapter measures.

#![allow(clippy::unnecessary_wraps)] // Experiments have one signature, whether they can fail or not.

use crate::{
    MatMut, MatRef, Options, Rung, Shape, Threads, Unit as Multiplier, bgemm_on,
    cache::{Counts, L2, LINE, Pattern},
    ladder, parallel,
    peers::{self, Product},
    reference, roofline, sgemm,
    simd::Level,
    sums,
};
use lab::{
    Budget, Experiment, Plan, Recorder, Result, Samples, Unit, measure,
    peak::{self, Traffic},
    record::{Limit, ParamList},
};
use std::{hint::black_box, sync::OnceLock, thread, time::Duration};

/// What the chapter measures.
pub fn experiments() -> Vec<Experiment> {
    vec![
        Experiment {
            key: "matmul.vectorise",
            shows: "a running sum keeps the compiler from using vectors; separate sums let it",
            values: &["matmul.vectorise", "matmul.vectorise.speedup"],
            quick: true,
            run: vectorise,
        },
        Experiment {
            key: "matmul.misses",
            shows: "how many cache lines each order of the loops fetches, counted by a simulator",
            values: &["matmul.misses", "matmul.misses.per_step"],
            quick: true,
            run: |r| misses(r, MISSES_N),
        },
        Experiment {
            key: "matmul.ladder",
            shows: "what each rung gains on one product of 1024×1024 matrices",
            values: &["matmul.ladder", "matmul.ladder.speedup", "matmul.ladder.total"],
            quick: true,
            run: |r| rungs(r, LADDER_N),
        },
        Experiment {
            key: "matmul.roofline",
            shows: "how close each rung is to what its bytes and operations allow",
            values: &[
                "matmul.roofline",
                "matmul.roofline.intensity",
                "matmul.roofline.bandwidth",
                "matmul.roofline.peak",
            ],
            quick: true,
            run: |r| roofs(r, MISSES_N),
        },
        Experiment {
            key: "matmul.sizes",
            shows: "this crate against two libraries on square products",
            values: &["matmul.sizes", "matmul.sizes.ratio"],
            quick: true,
            run: |r| {
                let all = [512, 1024, 2048, 4096];
                sizes(r, if r.budget == Budget::Quick { &all[..2] } else { &all })
            },
        },
        Experiment {
            key: "matmul.shapes",
            shows: "the same contest on the products of a network's training step",
            values: &["matmul.shapes", "matmul.shapes.ratio"],
            quick: false,
            run: |r| shapes(r, &[32, 128], &[(784, 128), (784, 512), (512, 128)]),
        },
        Experiment {
            key: "matmul.scaling",
            shows: "what all threads gain over one, from small products to large ones",
            values: &["matmul.scaling", "matmul.scaling.threads"],
            quick: true,
            run: |r| scaling(r, &[32, 64, 128, 256, 512, 1024]),
        },
        Experiment {
            key: "matmul.bf16",
            shows: "products with inputs in bf16: their rate and their error",
            values: &["matmul.bf16", "matmul.bf16.error"],
            quick: true,
            run: |r| half_precision(r, &[512, 1024, 2048]),
        },
    ]
}

/// The n of the ladder.
pub const LADDER_N: usize = 1024;
/// The n at which the simulator counts, and at which the rungs are held against their rooflines.
pub const MISSES_N: usize = 512;
/// Length of the arrays that [`sums`] adds: both together fill half of a first-level cache.
const SUM_LEN: usize = 2048;

/// Deterministic numbers from -1 to 1 (a 64-bit linear congruential generator, Knuth's MMIX constants).
fn numbers(len: usize, seed: u64) -> Vec<f32> {
    let mut state = seed;
    (0..len)
        .map(|_| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (state >> 40) as f32 / (1u64 << 23) as f32 - 1.0
        })
        .collect()
}

/// A plan with this much time for a measurement in the quick and in the full budget.
fn plan(budget: Budget, quick_ms: u64, full_ms: u64, min_samples: usize) -> Plan {
    let (time, samples) = match budget {
        Budget::Quick => (quick_ms, min_samples.min(3)),
        Budget::Full => (full_ms, min_samples),
    };
    Plan {
        warm_up: Duration::from_millis(time / 5),
        time: Duration::from_millis(time),
        min_samples: samples,
        max_samples: 300,
    }
}

fn one(value: f64) -> Samples {
    Samples(vec![value])
}

fn count(value: u64) -> Samples {
    one(value as f64)
}

fn vectorise(r: &mut Recorder) -> Result<()> {
    let (x, mut y) = (numbers(SUM_LEN, 1), numbers(SUM_LEN, 2));
    let operations = 2.0 * SUM_LEN as f64;
    let rate = |r: &mut Recorder, name: &str, work: &mut dyn FnMut()| {
        r.rate(
            "matmul.vectorise",
            &[("loop", &name)],
            Unit::FlopsPerSecond,
            64.0 * operations,
            None,
            || {
                for _ in 0..64 {
                    work();
                }
            },
        )
    };
    let one_sum = rate(r, "one-sum", &mut || {
        black_box(sums::one_sum(black_box(&x), black_box(&y)));
    });
    let eight = rate(r, "eight-sums", &mut || {
        black_box(sums::eight_sums(black_box(&x), black_box(&y)));
    });
    // A factor that keeps y from growing without bound, however often it is added.
    let row = rate(r, "row-update", &mut || {
        sums::row_update(black_box(&mut y), black_box(1e-9), black_box(&x));
    });
    for (name, rate) in [("eight-sums", eight), ("row-update", row)] {
        r.value("matmul.vectorise.speedup", &[("loop", &name)], Unit::Ratio, one(rate / one_sum));
    }
    Ok(())
}

/// What the simulator counts. At [`MISSES_N`] it takes seconds and two experiments need it.
fn counted(n: usize) -> [(Pattern, Counts); 4] {
    static COUNTED: OnceLock<[(Pattern, Counts); 4]> = OnceLock::new();
    let count = || {
        let mut counted = Pattern::ALL.map(|pattern| (pattern, Counts::default()));
        thread::scope(|scope| {
            for (pattern, counts) in &mut counted {
                scope.spawn(|| *counts = pattern.count(n));
            }
        });
        counted
    };
    if n == MISSES_N { *COUNTED.get_or_init(count) } else { count() }
}

fn misses(r: &mut Recorder, n: usize) -> Result<()> {
    let steps = (n as f64).powi(3);
    r.note("matmul.misses", &[("n", &n)]);
    for (pattern, counts) in counted(n) {
        let rung = pattern.name();
        for (event, number) in [
            ("loads", counts.loads),
            ("stores", counts.stores),
            ("l1", counts.l1_misses),
            ("l2", counts.l2_misses),
        ] {
            let list: ParamList = &[("n", &n), ("rung", &rung), ("event", &event)];
            r.value("matmul.misses", list, Unit::Count, count(number));
            r.value("matmul.misses.per_step", list, Unit::Number, one(number as f64 / steps));
        }
    }
    Ok(())
}

/// Why a rung can't run here.
fn missing(rung: &str) -> &'static str {
    match rung {
        "avx2" => "this CPU has no AVX2",
        "avx512" => "this CPU has no AVX-512",
        _ => "this CPU has no AMX",
    }
}

/// What a rung's rate is held against.
fn limit(rung: &Rung) -> Option<Limit> {
    let threads = if rung.parallel { parallel::available() } else { 1 };
    if rung.bf16 { peak::amx_bf16(threads) } else { Some(peak::fma_f32(threads)) }
}

fn rungs(r: &mut Recorder, n: usize) -> Result<()> {
    const KEY: &str = "matmul.ladder";
    let (a, b, mut c) = (numbers(n * n, 1), numbers(n * n, 2), vec![0.0; n * n]);
    let mut rates: Vec<f64> = Vec::new();
    for rung in ladder() {
        let speedups = [("naive", rates.first().copied()), ("previous", rates.last().copied())];
        if !(rung.available)() {
            let why = missing(rung.key);
            r.skip(KEY, &[("n", &n), ("rung", &rung.key)], why);
            for (over, _) in speedups {
                r.skip(
                    "matmul.ladder.speedup",
                    &[("n", &n), ("rung", &rung.key), ("over", &over)],
                    why,
                );
            }
            continue;
        }
        r.note(KEY, &[("rung", &rung.key)]);
        // The naive loops take seconds. Their rate is the same for every row of C, so that the quick budget
        // needs no more than some rows.
        let rows = if rung.key == "naive" && r.budget == Budget::Quick { 64 } else { n };
        let shape = Shape::new(rows, n, n);
        let (a, c) = (&a[..rows * n], &mut c[..rows * n]);
        let plan = match rung.key {
            "naive" => plan(r.budget, 0, 0, 2),
            "reordered" | "blocked" => plan(r.budget, 200, 2000, 5),
            _ => plan(r.budget, 250, 2000, 11),
        };
        let samples = measure::time(plan, || (rung.multiply)(c, a, &b, shape))
            .map(|seconds| shape.operations() / seconds);
        let rate = r.limited(
            KEY,
            &[("n", &n), ("rung", &rung.key)],
            Unit::FlopsPerSecond,
            samples,
            limit(&rung),
        );
        for (over, before) in speedups {
            if let Some(before) = before {
                r.value(
                    "matmul.ladder.speedup",
                    &[("n", &n), ("rung", &rung.key), ("over", &over)],
                    Unit::Ratio,
                    one(rate / before),
                );
            }
        }
        rates.push(rate);
    }
    // The rungs whose inputs are rounded to bf16 compute another product: they have a total of their own.
    for (inputs, bf16) in [("f32", false), ("bf16", true)] {
        let climbed = ladder().into_iter().filter(|rung| (rung.available)());
        let fastest = climbed
            .zip(&rates)
            .filter(|(rung, _)| rung.bf16 == bf16)
            .map(|(_, rate)| *rate)
            .fold(0.0, f64::max);
        let list: ParamList = &[("n", &n), ("inputs", &inputs)];
        if fastest > 0.0 {
            r.value("matmul.ladder.total", list, Unit::Ratio, one(fastest / rates[0]));
        } else {
            r.skip("matmul.ladder.total", list, missing("amx"));
        }
    }
    Ok(())
}

fn roofs(r: &mut Recorder, n: usize) -> Result<()> {
    let shape = Shape::square(n);
    let measuring = plan(r.budget, 150, 1000, 5);
    let limit = peak::fma_f32(1);
    r.value("matmul.roofline.peak", &[], Unit::FlopsPerSecond, one(limit.value));
    let key = "matmul.roofline.bandwidth";
    // Half of the cache, so that other data has room: far more than the first level holds.
    let samples = roofline::read_bandwidth(measuring, L2 / 2);
    let from_l2 = r.value(key, &[("from", &"l2")], Unit::BytesPerSecond, samples);
    let samples = peak::bandwidth_samples(Traffic::Read, 1, measuring);
    r.value(key, &[("from", &"memory")], Unit::BytesPerSecond, samples);
    r.value(
        "matmul.roofline.intensity",
        &[("rung", &"compulsory")],
        Unit::Number,
        one(shape.operations() / shape.bytes()),
    );

    let (a, b, mut c) = (numbers(n * n, 1), numbers(n * n, 2), vec![0.0; n * n]);
    let rungs = ladder();
    for (pattern, counts) in &counted(n) {
        let Some(rung) = rungs.iter().find(|rung| rung.key == pattern.name()) else { continue };
        let fetched = (counts.l1_misses * LINE as u64) as f64;
        let intensity = shape.operations() / fetched;
        r.value("matmul.roofline.intensity", &[("rung", &rung.key)], Unit::Number, one(intensity));
        let roof = Limit {
            name: format!("the roofline at {} operations per byte", Unit::Number.format(intensity)),
            value: roofline::bound(intensity, limit.value, from_l2),
        };
        let plan = Plan { min_samples: 2, ..measuring };
        let samples = measure::time(plan, || (rung.multiply)(&mut c, &a, &b, shape))
            .map(|seconds| shape.operations() / seconds);
        r.limited(
            "matmul.roofline",
            &[("rung", &rung.key)],
            Unit::FlopsPerSecond,
            samples,
            Some(roof),
        );
    }
    Ok(())
}

/// One product and who computes it: all contenders get the same operands and a C of their own.
struct Contest {
    shape: Shape,
    a: Vec<f32>,
    b: Vec<f32>,
    /// Whether A lies transposed (k×m), and B (n×k).
    transposed: (bool, bool),
    all_threads: bool,
    peers: Vec<(&'static str, Product)>,
}

impl Contest {
    fn new(shape: Shape, transposed: (bool, bool), all_threads: bool) -> Self {
        let (a, b) = (numbers(shape.m * shape.k, 1), numbers(shape.k * shape.n, 2));
        Self { shape, a, b, transposed, all_threads, peers: peers::peers(all_threads) }
    }

    fn operands(&self) -> crate::Result<(MatRef<'_, f32>, MatRef<'_, f32>)> {
        let Shape { m, k, n } = self.shape;
        let a = if self.transposed.0 {
            MatRef::new(&self.a, k, m)?.t()
        } else {
            MatRef::new(&self.a, m, k)?
        };
        let b = if self.transposed.1 {
            MatRef::new(&self.b, n, k)?.t()
        } else {
            MatRef::new(&self.b, k, n)?
        };
        Ok((a, b))
    }

    /// Seconds of each round: this crate first, then its peers in their order, in turn.
    fn run(&self, plan: Plan) -> crate::Result<Vec<Samples>> {
        let (a, b) = self.operands()?;
        let Shape { m, n, .. } = self.shape;
        let mut outputs = vec![vec![0.0; m * n]; 1 + self.peers.len()];
        let threads = if self.all_threads { Threads::All } else { Threads::One };
        let options = Options { threads, ..Options::default() };
        let mut works: Vec<Box<dyn FnMut() + '_>> = Vec::new();
        for (who, c) in outputs.iter_mut().enumerate() {
            works.push(match who.checked_sub(1) {
                None => Box::new(move || {
                    let done = MatMut::new(c, m, n).and_then(|c| sgemm(c, a, b, options));
                    assert!(done.is_ok(), "the shapes fit");
                }),
                Some(peer) => {
                    let (_, product) = self.peers[peer];
                    Box::new(move || {
                        let done = MatMut::new(c, m, n).and_then(|c| product(c, a, b));
                        assert!(done.is_ok(), "the shapes fit");
                    })
                }
            });
        }
        let mut works: Vec<&mut dyn FnMut()> = works.iter_mut().map(|w| &mut **w as _).collect();
        Ok(measure::time_interleaved(plan, &mut works))
    }
}

/// Rates of this crate and its peers on one product, and the ratio to the better peer of each round.
fn contest(
    r: &mut Recorder,
    key: &str,
    ratio: &str,
    list: ParamList,
    contest: &Contest,
    plan: Plan,
) -> Result<()> {
    r.note(key, list);
    let operations = contest.shape.operations();
    let seconds = contest.run(plan).map_err(|e| lab::Error::message(e.to_string()))?;
    let limit = peak::fma_f32(if contest.all_threads { parallel::available() } else { 1 });
    let names = std::iter::once("ours").chain(contest.peers.iter().map(|(name, _)| *name));
    for (who, samples) in names.zip(&seconds) {
        let mut list = list.to_vec();
        list.push(("who", &who));
        let rates = samples.map(|seconds| operations / seconds);
        r.limited(key, &list, Unit::FlopsPerSecond, rates, Some(limit.clone()));
    }
    for who in CONTENDERS {
        if who != "ours" && !contest.peers.iter().any(|(name, _)| *name == who) {
            let mut list = list.to_vec();
            list.push(("who", &who));
            let variable = if contest.all_threads { "without" } else { "with" };
            let why = format!(
                "{who} keeps one number of threads for the life of a process; measure {variable} \
                 MATMUL_NUM_THREADS=1"
            );
            r.skip(key, &list, why);
        }
    }
    let [ours, peers @ ..] = &seconds[..] else { return Ok(()) };
    let ratios = (0..ours.0.len()).map(|round| {
        let best = peers.iter().map(|peer| peer.0[round]).fold(f64::INFINITY, f64::min);
        best / ours.0[round]
    });
    r.value(ratio, list, Unit::Ratio, Samples(ratios.collect()));
    Ok(())
}

/// This crate and its [`peers`], by their names in the records.
pub const CONTENDERS: [&str; 3] = ["ours", "gemm", "matrixmultiply"];

/// `one` or `all`, as the records have it: the number of cores is the machine's.
const THREADS: [(&str, bool); 2] = [("one", false), ("all", true)];

fn sizes(r: &mut Recorder, sizes: &[usize]) -> Result<()> {
    for &n in sizes {
        for (threads, all) in THREADS {
            let product = Contest::new(Shape::square(n), (false, false), all);
            let plan = plan(r.budget, 200, 1500, 5);
            let list: ParamList = &[("n", &n), ("threads", &threads)];
            contest(r, "matmul.sizes", "matmul.sizes.ratio", list, &product, plan)?;
        }
    }
    Ok(())
}

fn shapes(r: &mut Recorder, batches: &[usize], layers: &[(usize, usize)]) -> Result<()> {
    for &batch in batches {
        for &(inputs, outputs) in layers {
            // Y = X·W, then from G, the gradient of Y: that of W is Xᵀ·G, that of X is G·Wᵀ.
            let passes = [
                ("forward", Shape::new(batch, inputs, outputs), (false, false)),
                ("weights", Shape::new(inputs, batch, outputs), (true, false)),
                ("inputs", Shape::new(batch, outputs, inputs), (false, true)),
            ];
            for (pass, shape, transposed) in passes {
                for (threads, all) in THREADS {
                    let product = Contest::new(shape, transposed, all);
                    let plan = plan(r.budget, 50, 250, 11);
                    let layer = format!("{inputs}x{outputs}");
                    let list: ParamList = &[
                        ("batch", &batch),
                        ("layer", &layer),
                        ("pass", &pass),
                        ("threads", &threads),
                    ];
                    contest(r, "matmul.shapes", "matmul.shapes.ratio", list, &product, plan)?;
                }
            }
        }
    }
    Ok(())
}

fn scaling(r: &mut Recorder, sizes: &[usize]) -> Result<()> {
    let threads = parallel::available();
    r.value("matmul.scaling.threads", &[], Unit::Count, count(threads as u64));
    for &n in sizes {
        r.note("matmul.scaling", &[("n", &n)]);
        let shape = Shape::square(n);
        let (a, b) = (numbers(n * n, 1), numbers(n * n, 2));
        let (mut c1, mut c2) = (vec![0.0; n * n], vec![0.0; n * n]);
        // Small products are repeated, so that a sample is long against the clock's resolution.
        let repeat = (2e7 / shape.operations()).ceil() as usize;
        let product = |c: &mut Vec<f32>, threads| {
            let options = Options { threads, ..Options::default() };
            for _ in 0..repeat {
                let c = MatMut::new(black_box(&mut c[..]), n, n);
                let done = c.and_then(|c| {
                    sgemm(c, MatRef::new(&a, n, n)?, MatRef::new(&b, n, n)?, options)
                });
                assert!(done.is_ok(), "the shapes fit");
            }
        };
        let mut alone = || product(&mut c1, Threads::One);
        let mut together = || product(&mut c2, Threads::All);
        let plan = plan(r.budget, 100, 600, 11);
        let seconds = measure::time_interleaved(plan, &mut [&mut alone, &mut together]);
        let ratios = seconds[0].0.iter().zip(&seconds[1].0).map(|(one, all)| one / all).collect();
        r.value("matmul.scaling", &[("n", &n)], Unit::Ratio, Samples(ratios));
    }
    Ok(())
}

fn half_precision(r: &mut Recorder, sizes: &[usize]) -> Result<()> {
    const KEY: &str = "matmul.bf16";
    // The rounded numbers as f32 in vectors, which every CPU can do, and the matrix unit.
    for (path, unit) in
        [("vectors", Multiplier::Vectors(Level::best())), ("amx", Multiplier::Tiles)]
    {
        for &n in sizes {
            for (threads, all) in THREADS {
                let list: ParamList = &[("n", &n), ("threads", &threads), ("path", &path)];
                if !unit.available() {
                    r.skip(KEY, list, "this CPU has no AMX");
                    continue;
                }
                r.note(KEY, list);
                let cores = if all { parallel::available() } else { 1 };
                let limit = match unit {
                    Multiplier::Tiles => peak::amx_bf16(cores),
                    _ => Some(peak::fma_f32(cores)),
                };
                // The inputs are f32 and are rounded while they are packed: that is part of the time.
                let (a, b, mut c) = (numbers(n * n, 1), numbers(n * n, 2), vec![0.0; n * n]);
                let threads = if all { Threads::All } else { Threads::One };
                let options = Options { threads, ..Options::default() };
                let plan = plan(r.budget, 100, 1000, 5);
                let mut done = Ok(());
                let samples =
                    measure::time(plan, || done = bf16_product(unit, &mut c, &a, &b, n, options));
                done.map_err(|e| lab::Error::message(e.to_string()))?;
                let operations = Shape::square(n).operations();
                let rates = samples.map(|seconds| operations / seconds);
                r.limited(KEY, list, Unit::FlopsPerSecond, rates, limit);
            }
        }
    }
    errors(r).map_err(|e| lab::Error::message(e.to_string()))
}

fn bf16_product(
    unit: Multiplier,
    c: &mut [f32],
    a: &[f32],
    b: &[f32],
    n: usize,
    options: Options,
) -> crate::Result<()> {
    let (a, b) = (MatRef::new(a, n, n)?, MatRef::new(b, n, n)?);
    bgemm_on(unit, MatMut::new(c, n, n)?, a, b, options)
}

/// How far products with inputs in f32 and in bf16 are from the same product in f64: the root of the mean
/// squared error over that of the mean square.
fn errors(r: &mut Recorder) -> crate::Result<()> {
    const N: usize = 256;
    let (a, b, mut c) = (numbers(N * N, 1), numbers(N * N, 2), vec![0.0; N * N]);
    let (exact, _) = reference::multiply(MatRef::new(&a, N, N)?, MatRef::new(&b, N, N)?);
    let norm: f64 = exact.iter().map(|x| x * x).sum();
    let error = |c: &[f32]| {
        let squares = c.iter().zip(&exact).map(|(&c, x)| (f64::from(c) - x).powi(2));
        (squares.sum::<f64>() / norm).sqrt()
    };
    let (a_view, b_view) = (MatRef::new(&a, N, N)?, MatRef::new(&b, N, N)?);
    sgemm(MatMut::new(&mut c, N, N)?, a_view, b_view, Options::default())?;
    let in_f32 = error(&c);
    bf16_product(Multiplier::best(), &mut c, &a, &b, N, Options::default())?;
    let in_bf16 = error(&c);
    for (inputs, error) in [("f32", in_f32), ("bf16", in_bf16)] {
        r.value("matmul.bf16.error", &[("inputs", &inputs)], Unit::Number, one(error));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use lab::{Device, progress::Progress, record::Value};

    /// What an experiment leaves when its work is done by `run`, on small sizes.
    fn values(key: &str, run: impl FnOnce(&mut Recorder) -> Result<()>) -> Vec<Value> {
        let all = experiments();
        let found = all.iter().find(|experiment| experiment.key == key);
        let Some(experiment) = found else { panic!("there is no {key}") };
        let progress = Progress::hidden();
        let mut recorder = Recorder::new(experiment, Budget::Quick, Device::Cpu, &progress);
        run(&mut recorder).unwrap_or_else(|error| panic!("{key}: {error}"));
        let (values, skipped) = recorder.finish();
        for declared in experiment.values {
            let left = values.iter().any(|value| value.key == *declared)
                || skipped.iter().any(|skipped| skipped.key == *declared);
            assert!(left, "{key} declares {declared} and leaves none");
        }
        for value in &values {
            assert!(value.median.is_finite() && value.median > 0.0, "{value:?}");
            if let Some(limit) = &value.limit {
                assert!(limit.value > 0.0, "{value:?}");
            }
        }
        values
    }

    #[test]
    fn experiments_leave_what_they_declare() {
        values("matmul.vectorise", vectorise);
        values("matmul.misses", |r| misses(r, 16));
        values("matmul.ladder", |r| rungs(r, 64));
        values("matmul.roofline", |r| roofs(r, 64));
        values("matmul.sizes", |r| sizes(r, &[16]));
        values("matmul.shapes", |r| shapes(r, &[4], &[(6, 5)]));
        values("matmul.scaling", |r| scaling(r, &[16]));
        values("matmul.bf16", |r| half_precision(r, &[16]));
    }

    #[test]
    fn naive_counts_two_loads_for_each_step() {
        let values = values("matmul.misses", |r| misses(r, 16));
        let loads = values.iter().find(|value| {
            value.key == "matmul.misses.per_step"
                && value.params["rung"] == "naive"
                && value.params["event"] == "loads"
        });
        assert_eq!(loads.map(|value| value.median), Some(2.0));
    }

    #[test]
    fn numbers_are_spread_over_their_range() {
        let numbers = numbers(10_000, 1);
        assert!(numbers.iter().all(|x| (-1.0..1.0).contains(x)));
        let mean = numbers.iter().sum::<f32>() / 10_000.0;
        assert!(mean.abs() < 0.03, "{mean}");
        assert!(numbers.iter().any(|x| *x < -0.9) && numbers.iter().any(|x| *x > 0.9));
    }

    #[test]
    fn bf16_inputs_cost_digits() {
        let values = values("matmul.bf16", |r| half_precision(r, &[16]));
        let error = |inputs: &str| {
            values
                .iter()
                .find(|v| v.key == "matmul.bf16.error" && v.params["inputs"] == inputs)
                .map_or(f64::NAN, |v| v.median)
        };
        // Rounding is off by at most 2⁻⁸ in bf16 and 2⁻²⁴ in f32.
        assert!((1e-4..1e-2).contains(&error("bf16")), "{}", error("bf16"));
        assert!(error("f32") < 1e-5, "{}", error("f32"));
    }

    #[test]
    fn contest_uses_transposed_operands() -> crate::Result<()> {
        let contest = Contest::new(Shape::new(2, 3, 4), (true, true), false);
        let (a, b) = contest.operands()?;
        assert_eq!((a.rows(), a.cols(), b.rows(), b.cols()), (2, 3, 3, 4));
        assert_eq!((a.row_stride(), b.row_stride()), (1, 1));
        Ok(())
    }
}
