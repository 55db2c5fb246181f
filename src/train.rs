//! `train`: the main training job.

use crate::{
    gpt::{self, Gpt},
    stop,
};
use anyhow::{Context, Result, anyhow, bail};
use clap::{Args, value_parser};
use cpu_gpu::gpu::{Devices, devices};
use lab::{
    Device, data,
    files::typed,
    limits,
    machine::warn_if_unoptimised,
    names::{self, text_of},
    out::say,
    run::{Kind, files::unwritable, latest, whole},
};
use multi_gpu::{
    Rank,
    replicas::{
        launch,
        member::{Launcher, MOST_RANKS},
        run::device_of,
    },
};
use std::{
    fs,
    io::{ErrorKind, IsTerminal as _, stderr},
    path::{Path, PathBuf},
    process::exit,
    str::FromStr,
};
use training::{
    Config, EngineKind, Model, Outcome, Precision, Settings, Start, Terminal, Watcher,
    checkpoint::Checkpoint, config::DEFAULT_BATCH, optimizer::Rule, schedule::Schedule, train_on,
};

/// Whether a user leaves the device to the program.
fn is_auto(asked: Option<&str>) -> bool {
    asked.is_none_or(|name| name.is_empty() || name == "auto")
}

/// The first of so many replicas' devices, among those that are there: each has a GPU of its own, and `auto` takes none where that
/// can't be.
pub fn first_device(asked: Option<&str>, replicas: usize, there: &Devices) -> Result<Device> {
    let names: Vec<&str> = there.found.iter().map(|about| about.id.as_str()).collect();
    let first = Device::among(asked, &names)?;
    let all = (0..replicas.min(MOST_RANKS)).map(|replica| device_of(first, replica));
    match all.filter(|own| *own != Device::Cpu).find(|own| !names.contains(&&*own.id())) {
        None => Ok(first),
        Some(_) if is_auto(asked) => Ok(Device::Cpu),
        Some(own) => bail!(
            "{replicas} replicas take a GPU each, from {first} on, and this machine has no {own}; take fewer --replicas, or \
             --device cpu"
        ),
    }
}

/// This machine's devices, where they matter: some drivers take memory and signals to themselves, and for the cores none is
/// asked.
pub fn devices_for(asked: Option<&str>) -> Devices {
    if asked == Some("cpu") { Devices::default() } else { devices() }
}

/// [`first_device`] of this machine; for 16 bits, which only a CPU can do so far, `auto` takes the cores.
pub fn device_here(asked: Option<&str>, replicas: usize, f32: bool) -> Result<Device> {
    if is_auto(asked) && !f32 {
        return Ok(Device::Cpu);
    }
    first_device(asked, replicas, &devices_for(asked))
}

/// The options of `train`. What is left out comes from the checkpoint with `--resume`, from the defaults
/// otherwise.
#[derive(Args, Clone, Debug, Default)]
#[command(after_help = "\
Examples:
  cargo run -- train                       the article's example: 10 epochs of MNIST
  cargo run -- train --epochs 3 --seed 7   shorter, from other first weights
  cargo run -- train --batch 32            Keras' batch: slower, about as accurate
  cargo run -- train --model cnn           another model, by the recipe that suits it
  cargo run -- train --engine dfdx         the operations of chapter 4's pages (the default takes chapter 5's)
  cargo run -- train --device opencl-cpu   the kernels of a GPU, tried on the CPU (PoCL)
  cargo run -- train --model gpt --minutes 2
                                           a language model that writes Rust (chapter 9)
  cargo run -- train --model cnn --precision bf16
                                           products of 16-bit numbers, forward and backward (chapter 6)
  cargo run -- train --limit 1000 --augment true --patience 5
                                           little data, and what helps against it
  cargo run -- train --resume              go on with the latest run
  cargo run -- train --replicas 4          four copies that train together, as threads (chapter 7)
  cargo run -- train --replicas 4 --processes
                                           the same as processes, with TCP between them
  mpirun -n 4 target/debug/throughput train  the same by MPI, in a build with --features mpi
  THROUGHPUT_RANK=1 THROUGHPUT_RANKS=2 THROUGHPUT_HUB=192.168.0.7:7000 throughput train
                                           one process of two, on any machine; rank 0 waits at the hub

