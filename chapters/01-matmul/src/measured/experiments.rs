//! What this chapter measures.

use crate::{
    MatMut, MatRef, Options, Rung, Shape, Threads, Unit as Multiplier, bgemm_on,
    cache::{Counts, L2, LINE, Pattern},
    ladder, parallel, peers, reference, roofline, sgemm,
    simd::Level,
    sums,
};
use lab::{
    Budget, Experiment, Key, Plan, Race, Recorder, Result, Unit, measure,
    peak::{self, Traffic},
    random::numbers,
    record::{Limit, ParamList},
};
use std::{hint::black_box, sync::OnceLock, thread, time::Duration};

lab::keys! {
    /// Rates of the three loops over arrays in the first-level cache.
    pub VECTORISE: measured "matmul.vectorise", FlopsPerSecond, ["loop"];
    /// Over the rate of one running sum.
    VECTORISE_SPEEDUP: measured "matmul.vectorise.speedup", Ratio, ["loop"];
    /// Rates of the rungs.
    pub LADDER: measured "matmul.ladder", FlopsPerSecond, ["n", "rung"];
    /// Over the previous rung, and over the first.
    SPEEDUP: measured "matmul.ladder.speedup", Ratio, ["n", "rung", "over"];
    /// The fastest rung over the first.
    pub TOTAL: measured "matmul.ladder.total", Ratio, ["n", "inputs"];
    /// Rates at the ladder's size and at a size beside it.
    pub NEARBY: measured "matmul.nearby", FlopsPerSecond, ["n", "rung"];
    /// Over the first rung at the same size.
    NEARBY_SPEEDUP: measured "matmul.nearby.speedup", Ratio, ["n", "rung"];
    /// Rates of the rungs that the simulator counts.
    pub ROOFLINE: measured "matmul.roofline", FlopsPerSecond, ["rung"];
    /// Rates of reading.
    pub BANDWIDTH: measured "matmul.roofline.bandwidth", BytesPerSecond, ["from"];
    /// The rate of one core's FMAs, in the same run.
    pub PEAK: measured "matmul.roofline.peak", FlopsPerSecond, [];
    /// Rates on square products.
    pub SIZES: measured "matmul.sizes", FlopsPerSecond, ["n", "threads", "who"];
    /// This crate over the better library of each round.
    SIZES_RATIO: measured "matmul.sizes.ratio", Ratio, ["n", "threads"];
    /// Rates on the products of a training step.
    pub SHAPES: measured "matmul.shapes", FlopsPerSecond, ["batch", "layer", "pass", "threads", "who"];
    /// This crate over the better library of each round.
    pub SHAPES_RATIO: measured "matmul.shapes.ratio", Ratio, ["batch", "layer", "pass", "threads"];
    /// All threads over one.
    pub SCALING: measured "matmul.scaling", Ratio, ["n"];
    /// How many threads these are.
    SCALING_THREADS: counted "matmul.scaling.threads", Count, [];
    /// Rates of products with inputs in bf16.
    pub BF16: measured "matmul.bf16", FlopsPerSecond, ["n", "threads", "path"];
    /// Rates of products with inputs in bf16 on the vectors of AVX512-BF16.
    pub PAIRS: measured "matmul.pairs", FlopsPerSecond, ["n", "threads"];
    /// Over the product in f32 of each round.
    pub PAIRS_GAIN: measured "matmul.pairs.gain", Ratio, ["n", "threads"];
    /// Their distance from the product in f64.
    pub BF16_ERROR: measured "matmul.bf16.error", Number, ["inputs"];
    /// Loads, stores, and lines fetched into each level.
    pub MISSES: simulated "matmul.misses", Count, ["n", "rung", "event"];
    /// Over the multiply-adds of the product.
    pub PER_STEP: simulated "matmul.misses.per_step", Number, ["n", "rung", "event"];
    /// Their operations for each byte that the first-level cache fetches.
    pub INTENSITY: simulated "matmul.roofline.intensity", Number, ["rung"];
}

