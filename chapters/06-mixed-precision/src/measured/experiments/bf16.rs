//! What this part measures.

use crate::bf16::{
    error::Sum,
    roofline::{Needs, bytes, products},
};
use backprop::{
    order::order,
    peers::{self, Job},
    train::{Examples, Settings, fit},
};
use lab::{
    Budget, Experiment, Key, Plan, Race, Recorder, Result, Samples,
    data::Source,
    key::Quantity,
    peak::{self, Traffic},
    record::ParamList,
};
use matmul::{Unit as Multiplier, parallel};
use performance::{engine::program::Numbers, ladder::reading};
use std::time::Instant;
lab::keys! {
    /// The bytes of a part of a step.
    BYTES: counted "mixed_precision.bf16.roofline.bytes", Bytes, ["network", "number", "part"];
    /// Operations for each byte of a step.
    INTENSITY: calculated "mixed_precision.bf16.roofline.intensity", Number, ["network", "number"];
    /// Operations for each byte of a product.
    pub PRODUCT: calculated "mixed_precision.bf16.roofline.product", Number, ["pass", "layer", "number"];
    /// Operations per byte above which arithmetic is the limit.
    pub RIDGE: calculated "mixed_precision.bf16.roofline.ridge", Number, ["number"];
    /// The least seconds of a step.
    SECONDS: calculated "mixed_precision.bf16.roofline.seconds", Seconds, ["network", "number"];
    /// What bf16 gains at most.
    pub GAIN: calculated "mixed_precision.bf16.roofline.gain", Ratio, ["network"];
    /// How far a sum is off.
    pub ERROR: counted "mixed_precision.bf16.error", Number, ["sum", "k"];
    ERROR_PREDICTED: calculated "mixed_precision.bf16.error.predicted", Number, ["sum", "k"];
    /// Images a second of the race.
    RATE: measured "mixed_precision.bf16.race", ImagesPerSecond, ["who"];
    /// How many times as long the slow one takes.
    RATIO: measured "mixed_precision.bf16.race.ratio", Ratio, ["slow", "fast"];
    /// Test accuracy.
    pub RIGHT: measured "mixed_precision.bf16.accuracy", Share, ["number", "data", "epochs", "unit"];
    /// The training loss.
    pub LOSS: measured "mixed_precision.bf16.accuracy.loss", Number, ["number", "data", "epochs", "unit"];
    /// What bf16 changes in the accuracy, seed by seed.
    pub DIFFERENCE: measured "mixed_precision.bf16.accuracy.difference", Share, ["data", "epochs"];
}

/// The experiments of this part.
pub fn experiments() -> Vec<Experiment> {
    lab::experiments! {
        quick "mixed_precision.bf16.roofline" => &[BYTES, INTENSITY, PRODUCT, RIDGE, SECONDS, GAIN], |r| {
                limits(r);
                Ok(())
            },
            "operations and bytes of a step in f32 and in bf16, and the time that the limits leave for it";
        quick ERROR.name => &[ERROR, ERROR_PREDICTED], |r| {
                errors(r);
                Ok(())
            },
            "how far sums of products are off with inputs in bf16, by the number of terms";
        full RATE.name => &[RATE, RATIO], race,
            "a step of 784-2048-2048-10 by the engine in f32 and in bf16, and PyTorch's (with `measure --peers`)";
        full RIGHT.name => &[RIGHT, LOSS, DIFFERENCE], accuracy,
            "what training in bf16 costs in accuracy: 784-512-512-10, five seeds";
    }
}

/// The network of the race: its products are far on the arithmetic's side of the roofline.
pub const WIDE: [usize; 4] = [784, 2048, 2048, 10];
/// Images in its batch.
pub const BATCH: usize = 512;
/// The networks whose steps are predicted: name, sizes, batch.
const NETWORKS: [(&str, &[usize], usize); 2] =
    [("784-128-10", &[784, 128, 10], 128), ("784-2048-2048-10", &WIDE, BATCH)];

/// Why nothing multiplies bf16 here.
fn no_unit() -> String {
    format!("{}, and no AVX512-BF16", Multiplier::Tiles.missing())
}