Ctrl-C, SIGTERM and SIGHUP (without nohup) leave a checkpoint; a second one ends the program at once.
The run's folder contains checkpoint, metrics.jsonl, curves.svg, model.safetensors and a file of events:
tensorboard --logdir runs shows them all.")]
pub struct Train {
    /// The model: linear, mlp, cnn, resnet, rnn or transformer, for digits, or gpt, for text. Its name brings a recipe
    /// (optimizer, learning rate, schedule and so on) as defaults [default: the article's mlp]
    #[arg(long)]
    model: Option<Which>,
    /// Where to compute: auto, cpu, cuda:N, opencl-gpu or opencl-cpu; auto takes an NVIDIA GPU, else one that OpenCL drives, else
    /// the CPU [default: auto]
    #[arg(long, env = "THROUGHPUT_DEVICE")]
    pub(crate) device: Option<String>,
    /// The number format of the products: f32, amp (f16, with a loss scale) or bf16; weights and sums are f32 in all of them
    /// [default: f32]
    #[arg(long)]
    pub(crate) precision: Option<Precision>,
    /// What computes the steps: fast (chapter 5's engine) or dfdx (chapter 4's operations, readable)
    /// [default: fast]
    #[arg(long)]
    engine: Option<EngineKind>,
    /// The rule of the steps: sgd, momentum, rmsprop, adam or adamw [default: adam, or the recipe's]
    #[arg(long)]
    optimizer: Option<Rule>,
    /// How many times the model sees all images [default: 10, or the recipe's]
    #[arg(long, value_name = "N", value_parser = crate::whole::<usize>(1..=u64::MAX))]
    epochs: Option<usize>,
    #[arg(long, value_name = "N", value_parser = crate::whole::<usize>(1..=u64::MAX), help = format!(
        "Images of one step; Keras takes 32, more of them train faster [default: {DEFAULT_BATCH}]"
    ))]
    pub(crate) batch: Option<usize>,
    /// The learning rate: how far one step goes [default: 0.001, the optimizer's usual one, or the recipe's]
    #[arg(long, value_name = "RATE")]
    pub(crate) lr: Option<f64>,
    /// What becomes of the learning rate: constant, or cosine (it falls to zero) [default: constant, or the recipe's]
    #[arg(long)]
    schedule: Option<Schedule>,
    /// Steps in which the learning rate grows from almost nothing [default: 0, or the recipe's]
    #[arg(long, value_name = "STEPS", value_parser = crate::whole::<usize>(0..=u64::MAX))]
    pub(crate) warmup: Option<usize>,
    /// The fraction of itself that a weight loses in a step, before the learning rate [default: 0, or the recipe's]
    #[arg(long, value_name = "SHARE")]
    pub(crate) decay: Option<f64>,
    /// The fraction of units that dropout switches off [default: 0.2, or the recipe's]
    #[arg(long, value_name = "SHARE")]
    dropout: Option<f64>,
    /// Show each image a little changed in each epoch: true or false [default: false, or the recipe's]
    #[arg(long, value_name = "BOOL")]
    augment: Option<bool>,
    /// Hold back a sixth of the training images, stop after N epochs without a smaller loss on them, and keep the
    /// best epoch's weights
    #[arg(long, value_name = "N", value_parser = crate::whole::<usize>(1..=u64::MAX))]
    patience: Option<usize>,
    /// Where first weights, order and dropout come from [default: 0]
    #[arg(long, value_name = "N", value_parser = crate::whole::<u64>(0..=u64::MAX))]
    pub(crate) seed: Option<u64>,
    /// Train on N images only, drawn by the seed
    #[arg(long, value_name = "N", value_parser = crate::whole::<usize>(1..=u64::MAX))]
    limit: Option<usize>,
    /// Take at most N images or sequences of a batch at a time and add their gradients up: the same step in less memory, but
    /// for a batch normalisation, which sees smaller batches
    #[arg(long, value_name = "N", value_parser = crate::whole::<usize>(1..=u64::MAX))]
    pub(crate) accumulate: Option<usize>,
    /// Keep what goes into N segments of the model, at most one for each operation, and compute the rest again in the backward
    /// pass: the same step in less memory and more time
    #[arg(long, value_name = "N", value_parser = crate::whole::<usize>(1..=u64::MAX))]
    pub(crate) recompute: Option<usize>,
    /// The run's folder [default: a new one in runs]
    #[arg(long, value_name = "DIR", value_parser = value_parser!(PathBuf))]
    run: Option<PathBuf>,
    /// Go on from the checkpoint in the run's folder [default: the latest in runs]
    #[arg(long)]
    pub(crate) resume: bool,
    /// Copies of the model that train together, each from its part of every batch: the same step, but for a batch
    /// normalisation [default: 1]
    #[arg(long, value_name = "N", value_parser = crate::whole::<usize>(1..=u64::MAX))]
    pub(crate) replicas: Option<usize>,
    /// Make the replicas processes, not threads
    #[arg(long)]
    pub(crate) processes: bool,
    #[command(flatten)]
    gpt: Gpt,
    /// Whether only a bar shows the training, and only where there is a terminal: for a caller who tells the rest.
    #[arg(skip)]
    quiet: bool,
}