/// What the chapter measures.
pub fn experiments() -> Vec<Experiment> {
    lab::experiments! {
        quick VECTORISE.name => &[VECTORISE, VECTORISE_SPEEDUP], vectorise,
            "a running sum keeps the compiler from using vectors; separate sums let it";
        quick MISSES.name => &[MISSES, PER_STEP], |r| misses(r, MISSES_N),
            "how many cache lines each order of the loops fetches, counted by a simulator";
        quick LADDER.name => &[LADDER, SPEEDUP, TOTAL], |r| rungs(r, LADDER_N),
            "what each rung gains on one product of 1024×1024 matrices";
        quick NEARBY.name => &[NEARBY, NEARBY_SPEEDUP], |r| nearby(r, &NEARBY_N),
            "what of the ladder is due to its size: the same rungs at n = 1000";
        quick ROOFLINE.name => &[ROOFLINE, INTENSITY, BANDWIDTH, PEAK], |r| roofs(r, MISSES_N),
            "how close each rung comes to its roofline";
        quick SIZES.name => &[SIZES, SIZES_RATIO], |r| {
                let all = [512, 1024, 2048, 4096];
                sizes(r, if r.budget == Budget::Quick { &all[..2] } else { &all })
            },
            "this crate against two libraries on square products";
        full SHAPES.name => &[SHAPES, SHAPES_RATIO], |r| shapes(r, &[32, 128], &[(784, 128), (784, 512), (512, 128)]),
            "the same contest on the products of a network's training step";
        quick SCALING.name => &[SCALING, SCALING_THREADS], |r| scaling(r, &[32, 64, 128, 256, 512, 1024]),
            "what all threads gain over one, from small products to large ones";
        quick BF16.name => &[BF16, BF16_ERROR], |r| half_precision(r, &[512, 1024, 2048]),
            "products with inputs in bf16: their rate and their error";
        quick PAIRS.name => &[PAIRS, PAIRS_GAIN], |r| pairs(r, &[1024, 2048]),
            "products in bf16 on the vectors of AVX512-BF16, and what they gain over f32";
    }
}

impl From<crate::Error> for lab::Error {
    fn from(error: crate::Error) -> Self {
        Self::message(error.to_string())
    }
}

/// The n of the ladder.
pub const LADDER_N: usize = 1024;
/// The n of the ladder, and one whose columns spread over all sets of a first-level cache.
const NEARBY_N: [usize; 2] = [1000, LADDER_N];
/// The n at which the simulator counts, and at which the rungs are compared with their rooflines.
pub const MISSES_N: usize = 512;
/// Length of the arrays that [`sums`] adds: both together fill half of a first-level cache.
const SUM_LEN: usize = 2048;

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

