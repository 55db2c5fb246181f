//! What this part measures.

use crate::bf16::{
    error::Sum,
    network::{Way, learner},
    pass,
    roofline::{Needs, bytes, products},
    update::{self, update},
};
use backprop::{
    Result,
    adam::{Adam, Factors, Moments},
    order::order,
    peers::{self, Job},
    train::{Examples, Settings, fit},
};
use half::bf16;
use lab::{
    Budget, Experiment, Key, Recorder, Samples, Unit,
    data::{self, DataSet, Options as DataOptions, Source},
    key::Quantity,
    machine,
    peak::{self, Traffic},
    random::numbers,
    record::ParamList,
};
use matmul::{Unit as Multiplier, parallel, simd::Level};
use std::{
    hint::black_box,
    path::{Path, PathBuf},
    time::Instant,
};

const OPERATIONS: Key =
    Key::counted("mixed_precision.bf16.roofline.operations", Unit::Count, &["network", "number"]);
/// The bytes of a part of a step.
pub const BYTES: Key = Key::counted(
    "mixed_precision.bf16.roofline.bytes",
    Unit::Bytes,
    &["network", "number", "part"],
);
/// Operations for each byte of a step.
pub const INTENSITY: Key = Key::calculated(
    "mixed_precision.bf16.roofline.intensity",
    Unit::Number,
    &["network", "number"],
);
/// Operations for each byte of a product.
pub const PRODUCT: Key = Key::calculated(
    "mixed_precision.bf16.roofline.product",
    Unit::Number,
    &["pass", "layer", "number"],
);
/// Operations for each byte from which on arithmetic is the limit.
pub const RIDGE: Key =
    Key::calculated("mixed_precision.bf16.roofline.ridge", Unit::Number, &["number"]);
/// The least seconds of a step.
pub const SECONDS: Key =
    Key::calculated("mixed_precision.bf16.roofline.seconds", Unit::Seconds, &["network", "number"]);
/// What bf16 gains at most.
pub const GAIN: Key =
    Key::calculated("mixed_precision.bf16.roofline.gain", Unit::Ratio, &["network"]);

/// The experiments of this part.
pub fn experiments() -> Vec<Experiment> {
    vec![
        Experiment {
            key: "mixed_precision.bf16.roofline",
            shows: "operations and bytes of a step in f32 and in bf16, and the time that the limits leave for it",
            values: &[
                OPERATIONS.name,
                BYTES.name,
                INTENSITY.name,
                PRODUCT.name,
                RIDGE.name,
                SECONDS.name,
                GAIN.name,
            ],
            quick: true,
            run: |r| {
                limits(r);
                Ok(())
            },
        },
        Experiment {
            key: "mixed_precision.bf16.error",
            shows: "how far sums of products are off with inputs in bf16, by the number of terms",
            values: &["mixed_precision.bf16.error", "mixed_precision.bf16.error.predicted"],
            quick: true,
            run: |r| {
                errors(r);
                Ok(())
            },
        },
        Experiment {
            key: "mixed_precision.bf16.walks",
            shows: "how long rounding takes beside the work that it is done with",
            values: &["mixed_precision.bf16.walks", "mixed_precision.bf16.walks.rate"],
            quick: true,
            run: |r| {
                walks(r);
                Ok(())
            },
        },
        Experiment {
            key: "mixed_precision.bf16",
            shows: "a step of 784-2048-2048-10 in f32 and in bf16, and PyTorch's (with `measure --peers`)",
            values: &[
                "mixed_precision.bf16",
                "mixed_precision.bf16.step",
                "mixed_precision.bf16.flops",
                "mixed_precision.bf16.ratio",
            ],
            quick: false,
            run: |r| Ok(race(r)?),
        },
        Experiment {
            key: "mixed_precision.bf16.accuracy",
            shows: "what training in bf16 costs in accuracy: 784-512-512-10, five seeds",
            values: &[
                "mixed_precision.bf16.accuracy",
                "mixed_precision.bf16.accuracy.loss",
                "mixed_precision.bf16.accuracy.difference",
            ],
            quick: false,
            run: |r| Ok(accuracy(r)?),
        },
    ]
}

/// The network of the race: its products are far on the arithmetic's side of the roofline.
pub const WIDE: [usize; 4] = [784, 2048, 2048, 10];
/// Pictures in its batch.
pub const BATCH: usize = 512;
/// The networks whose steps are predicted: name, sizes, batch.
pub const NETWORKS: [(&str, &[usize], usize); 2] =
    [("784-128-10", &[784, 128, 10], 128), ("784-2048-2048-10", &WIDE, BATCH)];