/// The model of a training: one for digits, or one for text.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Which {
    /// One of chapter 4's.
    Digits(Model),
    /// Chapter 9's.
    Gpt,
}

impl FromStr for Which {
    type Err = lab::Error;

    fn from_str(name: &str) -> lab::Result<Self> {
        let names: Vec<&str> = Model::ALL.map(Model::name).into_iter().chain(["gpt"]).collect();
        let at = names::named("model", name, &names)?;
        Ok(Model::ALL.get(at).map_or(Self::Gpt, |model| Self::Digits(*model)))
    }
}

/// Where runs are, unless the user chooses otherwise.
pub(crate) const RUNS: &str = "runs";

/// Shows nothing, and hears Ctrl-C.
struct Quiet<'s>(&'s (dyn Fn() -> bool + Sync));

impl Watcher for Quiet<'_> {
    fn stop(&mut self) -> bool {
        (self.0)()
    }

    fn stop_testing(&mut self) -> bool {
        (self.0)()
    }
}

impl Train {
    /// The usual training, by the engine whose numbers chapter 4's pages show.
    pub fn usual(quiet: bool) -> Self {
        Self { quiet, engine: Some(EngineKind::Dfdx), ..Self::default() }
    }

    /// Trains, and prints the test accuracy in its last line.
    pub fn run(mut self, data: Option<PathBuf>) -> Result<()> {
        if self.resume {
            self.run = Some(self.resumed(Path::new(RUNS))?);
        }
        if self.is_gpt(Path::new(RUNS))? {
            return self.train_gpt(Path::new(RUNS));
        }
        if let Some(option) = self.gpt.first() {
            bail!("{option} is for language models: cargo run -- train --model gpt {option} …");
        }
        self.train(data).map(|_| ())
    }

    /// Whether a language model is asked for, by its name or by the run that goes on.
    fn is_gpt(&self, runs: &Path) -> Result<bool> {
        Ok(match (self.model, self.resume) {
            (Some(which), _) => which == Which::Gpt,
            (None, false) => false,
            (None, true) => Kind::of_run(&self.resumed(runs)?) == Some(Kind::Text),
        })
    }