/// The three loops of [`sums`].
///
/// # Errors
/// None; it is the form of every experiment.
pub fn vectorise(r: &mut Recorder) -> Result<()> {
    const TIMES: usize = 64;
    let (x, mut y) = (numbers(SUM_LEN, 1), numbers(SUM_LEN, 2));
    let mut rate = |name: &str, work: &mut dyn FnMut()| {
        let operations = (TIMES * 2 * SUM_LEN) as f64;
        let rate = VECTORISE.at(&[("loop", &name)]);
        r.time_rate(rate, operations, || (0..TIMES).for_each(|_| work()))
    };
    let one_sum = rate("one-sum", &mut || {
        black_box(sums::one_sum(black_box(&x), black_box(&y)));
    });
    let eight = rate("eight-sums", &mut || {
        black_box(sums::eight_sums(black_box(&x), black_box(&y)));
    });
    // A factor that keeps y from growing without bound, however often it is added.
    let row = rate("row-update", &mut || {
        sums::row_update(black_box(&mut y), black_box(1e-9), black_box(&x));
    });
    for (name, rate) in [("eight-sums", eight), ("row-update", row)] {
        r.one(VECTORISE_SPEEDUP.at(&[("loop", &name)]), rate / one_sum);
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

/// What each order of the loops fetches, on n×n matrices.
///
/// # Errors
/// None; it is the form of every experiment.
pub fn misses(r: &mut Recorder, n: usize) -> Result<()> {
    let steps = (n as f64).powi(3);
    r.note_at(MISSES.at(&[("n", &n)]));
    for (pattern, counts) in counted(n) {
        for (event, number) in [
            ("loads", counts.loads),
            ("stores", counts.stores),
            ("l1", counts.l1_misses),
            ("l2", counts.l2_misses),
        ] {
            let list: ParamList = &[("n", &n), ("rung", &pattern.name()), ("event", &event)];
            r.one(MISSES.at(list), number as f64);
            r.one(PER_STEP.at(list), number as f64 / steps);
        }
    }
    Ok(())
}

/// Every rung on n×n matrices.
///
/// # Errors
/// None; it is the form of every experiment.
pub fn rungs(r: &mut Recorder, n: usize) -> Result<()> {
    let (a, b, mut c) = (numbers(n * n, 1), numbers(n * n, 2), vec![0.0; n * n]);
    let mut rates: Vec<f64> = Vec::new();
    for rung in ladder() {
        let rate = LADDER.at(&[("n", &n), ("rung", &rung.key)]);
        let speedup = SPEEDUP.at(&[("n", &n), ("rung", &rung.key)]);
        let speedups = [("naive", rates.first().copied()), ("previous", rates.last().copied())];
        if !rung.unit.available() {
            r.skip_at(rate, rung.unit.missing());
            for (over, _) in speedups {
                r.skip_at(speedup.clone().with("over", over), rung.unit.missing());
            }
            continue;
        }
        r.note_at(&rate);
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
        let rate = r.record(rate.against(rung.unit.peak(cores(rung.parallel))), samples);
        for (over, before) in speedups {
            if let Some(before) = before {
                r.one(speedup.clone().with("over", over), rate / before);
            }
        }
        rates.push(rate);
    }
    // The rungs whose inputs are rounded to bf16 compute a different product: they have a total of their own.
    for (inputs, bf16) in [("f32", false), ("bf16", true)] {
        let climbed = ladder().into_iter().filter(|rung| rung.unit.available());
        let fastest = climbed
            .zip(&rates)
            .filter(|(rung, _)| rung.bf16() == bf16)
            .map(|(_, rate)| *rate)
            .fold(0.0, f64::max);
        let total = TOTAL.at(&[("n", &n), ("inputs", &inputs)]);
        if fastest > 0.0 {
            r.one(total, fastest / rates[0]);
        } else {
            r.skip_at(total, "this CPU has neither AVX512-BF16 nor AMX");
        }
    }
    Ok(())
}

/// The first two rungs and the fastest one that computes the same product, which is the last of them.
fn nearby_rungs() -> Vec<Rung> {
    let mut rungs = ladder();
    rungs.retain(|rung| !rung.bf16() && rung.unit.available());
    rungs.drain(2..rungs.len() - 1);
    rungs
}

/// Rungs on sizes side by side.
///
/// # Errors
/// A product's.
pub fn nearby(r: &mut Recorder, sizes: &[usize]) -> Result<()> {
    let rungs = nearby_rungs();
    for &n in sizes {
        // As for the ladder: some rows say what all of them do.
        let rows = if r.budget == Budget::Quick { n.min(64) } else { n };
        let shape = Shape::new(rows, n, n);
        let (a, b) = (numbers(rows * n, 1), numbers(n * n, 2));
        let mut outputs = vec![vec![0.0; rows * n]; rungs.len()];
        let mut race = Race::new();
        for (rung, c) in rungs.iter().zip(&mut outputs) {
            let (a, b) = (&a, &b);
            race.add(rung.key, move || {
                (rung.multiply)(c, a, b, shape);
                Ok(())
            });
        }
        r.note_at(NEARBY.at(&[("n", &n)]));
        let results = race.run(plan(r.budget, 100, 2000, 3))?;
        for rung in &rungs {
            let list: ParamList = &[("n", &n), ("rung", &rung.key)];
            r.record(NEARBY.at(list), results.rate(rung.key, shape.operations())?);
            if rung.key != rungs[0].key {
                r.record(NEARBY_SPEEDUP.at(list), results.ratio(rungs[0].key, rung.key)?);
            }
        }
    }
    Ok(())
}

/// Bandwidth and peak, and the rungs under them, on n×n matrices.
///
/// # Errors
/// None; it is the form of every experiment.
pub fn roofs(r: &mut Recorder, n: usize) -> Result<()> {
    let shape = Shape::square(n);
    let measuring = plan(r.budget, 150, 1000, 5);
    let limit = peak::fma_f32(1);
    r.one(PEAK.at(&[]), limit.value);
    let from = |from: &str| BANDWIDTH.at(&[("from", &from)]);
    // Half of the cache, so that other data has room: far more than the first level holds.
    let from_l2 = r.record(from("l2"), roofline::read_bandwidth(measuring, L2 / 2));
    r.record(from("memory"), peak::bandwidth_samples(Traffic::Read, 1, measuring));
    r.one(INTENSITY.at(&[("rung", &"compulsory")]), shape.operations() / shape.bytes());

    let (a, b, mut c) = (numbers(n * n, 1), numbers(n * n, 2), vec![0.0; n * n]);
    let rungs = ladder();
    for (pattern, counts) in &counted(n) {
        let Some(rung) = rungs.iter().find(|rung| rung.key == pattern.name()) else { continue };
        let fetched = (counts.l1_misses * LINE as u64) as f64;
        let intensity = shape.operations() / fetched;
        r.one(INTENSITY.at(&[("rung", &rung.key)]), intensity);
        let roof = Limit {
            name: format!("the roofline at {} operations per byte", Unit::Number.format(intensity)),
            value: roofline::bound(intensity, limit.value, from_l2),
        };
        let plan = Plan { min_samples: 2, ..measuring };
        let samples = measure::time(plan, || (rung.multiply)(&mut c, &a, &b, shape))
            .map(|seconds| shape.operations() / seconds);
        r.record(ROOFLINE.at(&[("rung", &rung.key)]).against(roof), samples);
    }
    Ok(())
}

/// A matrix whose values lie row after row, or, if it is `turned`, column after column.
///
/// # Errors
/// If there are more or fewer of them.
pub fn stored(
    values: &[f32],
    rows: usize,
    cols: usize,
    turned: bool,
) -> crate::Result<MatRef<'_, f32>> {
    if turned { Ok(MatRef::new(values, cols, rows)?.t()) } else { MatRef::new(values, rows, cols) }
}

/// Rates of this crate and its peers on one product, and the ratio to the better peer of each round. A and B may lie
/// transposed; all contenders get the same ones, and a C of their own.
fn contest(
    r: &mut Recorder,
    (rate, ratio): (Key, Key),
    list: ParamList,
    shape: Shape,
    (a_turned, b_turned): (bool, bool),
    all: bool,
    plan: Plan,
) -> Result<()> {
    r.note_at(rate.at(list));
    let Shape { m, k, n } = shape;
    let (a, b) = (numbers(m * k, 1), numbers(k * n, 2));
    let (a, b) = (stored(&a, m, k, a_turned)?, stored(&b, k, n, b_turned)?);
    let options = on(all);
    let peers = peers::peers(all);
    let mut outputs = vec![vec![0.0; m * n]; CONTENDERS.len()];
    let mut race = Race::new();
    for (who, c) in CONTENDERS.into_iter().zip(&mut outputs) {
        if who == "ours" {
            race.add(who, move || Ok(sgemm(MatMut::new(c, m, n)?, a, b, options)?));
        } else if let Some(&(_, product)) = peers.iter().find(|(name, _)| *name == who) {
            race.add(who, move || Ok(product(MatMut::new(c, m, n)?, a, b)?));
        } else {
            let with = if all { "without" } else { "with" };
            let why = format!(
                "{who} keeps one number of threads for the life of a process; measure {with} \
                 MATMUL_NUM_THREADS=1"
            );
            race.skip(who, why);
        }
    }
    let results = race.run(plan)?;
    let limit = peak::fma_f32(cores(all));
    for who in CONTENDERS {
        let rates = results.rate(who, shape.operations());
        r.record_or_skip(rate.at(list).with("who", who).against(limit.clone()), rates)?;
    }
    r.record_or_skip(ratio.at(list), results.ratio_of_best_other("ours"))
}

/// This crate and its [`peers`], by their names in the records.
pub const CONTENDERS: [&str; 3] = ["ours", "gemm", "matrixmultiply"];

/// `one` or `all`, as the records have it: the number of cores is the machine's.
const THREADS: [(&str, bool); 2] = [("one", false), ("all", true)];

/// A product on all threads or on one.
fn on(all: bool) -> Options<'static> {
    let threads = if all { Threads::All } else { Threads::One };
    Options { threads, ..Options::default() }
}