fn limits(r: &mut Recorder) {
    let cores = parallel::available();
    for (number, size) in [("f32", 4.0), ("bf16", 2.0)] {
        for product in products(&WIDE, BATCH) {
            let list: ParamList =
                &[("pass", &product.pass), ("layer", &product.layer), ("number", &number)];
            let intensity = product.shape.operations() / bytes(product.shape, size);
            r.one(PRODUCT.at(list), intensity);
        }
    }
    let bandwidth = peak::bandwidth(Traffic::Read, cores).value;
    let of_bf16 = Multiplier::of_bf16().map(|unit| unit.peak(cores));
    let peaks = [("f32", Some(peak::fma_f32(cores))), ("bf16", of_bf16)];
    // A format without a unit is left out.
    let mut known = |quantity: Quantity, found: Option<f64>| match found {
        Some(found) => {
            r.one(quantity, found);
        }
        None => r.skip_at(quantity, no_unit()),
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
    let (seeds, products) = if r.budget == Budget::Full { (5, 2_000_000) } else { (3, 200_000) };
    for sum in Sum::ALL {
        for k in TERMS {
            let list: ParamList = &[("sum", &sum.name()), ("k", &k)];
            let found = (0..seeds).map(|seed| sum.measured(k, (products / k).max(200), seed));
            r.record(ERROR.at(list), Samples(found.collect()));
            r.one(ERROR_PREDICTED.at(list), sum.predicted(k as f64));
        }
    }
}

/// A contender of the race.
pub struct Contender {
    /// Its name in the records.
    pub who: &'static str,
    /// What the engine's products read, or the options of PyTorch's program.
    by: By,
}

enum By {
    Engine(Numbers),
    PyTorch(&'static [&'static str]),
}

/// All of them. The others are compared with the first.
pub const CONTENDERS: [Contender; 5] = [
    Contender { who: "bf16", by: By::Engine(Numbers::Bf16) },
    Contender { who: "f32", by: By::Engine(Numbers::F32) },
    Contender { who: "pytorch-f32", by: By::PyTorch(&[]) },
    Contender { who: "pytorch-bf16", by: By::PyTorch(&["--autocast"]) },
    Contender { who: "pytorch-bf16-fused", by: By::PyTorch(&["--autocast", "--fused"]) },
];

/// Steps that are timed in each turn.
const STEPS: usize = 12;

/// The pairs that are compared: the slow one, and the fast one.
const RATIOS: [(&str, &str); 4] = [
    ("f32", "bf16"),
    ("pytorch-f32", "bf16"),
    ("pytorch-bf16", "bf16"),
    ("pytorch-bf16-fused", "bf16"),
];

/// Runs an epoch of `STEPS` batches, given how many it ran before, and returns the seconds.
pub type Turn<'t> = Box<dyn FnMut(usize) -> Result<f64> + 't>;

impl Contender {
    /// Its turns with these examples, as many as `STEPS` need.
    ///
    /// # Errors
    /// If the network can't be made. The inner error says what keeps the contender out.
    pub fn turn<'t>(&self, set: &'t Examples, source: &Source) -> Result<Result<Turn<'t>, String>> {
        match self.by {
            By::Engine(numbers) => Ok(Ok(ours(numbers, set)?)),
            By::PyTorch(more) => Ok(pytorch(more, source, set.len())),
        }
    }
}

/// The engine's.
fn ours(numbers: Numbers, train: &Examples) -> Result<Turn<'_>> {
    let settings =
        Settings { sizes: WIDE.to_vec(), batch: BATCH, dropout: 0.0, ..Settings::default() };
    let mut learner = reading(settings, numbers)?;
    Ok(Box::new(move |turns| {
        let epoch = turns + 1;
        let order = order(0, epoch, train.len());
        let start = Instant::now();
        learner.epoch(train, &order, epoch)?;
        Ok(start.elapsed().as_secs_f64())
    }))
}