    /// The folder of the run that goes on: the one that was named, or the latest with a whole checkpoint, of the model's kind
    /// if one was named.
    fn resumed(&self, runs: &Path) -> Result<PathBuf> {
        let kind = self.model.map(|which| match which {
            Which::Digits(_) => Kind::Digits,
            Which::Gpt => Kind::Text,
        });
        let found = || latest(runs, kind, whole).map(|(run, _)| run);
        self.run.clone().or_else(found).with_context(|| {
            format!(
                "there is no run in {} to go on with; name one with --run, or start one without --resume",
                runs.display()
            )
        })
    }

    /// Trains a language model.
    fn train_gpt(self, runs: &Path) -> Result<()> {
        let mut job = self.job(runs)?;
        let launcher = job.replicas.as_ref();
        limits::start_threads(launcher.and_then(Launcher::threads))?;
        if launcher.is_none_or(|launcher| launcher.rank() == Rank(0)) {
            if !job.resume && self.run.is_none() {
                job.folder = fresh(runs, "gpt")?;
            }
            warn_if_unoptimised();
        }
        stop::watch()?;
        gpt::train(&job, &mut stop::asked)
    }

    /// The run of a language model that these options ask for; a new one without `--run` has no folder yet.
    fn job(&self, runs: &Path) -> Result<language_model::runner::Job> {
        for (option, given) in [
            ("--engine", self.engine.is_some()),
            ("--optimizer", self.optimizer.is_some()),
            ("--epochs", self.epochs.is_some()),
            ("--schedule", self.schedule.is_some()),
            ("--dropout", self.dropout.is_some()),
            ("--augment", self.augment.is_some()),
            ("--patience", self.patience.is_some()),
            ("--limit", self.limit.is_some()),
        ] {
            if given {
                bail!(
                    "{option} is for models of digits; a language model takes --size, --minutes, --tokens, --text, --context, --batch, --accumulate, --recompute, --lr, --warmup, --decay, --seed, --precision, --replicas, --processes and --device"
                );
            }
        }
        let run =
            if self.resume { self.resumed(runs)? } else { self.run.clone().unwrap_or_default() };
        self.run.iter().try_for_each(|run| can_be_folder(run))?;
        self.gpt.job(self, run)
    }

    /// [`Train::run`], for a caller that wants to know what came of it.
    pub fn train(self, data: Option<PathBuf>) -> Result<Outcome> {
        // A process for each GPU: a rank that ends takes no other with it, and NCCL opens their memory to each other.
        let place =
            || Ok::<_, anyhow::Error>(self.clone().config(data.clone(), Path::new(RUNS))?.device);
        let many = self.replicas.is_some_and(|replicas| replicas > 1);
        let apart = self.processes || many && place()? != Device::Cpu;
        let launcher = Launcher::choose(text_of, self.replicas, apart)?;
        // Before anything asks for threads, and so starts as many as Rayon likes.
        limits::start_threads(launcher.as_ref().and_then(Launcher::threads))?;
        match &launcher {
            // Of many processes one prints; another names itself when it fails.
            Some(launcher) if launcher.rank() != Rank(0) => {
                let rank = launcher.rank();
                self.train_by(Some(launcher), data).map_err(|error| match error.downcast_ref() {
                    // All have the same numbers, and the first says what became of them.
                    Some(multi_gpu::Error::Training(training::Error::Diverged { .. })) => exit(1),
                    _ => anyhow!("rank {rank}: {error:#}"),
                })
            }
            launcher => self.train_by(launcher.as_ref(), data),
        }
    }