/// The cores that these are.
fn cores(all: bool) -> usize {
    if all { parallel::available() } else { 1 }
}

/// This crate and its peers, by size.
///
/// # Errors
/// A product's.
pub fn sizes(r: &mut Recorder, sizes: &[usize]) -> Result<()> {
    for &n in sizes {
        for (threads, all) in THREADS {
            let plan = plan(r.budget, 200, 1500, 5);
            let list: ParamList = &[("n", &n), ("threads", &threads)];
            contest(r, (SIZES, SIZES_RATIO), list, Shape::square(n), (false, false), all, plan)?;
        }
    }
    Ok(())
}

/// This crate and its peers on the products of layers, by batch.
///
/// # Errors
/// A product's.
pub fn shapes(r: &mut Recorder, batches: &[usize], layers: &[(usize, usize)]) -> Result<()> {
    for &batch in batches {
        for &(inputs, outputs) in layers {
            // Y = X·W, then from G, the gradient of Y: that of W is Xᵀ·G, that of X is G·Wᵀ.
            let passes = [
                ("forward", Shape::new(batch, inputs, outputs), (false, false)),
                ("weights", Shape::new(inputs, batch, outputs), (true, false)),
                ("inputs", Shape::new(batch, outputs, inputs), (false, true)),
            ];
            for (pass, shape, turned) in passes {
                for (threads, all) in THREADS {
                    let plan = plan(r.budget, 50, 250, 11);
                    let layer = format!("{inputs}x{outputs}");
                    let list: ParamList = &[
                        ("batch", &batch),
                        ("layer", &layer),
                        ("pass", &pass),
                        ("threads", &threads),
                    ];
                    contest(r, (SHAPES, SHAPES_RATIO), list, shape, turned, all, plan)?;
                }
            }
        }
    }
    Ok(())
}