/// Why nothing runs on tiles here.
fn no_tiles() -> String {
    machine::why_no_amx().unwrap_or("this CPU has no AMX").to_owned()
}

fn limits(r: &mut Recorder) {
    let cores = parallel::available();
    for (number, size) in [("f32", 4.0), ("bf16", 2.0)] {
        for product in products(&WIDE, BATCH) {
            let list: ParamList =
                &[("pass", &product.pass), ("layer", &product.layer), ("number", &number)];
            let intensity = product.shape.operations() / bytes(product.shape, size);
            r.record(PRODUCT.at(list), Samples::one(intensity));
        }
    }
    let bandwidth = peak::bandwidth(Traffic::Read, cores).value;
    let peaks = [("f32", Some(peak::fma_f32(cores))), ("bf16", peak::amx_bf16(cores))];
    // What there is no unit for is left out.
    let mut known = |quantity: Quantity, found: Option<f64>| match found {
        Some(found) => {
            r.record(quantity, Samples::one(found));
        }
        None => r.skip_at(quantity, no_tiles()),
    };
    for (number, peak) in &peaks {
        let ridge = peak.as_ref().map(|peak| peak.value / bandwidth);
        known(RIDGE.at(&[("number", number)]), ridge);
    }
    for (network, sizes, batch) in NETWORKS {
        let mut seconds = Vec::new();
        for (number, peak) in &peaks {
            let needs = Needs::of(sizes, batch, *number == "bf16");
            let list: ParamList = &[("network", &network), ("number", number)];
            known(OPERATIONS.at(list), Some(needs.operations));
            known(INTENSITY.at(list), Some(needs.intensity()));
            for (part, bytes) in [
                ("products", needs.products),
                ("adam", needs.adam),
                ("conversion", needs.conversion),
            ] {
                known(BYTES.at(list).with("part", part), Some(bytes));
            }
            let bound = peak.as_ref().map(|peak| needs.seconds(peak.value, bandwidth));
            known(SECONDS.at(list), bound);
            seconds.extend(bound);
        }
        let gain = if let [wide, narrow] = seconds[..] { Some(wide / narrow) } else { None };
        known(GAIN.at(&[("network", &network)]), gain);
    }
}

/// Terms of the sums.
pub const TERMS: [usize; 7] = [1, 4, 16, 64, 256, 1024, 4096];

fn errors(r: &mut Recorder) {
    const KEY: &str = "mixed_precision.bf16.error";
    let (seeds, products) = if r.budget == Budget::Full { (5, 2_000_000) } else { (3, 200_000) };
    for sum in Sum::ALL {
        for k in TERMS {
            let list: ParamList = &[("sum", &sum.name()), ("k", &k)];
            let found = (0..seeds).map(|seed| sum.measured(k, (products / k).max(200), seed));
            r.value(KEY, list, Unit::Number, Samples(found.collect()));
            let predicted = Samples::one(sum.predicted(k as f64));
            r.value(&format!("{KEY}.predicted"), list, Unit::Number, predicted);
        }
    }
}

fn walks(r: &mut Recorder) {
    const KEY: &str = "mixed_precision.bf16.walks";
    let (threads, width) = (parallel::available(), WIDE[1]);
    let bandwidth = peak::bandwidth(Traffic::Triad, threads);
    let mut walk = |part: &str, bytes: f64, work: &mut dyn FnMut()| {
        let list: ParamList = &[("part", &part)];
        let seconds = r.seconds(KEY, list, work);
        let rate = format!("{KEY}.rate");
        r.limited(
            &rate,
            list,
            Unit::BytesPerSecond,
            Samples::one(bytes / seconds),
            Some(bandwidth.clone()),
        );
    };
    let count = width * width;
    let (mut p, g, mut moments) = (numbers(count, 1), numbers(count, 2), Moments::zeros(count));
    let f = Factors::new(&Adam::default(), 1);
    walk("adam", update::BYTES * count as f64, &mut || {
        update::<f32>(f, &mut p, &mut moments, &g, &mut [], threads);
    });
    let mut copy = vec![bf16::ZERO; count];
    walk("adam-rounding", (update::BYTES + 2.0) * count as f64, &mut || {
        update(f, &mut p, &mut moments, &g, &mut copy, threads);
    });
    let (sums, bias) = (numbers(BATCH * width, 3), numbers(width, 4));
    let mut kept = vec![bf16::ZERO; BATCH * width];
    walk("hidden", 6.0 * kept.len() as f64, &mut || {
        pass::hidden(&sums, &bias, &mut kept, threads);
        black_box(&kept);
    });
}

