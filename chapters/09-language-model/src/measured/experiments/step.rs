//! A whole training step: its tokens a second, its share of the peak, beside PyTorch from the same weights on the same
//! batches, and whether both lose alike.

use super::count::{BATCH, SIZES};
use crate::{
    Config, Model,
    count::{Operations, Parameters, near, optimal},
    product::Numbers,
    train::{Settings, Trainer, batches, schedule},
};
use backprop::{
    check::error_f32,
    measured::peers::{self, Peer},
};
use lab::{
    Budget, Experiment, Key, Race, Recorder, Samples, peak, random::SplitMix64, record::ParamList,
};
use matmul::parallel::available;
use multi_gpu::split::equality::largest;
use serde::{Deserialize, Serialize};
use std::{
    collections::BTreeMap,
    env, fs,
    path::{Path, PathBuf},
    time::Instant,
};

lab::keys! {
    /// Tokens a second.
    pub RATE: measured "language_model.step", TokensPerSecond, ["size", "who", "version", "threads"];
    /// Operations a second of this course's step, beside the peak.
    pub FLOPS: measured "language_model.step.flops", FlopsPerSecond, ["size", "threads"];
    /// Over the time of this course's step.
    pub RATIO: measured "language_model.step.ratio", Ratio, ["size", "who"];
    /// The largest difference of the losses over a run of [`STEPS`].
    pub DIFFERENCE: measured "language_model.step.difference", Number, ["size", "steps"];
    /// How far the first step's gradient is from the peer's, over its length.
    pub GRADIENT: measured "language_model.step.gradient", Number, ["size"];
    /// Parameters that make the best of ten minutes at this rate, by the published ratio, and their tokens.
    pub OPTIMAL: calculated "language_model.step.optimal", Count, ["of"];
}

/// Steps over which losses are compared.
pub const STEPS: u64 = 100;
/// Seconds of the budget for which the best size is calculated.
pub const BUDGET: f64 = 600.0;
/// This course's name in the records.
pub const OURS: &str = "ours";
/// Its ways: name, and what the products multiply.
const WAYS: [(&str, Numbers); 2] = [(OURS, Numbers::F32), ("ours-bf16", Numbers::Bf16)];
/// PyTorch's program.
pub const PROGRAM: &str = "pytorch_gpt.py";
/// Its ways: name, and the options that the peer is given.
pub const PEERS: [(&str, &[&str]); 3] =
    [("pytorch", &[]), ("pytorch-compiled", &["--compile"]), ("pytorch-bf16", &["--bf16"])];

/// The experiments of this file.
pub fn experiments() -> Vec<Experiment> {
    lab::experiments! {
        full RATE.name => &[RATE, FLOPS, RATIO, DIFFERENCE, GRADIENT, OPTIMAL], |r| Ok(run(r)?),
            "a training step of the chapter's transformer, beside PyTorch's from the same weights";
    }
}

/// What the peer is told.
#[derive(Serialize)]
pub struct Job {
    /// The model's file.
    pub model: PathBuf,
    /// Tokens and targets of each step.
    pub batches: PathBuf,
    batch: usize,
    length: usize,
    steps: usize,
    /// The learning rate of each step.
    pub rates: Vec<f64>,
    clip: f64,
    decay: f64,
    beta1: f64,
    beta2: f64,
    eps: f64,
    gradient: PathBuf,
    /// Options of this job alone: `bf16`.
    #[serde(flatten)]
    options: BTreeMap<&'static str, bool>,
}

/// What it replies.
#[derive(Clone, Debug, Default, Deserialize)]
pub struct Answer {
    /// Of each step.
    pub losses: Vec<f64>,
    /// Of each step.
    pub seconds: Vec<f64>,
    /// The library and its version.
    pub framework: String,
}

/// A stream with something to learn: each token follows from the one before, but for one in four.
pub fn stream(vocabulary: usize, len: usize) -> Vec<u32> {
    let mut random = SplitMix64::new(11);
    let mut token = 0;
    let mut next = || {
        token = if random.below(4) == 0 { random.below(vocabulary) } else { token * 5 + 1 };
        token %= vocabulary;
        token as u32
    };
    (0..len).map(|_| next()).collect()
}

/// A model, its settings and its stream: a run that both sides can make.
pub struct Case {
    config: Config,
    settings: Settings,
    /// The tokens that it learns from.
    pub stream: Vec<u32>,
}

impl Case {
    /// A run of `steps` steps of a model.
    pub fn new(config: Config, batch: usize, steps: u64) -> Self {
        let settings = Settings {
            batch,
            length: config.context,
            steps,
            lr: 1e-3,
            warmup: steps / 10,
            ..Settings::default()
        };
        Self { config, settings, stream: stream(config.vocabulary, 200_000) }
    }