/// All threads against one, by size.
///
/// # Errors
/// A product's.
pub fn scaling(r: &mut Recorder, sizes: &[usize]) -> Result<()> {
    r.one(SCALING_THREADS.at(&[]), parallel::available() as f64);
    for &n in sizes {
        let gain = SCALING.at(&[("n", &n)]);
        r.note_at(&gain);
        let (a, b) = (numbers(n * n, 1), numbers(n * n, 2));
        let (a, b) = (MatRef::new(&a, n, n)?, MatRef::new(&b, n, n)?);
        let mut outputs = vec![vec![0.0; n * n]; THREADS.len()];
        // Small products are repeated, so that a sample is long against the clock's resolution.
        let repeat = (2e7 / Shape::square(n).operations()).ceil() as usize;
        let mut race = Race::new();
        for ((who, all), c) in THREADS.into_iter().zip(&mut outputs) {
            race.add(who, move || {
                for _ in 0..repeat {
                    sgemm(MatMut::new(black_box(&mut *c), n, n)?, a, b, on(all))?;
                }
                Ok(())
            });
        }
        let results = race.run(plan(r.budget, 100, 600, 11))?;
        r.record(gain, results.ratio("one", "all")?);
    }
    Ok(())
}

/// Products of bf16 and what they cost in digits, by size.
///
/// # Errors
/// A product's.
pub fn half_precision(r: &mut Recorder, sizes: &[usize]) -> Result<()> {
    // The rounded numbers as f32 in vectors, which every CPU can do, and the matrix unit.
    for (path, unit) in
        [("vectors", Multiplier::Vectors(Level::best())), ("amx", Multiplier::Tiles)]
    {
        for &n in sizes {
            for (threads, all) in THREADS {
                let rate = BF16.at(&[("n", &n), ("threads", &threads), ("path", &path)]);
                if !unit.available() {
                    r.skip_at(rate, unit.missing());
                    continue;
                }
                r.note_at(&rate);
                // The inputs are f32 and are rounded while they are packed: that is part of the time.
                let (a, b, mut c) = (numbers(n * n, 1), numbers(n * n, 2), vec![0.0; n * n]);
                let (a, b) = (MatRef::new(&a, n, n)?, MatRef::new(&b, n, n)?);
                let mut race = Race::new();
                race.add(path, || Ok(bgemm_on(unit, MatMut::new(&mut c, n, n)?, a, b, on(all))?));
                let results = race.run(plan(r.budget, 100, 1000, 5))?;
                let operations = Shape::square(n).operations();
                let limit = unit.peak(cores(all));
                r.record(rate.against(limit), results.rate(path, operations)?);
            }
        }
    }
    Ok(errors(r)?)
}

