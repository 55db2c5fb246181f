//! PyTorch on this machine's NVIDIA GPU (`measure --peers`): what a training is made of, and chapter 4's models beside
//! `train`, taking turns.

use super::engine::models::{pictures, settings, train};
use backprop::measured::{
    peers::{self, Answer, Job, Peer},
    race::{self, Keys, OURS},
};
use cpu_gpu::{gpu, measured::experiments::devices::why_missing};
use lab::{
    Budget, Device, Experiment, Race, Recorder, Result, Samples, data::DataSet, key::Quantity,
    record::ParamList,
};
use serde::{Deserialize, Serialize};
use std::{cell::RefCell, path::PathBuf};
use training::{EngineKind, Model};

lab::keys! {
    /// Operations a second.
    pub RATE: measured "performance.gpu.pytorch", FlopsPerSecond, ["what", "type", "n", "head", "version"];
    /// Bytes a second, of a gibibyte: read and written on the device, or carried to it.
    COPY: measured "performance.gpu.pytorch.copy", BytesPerSecond, ["what", "type", "n", "head", "version"];
}
/// What the race of the models records.
pub const KEYS: Keys = backprop::race_keys!(
    "performance.gpu.models",
    &["model", "batch", "who", "version", "threads"]
);

/// The experiments of this file.
pub fn experiments() -> Vec<Experiment> {
    lab::experiments! {
        full RATE.name => &[RATE, COPY], parts,
            "PyTorch's products, copies, attention and LU on an NVIDIA GPU (with `measure --peers`)";
        full KEYS.seconds.name => &KEYS.all, models,
            "chapter 4's models on an NVIDIA GPU: `train` beside PyTorch (with `measure --peers`)";
    }
}

/// Why PyTorch has nothing to compute on here, if so.
pub fn no_gpu() -> Option<String> {
    let devices = gpu::devices();
    let there = devices.found.iter().any(|about| about.id == "cuda");
    (!there).then(|| why_missing(&devices, "cuda"))
}

/// Where a program of PyTorch's is.
pub fn program(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("peers").join(name)
}

/// What `pytorch_gpu.py` is asked for.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Work {
    /// The operation.
    pub what: &'static str,
    /// Its numbers' format, or which way it is done.
    #[serde(rename = "type")]
    pub kind: &'static str,
    /// The side of its matrices, its bytes, or the length of a sequence.
    pub n: usize,
    /// The width of a head of attention.
    pub head: usize,
    /// Attention's gradient too.
    pub backward: bool,
}

/// What it replies.
#[derive(Debug, Deserialize)]
pub struct Timed {
    /// Of each time that it was done.
    pub seconds: Vec<f64>,
    /// PyTorch's version.
    pub framework: String,
}

impl Work {
    /// One that is none of attention's.
    pub const fn new(what: &'static str, kind: &'static str, n: usize) -> Self {
        Self { what, kind, n, head: 0, backward: false }
    }

    /// All of them, in the order of their worth.
    pub fn all() -> Vec<Self> {
        let each = |what, kinds: &[&'static str], sizes: &[usize]| -> Vec<Self> {
            let of = |kind| sizes.iter().map(move |&n| Self::new(what, kind, n));
            kinds.iter().copied().flat_map(of).collect()
        };
        let attention = each("attention", &["flash", "cudnn"], &[256, 1024, 4096]);
        let attention = attention.into_iter().flat_map(|work| {
            [(64, false), (64, true), (32, false), (32, true)].map(|(head, backward)| Self {
                head,
                backward,
                ..work
            })
        });
        [
            each("product", &["f32", "tf32", "bf16"], &[512, 1024, 2048, 4096, 8192]),
            each("copy", &["device", "pinned", "pageable"], &[1 << 30]),
            attention.collect(),
            each("lu", &["f32"], &[2048, 4096, 8192]),
        ]
        .concat()
    }

    /// Its operations, or the bytes that it moves.
    pub fn amount(self) -> f64 {
        let n = self.n as f64;
        match (self.what, self.kind) {
            ("product", _) => 2.0 * n.powi(3),
            ("lu", _) => 2.0 / 3.0 * n.powi(3),
            ("copy", "device") => 2.0 * n,
            ("copy", _) => n,
            // Two products of n×n scores for each head, of which causal attention needs half; five more backward.
            _ => 2.0 * 16_384.0 * 768.0 * n * if self.backward { 3.5 } else { 1.0 },
        }
    }

    fn quantity(self) -> Quantity {
        let key = if self.what == "copy" { COPY } else { RATE };
        let what = if self.backward { "attention-and-backward" } else { self.what };
        let at = key.at(&[("what", &what), ("type", &self.kind), ("n", &self.n)]);
        if self.head > 0 { at.with("head", self.head) } else { at }
    }
}