    /// This course's trainer at the beginning of the run.
    ///
    /// # Errors
    /// As [`Trainer::new`].
    pub fn trainer(&self) -> crate::Result<Trainer> {
        self.of(Numbers::F32)
    }

    /// The same with other numbers.
    fn of(&self, numbers: Numbers) -> crate::Result<Trainer> {
        let settings = Settings { numbers, ..self.settings };
        Trainer::new(Model::new(self.config, 1)?, settings, &self.stream, 0)
    }

    /// The peer's job, with its files in `folder`: the model of the beginning and the batches of the run.
    ///
    /// # Errors
    /// If a file can't be written.
    pub fn job(&self, folder: &Path, steps: u64, options: &[&'static str]) -> crate::Result<Job> {
        let io = |path: &Path, error| lab::Error::io(path, error);
        let Settings { batch, length, clip, rule, .. } = self.settings;
        let model = folder.join("model.safetensors");
        Model::new(self.config, 1)?.save(&model)?;
        let mut bytes = Vec::new();
        for step in 0..steps {
            let [tokens, targets] = batches::batch(&self.settings, step, &self.stream)?;
            bytes.extend(tokens.iter().chain(&targets).flat_map(|token| token.to_le_bytes()));
        }
        let batches = folder.join("batches.u32");
        fs::write(&batches, bytes).map_err(|error| io(&batches, error))?;
        Ok(Job {
            model,
            batches,
            batch,
            length,
            steps: steps as usize,
            rates: (0..steps).map(|step| schedule::rate(&self.settings, step)).collect(),
            clip,
            decay: rule.decay,
            beta1: rule.beta1,
            beta2: rule.beta2,
            eps: rule.eps,
            gradient: folder.join("gradient.f32"),
            options: options.iter().map(|option| (*option, true)).collect(),
        })
    }
}

/// A program of PyTorch's, started, or why it does not take part.
///
/// # Errors
/// Why it does not run.
pub fn asked(program: &str, options: &[&str]) -> Result<Peer, String> {
    start(peers::python().ok_or(peers::NOT_ASKED)?, program, options)
}

/// A program of PyTorch's, started by this Python.
///
/// # Errors
/// Why it does not start, as a clause.
pub fn start(python: &str, program: &str, options: &[&str]) -> Result<Peer, String> {
    let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("peers").join(program);
    let (program, threads) = (program.to_string_lossy(), available().to_string());
    let mut arguments = vec![&*program, "--threads", &threads];
    arguments.extend(options);
    Peer::start(python, &arguments).map_err(|error| error.to_string())
}

fn run(r: &mut Recorder) -> crate::Result<()> {
    let threads = available();
    for (size, config) in SIZES {
        let case = Case::new(config(), BATCH, STEPS);
        let list: ParamList = &[("size", &size)];
        r.note_at(RATE.at(list));
        let folder = tempfile::tempdir().map_err(|e| lab::Error::io(&env::temp_dir(), e))?;
        race(r, &case, list, folder.path(), threads)?;
    }
    Ok(())
}

/// Both sides take turns of a few steps; then PyTorch makes the whole run, and the losses are compared.
fn race(
    r: &mut Recorder,
    case: &Case,
    list: ParamList,
    folder: &Path,
    threads: usize,
) -> crate::Result<()> {
    let (rounds, steps) = if r.budget == Budget::Full { (7, 5) } else { (2, 2) };
    let mut ours = WAYS.map(|(who, numbers)| (who, case.of(numbers)));
    // One step alone shows how long all take.
    let one = &case.job(folder, 1, &[])?;
    let mut peers = PEERS.map(|(who, options)| (who, ready(options, one)));
    let short = &case.job(folder, steps, &[])?;
    let mut versions = PEERS.map(|(who, _)| (who, String::new()));
    let mut race: Race<Vec<f64>> = Race::default();
    for (who, trainer) in &mut ours {
        race.turn(*who, move |_| {
            let trainer = trainer.as_mut().map_err(|why| lab::Error::message(why.to_string()))?;
            Ok(timed(trainer, &case.stream, steps)?)
        });
    }
    for ((who, peer), (_, version)) in peers.iter_mut().zip(&mut versions) {
        let started = peer.as_mut().map_err(|why| lab::Error::message(why.clone()));
        race.peer(
            *who,
            started.map(|peer| {
                move |_| {
                    let answer: Answer = peer.ask(short)?;
                    version.clone_from(&answer.framework);
                    Ok(answer.seconds)
                }
            }),
        );
    }
    let results = race.rounds(rounds)?;
    let tokens = case.settings.batch * case.settings.length;
    // The first step of each turn finds cold caches and, at the peer, a new optimizer.
    let median = results.map(|seconds| Samples(seconds[1..].to_vec()).median());
    let at = |key: Key, who: &str| key.at(list).with("who", who);
    let rate = median.rate(OURS, tokens as f64)?;
    let operations = Operations::of(&case.config, case.settings.length).training();
    let peak = peak::fma_f32(threads);
    let flops = FLOPS.at(list).with("threads", threads).against(peak);
    let reached = r.record(flops, rate.map(|rate| rate * operations));
    for (who, _) in WAYS {
        let ours = at(RATE, who).with("version", "this course").with("threads", threads);
        r.record(ours, median.rate(who, tokens as f64)?);
    }
    r.record(at(RATIO, WAYS[1].0), median.ratio(WAYS[1].0, OURS)?);
    if case.config == Config::small() {
        let (parameters, tokens) = optimal(reached * BUDGET);
        let member = near(parameters, case.config.vocabulary, case.config.context);
        let found = Parameters::of(&member).all() as f64;
        for (of, count) in [("parameters", parameters), ("tokens", tokens), ("family", found)] {
            r.one(OPTIMAL.at(&[("of", &of)]), count);
        }
    }
    for (who, version) in &versions {
        let rate = median.rate(who, tokens as f64);
        let quantity = at(RATE, who);
        let quantity = if rate.is_ok() {
            quantity.with("version", version).with("threads", threads)
        } else {
            quantity
        };
        r.record_or_skip(quantity, rate)?;
        r.record_or_skip(at(RATIO, who), median.ratio(who, OURS))?;
    }
    compare(r, case, list, folder, &mut peers[0].1)
}

/// Seconds of each of so many steps.
///
/// # Errors
/// Those of a step.
pub fn timed(trainer: &mut Trainer, stream: &[u32], steps: u64) -> crate::Result<Vec<f64>> {
    let second = |_| {
        let begun = Instant::now();
        trainer.step(stream)?;
        Ok(begun.elapsed().as_secs_f64())
    };
    (0..steps).map(second).collect()
}

/// A peer that has taken a step.
///
/// # Errors
/// Why it takes no part, as a clause.
fn ready(options: &[&str], one: &Job) -> Result<Peer, String> {
    let mut peer = asked(PROGRAM, options)?;
    let answer: Answer = peer.ask(one).map_err(|error| error.to_string())?;
    peers::in_time(answer.seconds.iter().sum())?;
    Ok(peer)
}

/// A whole run on both sides, from the same weights on the same batches.
fn compare(
    r: &mut Recorder,
    case: &Case,
    list: ParamList,
    folder: &Path,
    peer: &mut Result<Peer, String>,
) -> crate::Result<()> {
    let quantity = DIFFERENCE.at(list).with("steps", STEPS);
    let peer = match peer {
        Ok(peer) => peer,
        Err(why) => {
            for left_out in [quantity, GRADIENT.at(list)] {
                r.skip_at(left_out, why.clone());
            }
            return Ok(());
        }
    };
    r.note_at(&quantity);
    let twins = Twins::run(case, peer, folder, STEPS)?;
    r.one(quantity, twins.apart());
    r.one(GRADIENT.at(list), twins.gradient);
    Ok(())
}

/// The same run on both sides.
pub struct Twins {
    /// This course's losses, step by step.
    pub ours: Vec<f64>,
    /// The peer's.
    pub theirs: Vec<f64>,
    /// How far the gradients of the first step are apart, over their length.
    pub gradient: f64,
}

impl Twins {
    /// Both sides take these steps, from the same weights on the same batches.
    ///
    /// # Errors
    /// Those of the trainer, and what the peer fails with.
    pub fn run(case: &Case, peer: &mut Peer, folder: &Path, steps: u64) -> crate::Result<Self> {
        let job = case.job(folder, steps, &[])?;
        let answer: Answer = peer.ask(&job).map_err(lab::Error::from)?;
        let mut trainer = case.trainer()?;
        let mut ours = Vec::new();
        let mut gradient = f64::NAN;
        for step in 0..steps {
            ours.push(trainer.step(&case.stream)?.loss);
            if step == 0 {
                let bytes = fs::read(&job.gradient);
                let bytes = bytes.map_err(|error| lab::Error::io(&job.gradient, error))?;
                let (values, _) = bytes.as_chunks::<4>();
                let theirs: Vec<f32> = values.iter().map(|v| f32::from_le_bytes(*v)).collect();
                gradient = error_f32(&trainer.gradient(), &theirs);
            }
        }
        Ok(Self { ours, theirs: answer.losses, gradient })
    }

    /// The largest difference of two losses.
    pub fn apart(&self) -> f64 {
        largest(&self.ours, &self.theirs)
    }
}