/// Ways to multiply bf16, by size.
///
/// # Errors
/// A product's.
pub fn pairs(r: &mut Recorder, sizes: &[usize]) -> Result<()> {
    let unit = Multiplier::Pairs;
    for &n in sizes {
        for (threads, all) in THREADS {
            let list: ParamList = &[("n", &n), ("threads", &threads)];
            if !unit.available() {
                r.skip_all(list, unit.missing());
                continue;
            }
            r.note_at(PAIRS.at(list));
            let (a, b) = (numbers(n * n, 1), numbers(n * n, 2));
            let (a, b) = (MatRef::new(&a, n, n)?, MatRef::new(&b, n, n)?);
            let [mut wide, mut narrow] = [(); 2].map(|()| vec![0.0; n * n]);
            let mut race = Race::new();
            race.add("f32", || Ok(sgemm(MatMut::new(&mut wide, n, n)?, a, b, on(all))?));
            race.add("bf16", || {
                Ok(bgemm_on(unit, MatMut::new(&mut narrow, n, n)?, a, b, on(all))?)
            });
            let results = race.run(plan(r.budget, 100, 1000, 7))?;
            let rate = results.rate("bf16", Shape::square(n).operations())?;
            r.record(PAIRS.at(list).against(unit.peak(cores(all))), rate);
            r.record(PAIRS_GAIN.at(list), results.ratio("f32", "bf16")?);
        }
    }
    Ok(())
}

/// How far products with inputs in f32 and in bf16 are from the same product in f64: the root of the mean
/// squared error over that of the mean square.
fn errors(r: &mut Recorder) -> crate::Result<()> {
    const N: usize = 256;
    let (a, b, mut c) = (numbers(N * N, 1), numbers(N * N, 2), vec![0.0; N * N]);
    let (a, b) = (MatRef::new(&a, N, N)?, MatRef::new(&b, N, N)?);
    let (exact, _) = reference::multiply(a, b);
    let norm: f64 = exact.iter().map(|x| x * x).sum();
    let error = |c: &[f32]| {
        let squares = c.iter().zip(&exact).map(|(&c, x)| (f64::from(c) - x).powi(2));
        (squares.sum::<f64>() / norm).sqrt()
    };
    sgemm(MatMut::new(&mut c, N, N)?, a, b, Options::default())?;
    let in_f32 = error(&c);
    bgemm_on(Multiplier::best(), MatMut::new(&mut c, N, N)?, a, b, Options::default())?;
    let in_bf16 = error(&c);
    for (inputs, error) in [("f32", in_f32), ("bf16", in_bf16)] {
        r.one(BF16_ERROR.at(&[("inputs", &inputs)]), error);
    }
    Ok(())
}