fn parts(r: &mut Recorder) -> Result<()> {
    let asked = || peers::python().ok_or_else(|| peers::NOT_ASKED.to_owned());
    let started = no_gpu().map_or_else(asked, Err).and_then(|python| {
        let program = program("pytorch_gpu.py").to_string_lossy().into_owned();
        Peer::start(python, &[&program]).map_err(|error| error.to_string())
    });
    match started {
        Ok(mut peer) => each(r, &Work::all(), |work| peer.answer(&work)),
        Err(why) => {
            r.skip_all(&[], why);
            Ok(())
        }
    }
}

/// Records what `ask` replies to each; one that can't be done costs no other.
///
/// # Errors
/// If the record can't be written.
pub fn each(
    r: &mut Recorder,
    works: &[Work],
    mut ask: impl FnMut(Work) -> Result<Timed, String>,
) -> Result<()> {
    for work in works {
        let quantity = work.quantity();
        r.note_at(&quantity);
        match ask(*work) {
            Err(why) => r.skip_at(quantity, format!("PyTorch {why}")),
            Ok(Timed { seconds, framework }) => {
                let rate = Samples(seconds).map(|seconds| work.amount() / seconds);
                r.record(quantity.with("version", framework), rate);
                r.keep()?;
            }
        }
    }
    Ok(())
}

/// The batches of the race, and the steps of an epoch: as many in each batch.
const BATCHES: [usize; 3] = [32, 128, 2048];
const STEPS: usize = 29;
/// Epochs of a run. The first one warms up.
const EPOCHS: usize = 3;
/// Models that are also compiled, at one batch: to compile takes longer than all else here.
const COMPILED: ([Model; 3], usize) = ([Model::Mlp, Model::Cnn, Model::Transformer], 128);

/// The job of chapter 3, and what `pytorch_models.py` else is told.
#[derive(Serialize)]
pub struct ModelJob {
    #[serde(flatten)]
    /// Chapter 3's.
    pub job: Job,
    /// The model's name.
    pub model: &'static str,
    /// The most images that it trains on.
    pub limit: usize,
    /// Whether an image's channels come last in memory.
    pub channels_last: bool,
    /// Whether `torch.compile` makes the model's kernels.
    pub compile: bool,
}

/// PyTorch's ways to train a model.
fn ways(model: Model) -> impl Iterator<Item = (&'static str, bool, bool)> {
    let last = pictures(model).then_some(("pytorch-nhwc", true, false));
    [("pytorch", false, false)].into_iter().chain(last)
}

fn models(r: &mut Recorder) -> Result<()> {
    if let Some(why) = no_gpu() {
        r.skip_all(&[], why);
        return Ok(());
    }
    let data = r.data_set()?;
    let peer = peers::start(&program("pytorch_models.py"), &data.source, &["--device", "cuda"]);
    let peer = peer.map(RefCell::new);
    let seeds = if r.budget == Budget::Full { 2 } else { 1 };
    for model in Model::ALL {
        for batch in BATCHES {
            let ways: Vec<_> = ways(model).collect();
            let who: Vec<_> = [OURS].into_iter().chain(ways.iter().map(|way| way.0)).collect();
            one(r, (model, batch), (&ways, &who), (&data, seeds), &peer)?;
        }
    }
    let (models, batch) = COMPILED;
    for model in models {
        let way = ("pytorch-compiled", pictures(model), true);
        one(r, (model, batch), (&[way], &[way.0]), (&data, seeds), &peer)?;
    }
    Ok(())
}

/// One race of `train` and PyTorch, of which the contenders `who` are recorded.
fn one(
    r: &mut Recorder,
    (model, batch): (Model, usize),
    (ways, who): (&[(&'static str, bool, bool)], &[&str]),
    (data, seeds): (&DataSet, usize),
    peer: &Result<RefCell<Peer>, String>,
) -> Result<()> {
    let limit = (STEPS * batch).min(data.train.len());
    let data = DataSet { train: data.train.first(limit), ..data.clone() };
    let list: ParamList = &[("model", &model), ("batch", &batch)];
    let warm = |mut answer: Answer| {
        answer.seconds.drain(..answer.seconds.len().min(1));
        answer
    };
    let mut race = Race::default();
    race.peer(
        OURS,
        Ok(|seed| {
            let settings = settings(EngineKind::Fast, (model, batch), seed, EPOCHS);
            Ok(warm(train(settings, Device::Cuda(0), &data)?))
        }),
    );
    for &(who, channels_last, compile) in ways {
        let peer = peer.as_ref().map_err(|why| lab::Error::message(why.clone()));
        let turn = peer.map(|peer| {
            move |seed| {
                let job = Job { batch, epochs: EPOCHS, seed: seed as u64 };
                let model = model.name();
                let job = ModelJob { job, model, limit, channels_last, compile };
                let answer = peer.borrow_mut().answer(&job);
                answer.map(warm).map_err(|why| lab::Error::message(format!("PyTorch {why}")))
            }
        });
        race.peer(who, turn);
    }
    r.note_at(KEYS.seconds.at(list));
    let results = race.rounds(seeds)?;
    race::record(r, &KEYS, list, who.iter().copied(), (&results, limit))?;
    r.keep()
}