/// PyTorch's, with the options `more`.
fn pytorch(more: &[&str], source: &Source, images: usize) -> Result<Turn<'static>, String> {
    let threads = parallel::available().to_string();
    let sizes = WIDE.map(|size| size.to_string()).join(",");
    let program = peers::folder().join("pytorch.py");
    let (step, all) = (BATCH.to_string(), images.to_string());
    let told = |images| {
        let told = ["--threads", &threads, "--sizes", &sizes, "--dropout", "0", "--limit", images];
        [&told, more].concat()
    };
    // One step alone shows how long all take.
    let first = Job { batch: BATCH, epochs: 1, seed: 0 };
    let (_, answer) = peers::ready(&program, source, &told(&step), first)?;
    peers::in_time(answer.seconds.iter().sum())?;
    let mut peer = peers::start(&program, source, &told(&all))?;
    Ok(Box::new(move |turns| {
        // The first epoch of a job builds the network and warms up.
        let answer = peer.run(Job { batch: BATCH, epochs: 3, seed: turns as u64 })?;
        Ok(Samples(answer.seconds.get(1..).unwrap_or_default().to_vec()).median())
    }))
}

/// Seven turns of each, after one that runs on memory that the system has yet to map.
const TURNS: Plan = Plan::times(7);

/// Turns of all that can run here; the rest are skipped.
fn race(r: &mut Recorder) -> Result<()> {
    let data = r.data_set()?;
    let mut train = Examples::of(&data.train);
    train.labels.truncate(STEPS * BATCH);
    train.pixels.truncate(train.labels.len() * train.width);
    let results = {
        let tell = |round, who: &str| r.note(RATE.name, &[("round", &round), ("who", &who)]);
        let mut race = Race::new().telling(tell);
        for contender in &CONTENDERS {
            match contender.turn(&train, &data.source)? {
                Ok(turn) => race.turn(contender.who, turn),
                Err(why) => race.skip(contender.who, why),
            }
        }
        race.run(TURNS)?
    };
    for Contender { who, .. } in &CONTENDERS {
        r.record_or_skip(RATE.at(&[("who", who)]), results.rate(who, train.len() as f64))?;
    }
    for (slow, fast) in RATIOS {
        let ratio = RATIO.at(&[("slow", &slow), ("fast", &fast)]);
        r.record_or_skip(ratio, results.ratio(slow, fast))?;
    }
    Ok(())
}

/// The network whose accuracy is compared: small enough that all runs together take minutes on two cores.
const SMALLER: [usize; 4] = [784, 512, 512, 10];

fn accuracy(r: &mut Recorder) -> Result<()> {
    let data = r.data_set()?;
    let (train, tested) = (Examples::of(&data.train), Examples::of(&data.test));
    let epochs = 8;
    let ways = [("f32", Numbers::F32), ("bf16", Numbers::Bf16)];
    let results = {
        let tell = |seed, number: &str| r.note(RIGHT.name, &[("seed", &seed), ("number", &number)]);
        let mut race = Race::default().telling(tell);
        for (number, way) in ways {
            let (train, tested) = (&train, &tested);
            race.turn(number, move |seed| {
                let (sizes, batch, seed) = (SMALLER.to_vec(), 128, seed as u64);
                let settings =
                    Settings { sizes, batch, epochs, dropout: 0.0, seed, ..Settings::default() };
                let mut learner = reading(settings.clone(), way)?;
                let history = fit(&mut *learner, (train, tested), &settings, |_| {})?;
                Ok(history.last().map_or((f64::NAN, f64::NAN), |last| (last.accuracy, last.loss)))
            });
        }
        race.rounds(5)?
    };
    let list: ParamList = &[("data", &data.source.name()), ("epochs", &epochs)];
    let right = results.map(|(right, _)| *right);
    let apart = right.samples("bf16")?.paired(&right.samples("f32")?, |narrow, wide| narrow - wide);
    r.record(DIFFERENCE.at(list), apart);
    for (number, _) in ways {
        let unit = Multiplier::best().name();
        let of = |key: Key| key.at(list).with("number", number).with("unit", unit);
        r.record(of(RIGHT), right.samples(number)?);
        r.record(of(LOSS), results.map(|(_, loss)| *loss).samples(number)?);
    }
    Ok(())
}