    /// [`Train::train`], alone or as one of many.
    fn train_by(self, launcher: Option<&Launcher>, data: Option<PathBuf>) -> Result<Outcome> {
        let quiet = self.quiet;
        // What a run's settings do not say.
        let others = [
            self.device.as_ref().map(|device| format!(" --device {device}")),
            self.replicas.map(|replicas| format!(" --replicas {replicas}")),
            self.processes.then(|| " --processes".to_owned()),
            data.as_ref().map(|data| format!(" --data {}", typed(data))),
        ]
        .into_iter()
        .flatten()
        .collect::<String>();
        let mut config = self.config(data, Path::new(RUNS))?;
        let options = data::Options { folder: config.data.clone(), ..data::Options::default() };
        let data = data::load(&options)?;
        stop::watch()?;
        let stop = stop::asked;
        if let Some(launcher) = launcher.filter(|launcher| launcher.rank() != Rank(0)) {
            return Ok(launch::train(launcher, &config, &data, &mut Quiet(&stop))?.0);
        }
        if config.run.is_none() {
            config.run = Some(fresh(Path::new(RUNS), config.settings.model.name())?);
        }
        if !quiet {
            warn_if_unoptimised();
        }
        let (mut terminal, mut silent) = (Terminal::new(&stop), Quiet(&stop));
        let shown: &mut dyn Watcher =
            if quiet && !stderr().is_terminal() { &mut silent } else { &mut terminal };
        let (outcome, spent) = match launcher {
            Some(launcher) => {
                let (outcome, spent) = launch::train(launcher, &config, &data, shown)?;
                (outcome, Some((launcher.in_words(), spent)))
            }
            None => (train_on(&config, &data, shown)?, None),
        };
        let folder = outcome.run.as_deref().unwrap_or(Path::new("."));
        if let Some((epoch, step)) = outcome.stopped {
            bail!(
                "stopped after step {step} of epoch {epoch}; go on with: cargo run -- train --resume --run {}{others}",
                typed(folder)
            );
        }
        stop::no_more_steps();
        if quiet {
            return Ok(outcome);
        }
        say(&format!("run: {}", folder.display()));
        if let Some((ranks, spent)) = spent {
            say(&format!("{ranks}: {spent}"));
        }
        say(&outcome.summary());
        Ok(outcome)
    }

    /// Where the settings' engine computes: chapter 5's on any of chapter 2's devices.
    fn place(&self, settings: &Settings) -> Result<Device> {
        let asked = self.device.as_deref();
        if settings.engine == EngineKind::Dfdx {
            return Ok(Device::choose(asked, training::gpus())?);
        }
        device_here(asked, self.replicas.unwrap_or(1), settings.precision == Precision::F32)
    }

    /// The run that these options ask for; a new one without `--run` has no folder yet.
    fn config(self, data: Option<PathBuf>, runs: &Path) -> Result<Config> {
        let model = self.model.and_then(|which| match which {
            Which::Digits(model) => Some(model),
            Which::Gpt => None,
        });
        let (base, run) = if self.resume {
            let run = self.resumed(runs)?;
            (Checkpoint::load(&run)?.header.settings, Some(run))
        } else {
            let mut base = model.map_or_else(Settings::default, Settings::of);
            base.engine = EngineKind::Fast;
            if let Some(rule) = self.optimizer.filter(|rule| *rule != base.optimizer) {
                base.lr = rule.usual_rate(); // another rule's steps are of another length
            }
            (base, self.run.clone())
        };
        let settings = Settings {
            model: model.unwrap_or(base.model),
            precision: self.precision.unwrap_or(base.precision),
            engine: self.engine.unwrap_or(base.engine),
            optimizer: self.optimizer.unwrap_or(base.optimizer),
            epochs: self.epochs.unwrap_or(base.epochs),
            batch: self.batch.unwrap_or(base.batch),
            lr: self.lr.unwrap_or(base.lr),
            schedule: self.schedule.unwrap_or(base.schedule),
            warmup: self.warmup.unwrap_or(base.warmup),
            decay: self.decay.unwrap_or(base.decay),
            dropout: self.dropout.unwrap_or(base.dropout),
            augment: self.augment.unwrap_or(base.augment),
            patience: self.patience.or(base.patience),
            seed: self.seed.unwrap_or(base.seed),
            limit: self.limit.or(base.limit),
            accumulate: self.accumulate.or(base.accumulate),
            recompute: self.recompute.unwrap_or(base.recompute),
        };
        settings.check()?;
        if self.dropout.is_some_and(|share| share > 0.0) && !settings.drops() {
            bail!("--dropout is for mlp and cnn; leave it out for {}", settings.model);
        }
        let device = self.place(&settings)?;
        run.iter().try_for_each(|run| can_be_folder(run))?;
        let start = if self.resume { Start::Resume } else { Start::New };
        let makers = mixed_precision::amp::makers();
        Ok(Config { settings, device, run, start, data, makers, ..Config::default() })
    }
}