fn load(r: &Recorder) -> Result<DataSet> {
    Ok(data::load(&DataOptions { folder: r.data.clone(), ..DataOptions::default() })?)
}

/// A contender of the race.
pub struct Contender {
    /// Its name in the records.
    pub who: &'static str,
    /// Its name on the page.
    pub name: &'static str,
    /// This crate's way, or what PyTorch's program is told.
    by: By,
}

enum By {
    Way(fn() -> Way),
    PyTorch(&'static [&'static str]),
}

/// All of them. The first is what the others are held against.
pub const CONTENDERS: [Contender; 7] = [
    Contender {
        who: "bf16",
        name: "bf16, on tiles",
        by: By::Way(|| Way::Keeping(Multiplier::Tiles)),
    },
    Contender {
        who: "bf16-rounding",
        name: "bf16, rounded by each product, on tiles",
        by: By::Way(|| Way::Rounding(Multiplier::Tiles)),
    },
    Contender { who: "f32", name: "f32", by: By::Way(|| Way::F32) },
    Contender {
        who: "bf16-portable",
        name: "bf16, portable: f32 registers",
        by: By::Way(|| Way::Keeping(Multiplier::Vectors(Level::best()))),
    },
    Contender { who: "pytorch-f32", name: "PyTorch, f32", by: By::PyTorch(&[]) },
    Contender {
        who: "pytorch-bf16",
        name: "PyTorch, bf16 autocast",
        by: By::PyTorch(&["--autocast"]),
    },
    Contender {
        who: "pytorch-bf16-fused",
        name: "PyTorch, bf16 autocast, fused Adam",
        by: By::PyTorch(&["--autocast", "--fused"]),
    },
];

/// Seconds of one step from which a contender stays out of the race, which would take it an hour.
const TOO_LONG: f64 = 5.0;

/// Steps that are timed in each turn.
const STEPS: usize = 12;

/// Who is held against whom: the slow one, and the fast one.
const RATIOS: [(&str, &str); 6] = [
    ("f32", "bf16"),
    ("bf16-rounding", "bf16"),
    ("pytorch-f32", "bf16"),
    ("pytorch-bf16", "bf16"),
    ("pytorch-bf16-fused", "bf16"),
    ("f32", "bf16-portable"),
];

/// Runs an epoch of [`STEPS`] batches and says how long it took.
type Turn<'a> = Box<dyn FnMut(u64) -> Result<f64> + 'a>;

/// What keeps a contender out of the race.
#[derive(Debug)]
struct Absent {
    why: String,
    /// Seconds of a step, of one that takes too long.
    step: Option<f64>,
}

impl Absent {
    fn because(why: String) -> Self {
        Self { why, step: None }
    }
}

/// This crate's network.
fn ours(way: Way, train: &Examples) -> Result<Result<Turn<'_>, Absent>> {
    if let Way::Keeping(unit) | Way::Rounding(unit) = way
        && !unit.available()
    {
        return Ok(Err(Absent::because(no_tiles())));
    }
    let settings =
        Settings { sizes: WIDE.to_vec(), batch: BATCH, dropout: 0.0, ..Settings::default() };
    let mut learner = learner(settings, way)?;
    Ok(Ok(Box::new(move |round| {
        let epoch = round as usize + 1;
        let order = order(0, epoch, train.len());
        let start = Instant::now();
        learner.epoch(train, &order, epoch)?;
        Ok(start.elapsed().as_secs_f64())
    })))
}

/// PyTorch's, told `more`.
fn pytorch(more: &[&str], source: &Source, pictures: usize) -> Result<Turn<'static>, Absent> {
    let threads = parallel::available().to_string();
    let sizes = WIDE.map(|size| size.to_string()).join("-");
    let program = program();
    let (step, all) = (BATCH.to_string(), pictures.to_string());
    let told = |pictures| {
        let told = ["--threads", &threads, "--pictures", pictures, "--sizes", &sizes];
        [&told, more].concat()
    };
    // One step alone: without the instructions for it, PyTorch's bf16 takes the better part of a minute.
    let first = Job { batch: BATCH, epochs: 1, seed: 0 };
    let (_, answer) =
        peers::ready(&program, source, &told(&step), first).map_err(Absent::because)?;
    let step: f64 = answer.seconds.iter().sum();
    if step > TOO_LONG {
        let why = format!("a step takes {step:.0} s on this CPU, too long for a race");
        return Err(Absent { why, step: Some(step) });
    }
    let mut peer = peers::start(&program, source, &told(&all)).map_err(Absent::because)?;
    Ok(Box::new(move |round| {
        // The first epoch of a job builds the network and warms up.
        let answer = peer.run(Job { batch: BATCH, epochs: 3, seed: round })?;
        Ok(Samples(answer.seconds.get(1..).unwrap_or_default().to_vec()).median())
    }))
}

/// PyTorch's side of the race.
fn program() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("peers/pytorch_bf16.py")
}

/// Says of a contender why it is not there.
fn leave_out(r: &mut Recorder, who: &str, Absent { why, step }: &Absent) {
    const KEY: &str = "mixed_precision.bf16";
    let list: ParamList = &[("who", &who)];
    for key in [KEY, "mixed_precision.bf16.flops"] {
        r.skip(key, list, why);
    }
    match step {
        Some(step) => {
            r.value("mixed_precision.bf16.step", list, Unit::Seconds, Samples::one(*step));
        }
        None => r.skip("mixed_precision.bf16.step", list, why),
    }
    for (slow, fast) in RATIOS.iter().filter(|(slow, fast)| *slow == who || *fast == who) {
        let list: ParamList = &[("slow", slow), ("fast", fast)];
        r.skip("mixed_precision.bf16.ratio", list, why);
    }
}

/// Turns of all that can run here; the rest are skipped.
fn race(r: &mut Recorder) -> Result<()> {
    const KEY: &str = "mixed_precision.bf16";
    let data = load(r)?;
    let mut train = Examples::of(&data.train);
    train.labels.truncate(STEPS * BATCH);
    train.pixels.truncate(train.labels.len() * train.width);
    let mut running: Vec<(&str, Turn, Vec<f64>)> = Vec::new();
    for Contender { who, by, .. } in &CONTENDERS {
        let turn = match by {
            By::Way(way) => ours(way(), &train)?,
            By::PyTorch(more) => pytorch(more, &data.source, train.len()),
        };
        match turn {
            Ok(turn) => running.push((who, turn, Vec::new())),
            Err(absent) => leave_out(r, who, &absent),
        }
    }
    for round in 0..8 {
        for (who, turn, seconds) in &mut running {
            r.note(KEY, &[("round", &round), ("who", who)]);
            let time = turn(round)?;
            if round > 0 {
                seconds.push(time); // the first turn meets memory that the system has yet to give
            }
        }
    }
    let found: Vec<(&str, Samples)> =
        running.into_iter().map(|(who, _, seconds)| (who, Samples(seconds))).collect();
    record(r, &found, train.len());
    Ok(())
}

/// What the race has found: rates, and who takes how many times as long as whom.
fn record(r: &mut Recorder, found: &[(&str, Samples)], pictures: usize) {
    const KEY: &str = "mixed_precision.bf16";
    let cores = parallel::available();
    let steps = pictures.div_ceil(BATCH) as f64;
    let operations = Needs::of(&WIDE, BATCH, true).operations * pictures as f64 / BATCH as f64;
    for (who, seconds) in found {
        let list: ParamList = &[("who", who)];
        r.value(KEY, list, Unit::ImagesPerSecond, seconds.map(|s| pictures as f64 / s));
        r.value("mixed_precision.bf16.step", list, Unit::Seconds, seconds.map(|s| s / steps));
        let tiles =
            matches!(*who, "bf16" | "bf16-rounding" | "pytorch-bf16" | "pytorch-bf16-fused");
        let limit = if tiles { peak::amx_bf16(cores) } else { None };
        let limit = limit.unwrap_or_else(|| peak::fma_f32(cores));
        let rate = seconds.map(|s| operations / s);
        let key = "mixed_precision.bf16.flops";
        r.limited(key, list, Unit::FlopsPerSecond, rate, Some(limit));
    }
    let of = |name: &str| found.iter().find(|(who, _)| *who == name).map(|(_, seconds)| seconds);
    for (slow, fast) in RATIOS {
        if let (Some(a), Some(b)) = (of(slow), of(fast)) {
            let list: ParamList = &[("slow", &slow), ("fast", &fast)];
            let ratios = a.paired(b, |a, b| a / b);
            r.value("mixed_precision.bf16.ratio", list, Unit::Ratio, ratios);
        }
    }
}