/// That a run's folder is one or can become one.
fn can_be_folder(run: &Path) -> Result<()> {
    let what = match (fs::metadata(run), fs::symlink_metadata(run)) {
        (Ok(facts), _) if !facts.is_dir() => "no folder",
        (Err(_), Ok(_)) => "a link that leads nowhere",
        _ => return Ok(()),
    };
    bail!("{} is {what}; choose another folder with --run", run.display())
}

/// Makes a folder that was not there: `runs/2025-01-31T12-00-00-mlp`, with a number behind it if another program was
/// faster in the same second.
fn fresh(runs: &Path, model: &str) -> Result<PathBuf> {
    fs::create_dir_all(runs).map_err(|e| unwritable(runs, &e, "--run"))?;
    let date = lab::machine::Provenance::now().date;
    let name = format!("{}-{model}", date.trim_end_matches('Z').replace(':', "-"));
    let mut folder = runs.join(&name);
    let mut number = 1;
    loop {
        match fs::create_dir(&folder) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                number += 1;
                folder = runs.join(format!("{name}-{number}"));
            }
            made => {
                made.map_err(|e| unwritable(&folder, &e, "--run"))?;
                return Ok(folder);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parsed;
    use training::{Silent, train_on};

    fn options(words: &[&str]) -> Result<Train, String> {
        parsed::<Train>(words).map_err(|error| error.to_string())
    }

    fn config(words: &[&str], runs: &Path) -> Result<Config> {
        let words: Vec<&str> = [&["--device", "cpu"], words].concat();
        options(&words).map_err(anyhow::Error::msg)?.config(None, runs)
    }

    #[test]
    fn without_options_it_is_the_articles_example() {
        let runs = tempfile::tempdir().unwrap();
        let config = config(&[], runs.path()).unwrap();
        let fast = Settings { engine: EngineKind::Fast, ..Settings::default() };
        assert_eq!(config.settings, fast, "the articles' example, by the fast engine");
        assert_eq!((config.settings.epochs, config.start), (10, Start::New));
        assert_eq!(config.run, None, "its folder is made when the training begins");
    }

    #[test]
    fn options_reach_the_run() {
        let words = "--epochs 3 --batch 32 --lr 0.01 --seed 7 --limit 500 --run x --precision amp \
                     --optimizer momentum --schedule cosine --warmup 9 --decay 0.1 --dropout 0.3 \
                     --augment true --patience 4 --engine fast --accumulate 8 --recompute 2";
        let words: Vec<&str> = words.split(' ').collect();
        let config = config(&words, Path::new("runs")).unwrap();
        let wanted = Settings {
            epochs: 3,
            batch: 32,
            lr: 0.01,
            seed: 7,
            limit: Some(500),
            optimizer: Rule::Momentum,
            schedule: Schedule::Cosine,
            warmup: 9,
            decay: 0.1,
            dropout: 0.3,
            augment: true,
            patience: Some(4),
            engine: EngineKind::Fast,
            accumulate: Some(8),
            recompute: 2,
            precision: Precision::Amp,
            ..Settings::default()
        };
        assert_eq!(config.settings, wanted);
        assert_eq!(config.run, Some("x".into()));
    }

    #[test]
    fn replicas_train_by_the_fast_engine_as_one_does() {
        let words = ["--epochs", "2", "--batch", "40", "--dropout", "0"];
        let config = Config { run: None, ..config(&words, Path::new("runs")).unwrap() };
        assert_eq!(config.settings.engine, EngineKind::Fast);
        let data = data::drawn(200, 50, 3);
        let alone = train_on(&config, &data, &mut Silent).unwrap();
        let settings = Settings { engine: EngineKind::Dfdx, ..config.settings.clone() };
        let plain = Config { settings, ..config.clone() };
        let plain = train_on(&plain, &data, &mut Silent).unwrap();
        assert!(alone.weights != plain.weights, "the fast engine did not run");
        for ranks in [2, 3] {
            let launcher = Launcher::Threads(ranks);
            let (many, _) = launch::train(&launcher, &config, &data, &mut Silent).unwrap();
            for other in [&alone, &plain] {
                let pairs = many.weights.iter().zip(&other.weights);
                let most = pairs.map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
                assert!(most < 1e-3, "{ranks} ranks: {most}");
            }
        }
    }

    #[test]
    fn mixed_precision_is_a_choice_like_any_other() {
        let data = data::drawn(96, 20, 1);
        for (model, precision) in [("mlp", "amp"), ("rnn", "bf16"), ("cnn", "amp")] {
            let run = |precision: &str, launcher: Option<Launcher>| {
                let words = ["--model", model, "--precision", precision, "--epochs", "2"];
                let words = [&words[..], &["--batch", "24", "--dropout", "0"]].concat();
                let config = config(&words, Path::new("runs")).unwrap();
                assert_eq!(config.settings.precision.name(), precision);
                let config = Config { run: None, ..config };
                match launcher {
                    Some(launcher) => {
                        launch::train(&launcher, &config, &data, &mut Silent).unwrap().0
                    }
                    None => train_on(&config, &data, &mut Silent).unwrap(),
                }
            };
            let (full, alone) = (run("f32", None), run(precision, None));
            let many = run(precision, Some(Launcher::Threads(2)));
            for half in [&alone, &many] {
                assert_eq!(half.loss_scale.is_some(), precision == "amp", "{model}");
                assert!(half.summary().starts_with("test accuracy "), "{}", half.summary());
                let [x, y] = [half, &full].map(|outcome| outcome.history[1].train_loss);
                let far = (x - y).abs() / y;
                assert!(far > 1e-9 && far < 0.1, "{model}, {precision}: {x} for {y}");
            }
        }
    }

    #[test]
    fn a_models_name_brings_its_recipe_and_an_optimizers_its_rate() {
        let runs = Path::new("runs");
        let of = |words: &[&str]| {
            config(&[&["--engine", "dfdx"], words].concat(), runs).unwrap().settings
        };
        assert_eq!(of(&["--model", "resnet"]), Settings::of(Model::Resnet));
        let one = Settings { epochs: 1, ..Settings::of(Model::Rnn) };
        assert_eq!(of(&["--model", "rnn", "--epochs", "1"]), one);
        let sgd = of(&["--optimizer", "sgd"]);
        assert_eq!((sgd.optimizer, sgd.lr), (Rule::Sgd, Rule::Sgd.usual_rate()));
        let slow = of(&["--optimizer", "sgd", "--lr", "0.5"]);
        assert!((slow.lr - 0.5).abs() < 1e-12);
    }

    #[test]
    fn errors_get_a_sentence() {
        let runs = Path::new("runs");
        assert!(options(&["--model", "vgg"]).unwrap_err().contains("transformer"));
        assert!(options(&["--optimizer", "lion"]).unwrap_err().contains("adamw"));
        assert!(options(&["--schedule", "step"]).unwrap_err().contains("cosine"));
        assert!(options(&["--engine", "turbo"]).unwrap_err().contains("dfdx or fast"));
        assert!(options(&["--precision", "f8"]).unwrap_err().contains("f32, amp or bf16"));
        assert!(options(&["--epochs", "many"]).unwrap_err().contains("many"));
        for (flag, value) in [("--epochs", "0"), ("--batch", "0"), ("--lr", "-1"), ("--lr", "NaN")]
        {
            let error = config(&[flag, value], runs).unwrap_err().to_string();
            assert!(error.contains(flag), "{error}");
        }
        let linear = config(&["--model", "linear", "--dropout", "0.5"], runs).unwrap_err();
        assert!(linear.to_string().contains("leave it out for linear"), "{linear}");
        let error =
            options(&["--device", "tpu"]).unwrap().config(None, runs).unwrap_err().to_string();
        assert!(error.contains("tpu"), "{error}");
    }

    #[test]
    fn resume_takes_the_latest_run_and_its_choices() {
        let runs = tempfile::tempdir().unwrap();
        let error = config(&["--resume"], runs.path()).unwrap_err().to_string();
        assert!(error.contains("no run"), "{error}");
        let data = data::drawn(60, 20, 1);
        for seed in ["1", "2"] {
            let run = runs.path().join(seed);
            let words = ["--seed", seed, "--lr", "0.005", "--run", run.to_str().unwrap()];
            train_on(&config(&words, runs.path()).unwrap(), &data, &mut Quiet(&|| true)).unwrap();
        }
        let latest = config(&["--resume"], runs.path()).unwrap();
        assert_eq!(latest.run, Some(runs.path().join("2")));
        assert_eq!((latest.settings.seed, latest.settings.lr), (2, 0.005));
        let outcome = train_on(&latest, &data, &mut Silent).unwrap();
        assert_eq!(outcome.history.len(), 10);
        // A choice that contradicts the checkpoint gets through to the refusal that names it.
        let other = config(&["--resume", "--lr", "0.1"], runs.path()).unwrap();
        let error = train_on(&other, &data, &mut Silent).unwrap_err().to_string();
        assert!(error.contains("--lr 0.005, not 0.1"), "{error}");
    }

    #[test]
    fn replicas_are_a_choice_like_any_other() {
        let folder = tempfile::tempdir().unwrap();
        let run = folder.path().join("run");
        let config = config(&["--epochs", "2", "--run", run.to_str().unwrap()], folder.path());
        let data = data::drawn(200, 20, 1);
        let launcher = Launcher::choose(|_| None, Some(2), false).unwrap().unwrap();
        let (outcome, spent) =
            launch::train(&launcher, &config.unwrap(), &data, &mut Silent).unwrap();
        assert_eq!(spent.steps, 4);
        assert!(outcome.summary().starts_with("test accuracy "), "{}", outcome.summary());
        assert!(run.join("model.safetensors").exists());
        // A run of two goes on alone.
        let resumed = options(&["--device", "cpu", "--resume", "--epochs", "3"]).unwrap();
        let resumed = resumed.config(None, folder.path()).unwrap();
        assert_eq!(train_on(&resumed, &data, &mut Silent).unwrap().history.len(), 3);
    }

    #[test]
    fn each_of_six_at_once_gets_a_fresh_folder_of_its_own() {
        let folder = tempfile::tempdir().unwrap();
        let runs = folder.path().join("runs");
        let begin = std::sync::Barrier::new(6);
        let mut made: Vec<PathBuf> = std::thread::scope(|scope| {
            let one = || {
                begin.wait();
                fresh(&runs, "mlp").unwrap()
            };
            let six: Vec<_> = (0..6).map(|_| scope.spawn(one)).collect();
            six.into_iter().map(|one| one.join().unwrap()).collect()
        });
        assert!(made.iter().all(|run| run.is_dir() && run.starts_with(&runs)), "{made:?}");
        assert!(made.iter().any(|run| run.to_string_lossy().ends_with("-mlp")), "{made:?}");
        made.sort();
        made.dedup();
        assert_eq!(made.len(), 6);
    }
}