/// The network whose accuracy is compared: small enough that all runs together take minutes on two cores.
const SMALLER: [usize; 4] = [784, 512, 512, 10];

fn accuracy(r: &mut Recorder) -> Result<()> {
    const KEY: &str = "mixed_precision.bf16.accuracy";
    let data = load(r)?;
    let (train, tested) = (Examples::of(&data.train), Examples::of(&data.test));
    let source = data.source.name();
    let ways = [("f32", Way::F32), ("bf16", Way::Keeping(Multiplier::best()))];
    let mut found = [Vec::new(), Vec::new()];
    let mut losses = [Vec::new(), Vec::new()];
    let epochs = 8;
    for seed in 0..5 {
        for ((way, found), losses) in ways.iter().zip(&mut found).zip(&mut losses) {
            r.note(KEY, &[("seed", &seed), ("number", &way.0)]);
            let (sizes, batch) = (SMALLER.to_vec(), 128);
            let settings =
                Settings { sizes, batch, epochs, dropout: 0.0, seed, ..Settings::default() };
            let mut learner = learner(settings.clone(), way.1)?;
            let history = fit(&mut *learner, (&train, &tested), &settings, |_| {})?;
            found.push(history.last().map_or(f64::NAN, |epoch| epoch.accuracy));
            losses.push(history.last().map_or(f64::NAN, |epoch| epoch.loss));
        }
    }
    let apart = found[1].iter().zip(&found[0]).map(|(narrow, wide)| narrow - wide).collect();
    let list: ParamList = &[("data", &source), ("epochs", &epochs)];
    r.value(&format!("{KEY}.difference"), list, Unit::Share, Samples(apart));
    for ((way, found), losses) in ways.into_iter().zip(found).zip(losses) {
        let unit = Multiplier::best().name();
        let list: ParamList =
            &[("number", &way.0), ("data", &source), ("epochs", &epochs), ("unit", &unit)];
        r.value(KEY, list, Unit::Share, Samples(found));
        r.value(&format!("{KEY}.loss"), list, Unit::Number, Samples(losses));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use lab::{Device, progress::Progress, record::Value};

    fn values(key: &str) -> (Vec<Value>, usize) {
        let experiment = experiments().into_iter().find(|e| e.key == key).unwrap();
        let progress = Progress::hidden();
        let mut rec = Recorder::new(&experiment, Budget::Quick, Device::Cpu, &progress);
        (experiment.run)(&mut rec).unwrap();
        let (values, skipped) = rec.finish();
        (values, skipped.len())
    }

    #[test]
    fn the_wide_network_gains_more_than_the_small_one_where_there_are_tiles() {
        let (values, skipped) = values("mixed_precision.bf16.roofline");
        let gain: Vec<f64> = values
            .iter()
            .filter(|v| v.key == "mixed_precision.bf16.roofline.gain")
            .map(|v| v.median)
            .collect();
        match gain[..] {
            [small, wide] => assert!(wide > small && small > 0.5, "{gain:?}"),
            _ => assert!(!Multiplier::Tiles.available() && skipped > 0),
        }
        let operations =
            values.iter().filter(|v| v.key == "mixed_precision.bf16.roofline.operations");
        assert_eq!(operations.count(), 4);
    }

    #[test]
    fn errors_stay_close_to_what_was_predicted() {
        let (values, _) = values("mixed_precision.bf16.error");
        for pair in values.chunks_exact(2) {
            let ratio = pair[0].median / pair[1].median;
            assert!((0.7..1.4).contains(&ratio), "{pair:?}");
        }
        assert_eq!(values.len(), 2 * Sum::ALL.len() * TERMS.len());
    }

    #[test]
    fn contenders_that_cannot_run_say_why() {
        let train = Examples::of(&data::drawn(10, 1, 1).train);
        for contender in &CONTENDERS {
            let turn = match contender.by {
                By::Way(way) => ours(way(), &train).unwrap(),
                By::PyTorch(more) => pytorch(more, &Source::Drawn, 10),
            };
            let why = turn.err().map(|absent| absent.why);
            match contender.who {
                "f32" | "bf16-portable" => assert_eq!(why, None),
                "bf16" | "bf16-rounding" => {
                    assert_eq!(why.is_none(), Multiplier::Tiles.available());
                }
                _ => assert!(why.is_some_and(|why| why.contains("--peers"))),
            }
        }
        assert!(program().is_file());
    }
}
