//! A run from the text to the files.

use crate::{
    Config, Error, Model, Result,
    count::Parameters,
    devices::replicas::{self, Team, can_share},
    gpu,
    product::Numbers,
    runner::{
        checkpoint::{Checkpoint, MINUTES, Point},
        memory,
        report::{self, Report},
        text::Text,
    },
    train::{Backend, Flow, Reporter as _, Settings, Trainer, run},
};
use cpu_gpu::gpu::{Gpu, open};
use lab::{
    Device,
    out::short,
    peak,
    progress::Progress,
    run::{Folder, Start},
};
use matmul::{Unit, parallel::available};
use multi_gpu::{
    Communicator, Rank,
    replicas::{
        handshake::{Setup, shake},
        launch::{self, Together},
        member::Launcher,
    },
};
use std::{
    path::PathBuf,
    time::{Duration, Instant},
};

/// How long a run lasts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Amount {
    /// So many minutes: some steps are timed and a number is planned, which each point of the run corrects by the clock.
    Minutes(f64),
    /// So many tokens, or a few more, to the end of a step.
    Tokens(u64),
}

/// A run as its caller describes it.
#[derive(Clone, Debug)]
pub struct Job {
    /// The model's sizes.
    pub config: Config,
    /// What the run is told; its steps follow from [`Job::amount`].
    pub settings: Settings,
    /// How long it lasts.
    pub amount: Amount,
    /// The steps of its warm-up; unless told otherwise those of the settings, at most a tenth of the run.
    pub warmup: Option<u64>,
    /// The workspace whose crates are the text.
    pub root: PathBuf,
    /// The folder of somebody's own files that are the text in the place of these; a run that goes on has its checkpoint's, unless they
    /// have moved.
    pub text: Option<PathBuf>,
    /// The run's folder.
    pub folder: PathBuf,
    /// Whether it goes on from the folder's checkpoint; sizes, amount and settings are the checkpoint's then, but for other
    /// [`Settings::recompute`].
    pub resume: bool,
    /// Threads; 0 for all.
    pub threads: usize,
    /// How copies of the model come to be that train together, each from its part of every batch; none for the model alone.
    pub replicas: Option<Launcher>,
    /// The device that takes the steps, by chapter 2's names (`cuda`, `opencl-gpu`); none for this machine's cores. Replicas on
    /// GPUs have one each, from this one on.
    pub device: Option<String>,
    /// A checkpoint is written at every point, and after this long without one.
    pub checkpoint_every: Duration,
}

/// The usual [`Job::checkpoint_every`].
pub const CHECKPOINT_EVERY: Duration = Duration::from_mins(5);

impl Job {
    /// Copies of the model, and how many of them share this machine.
    fn ranks(&self) -> [usize; 2] {
        self.replicas.as_ref().map_or([1, 1], |launcher| [launcher.size(), launcher.here()])
    }

    /// Its settings by their options' names: what ranks of one run have in common.
    fn setup(&self) -> Setup {
        let Settings { batch, accumulate, recompute, lr, rule, seed, numbers, .. } = self.settings;
        let (minutes, tokens) = match self.amount {
            Amount::Minutes(minutes) => (Some(minutes), None),
            Amount::Tokens(tokens) => (None, Some(tokens)),
        };
        let settings = serde_json::json!({
            "size": Parameters::of(&self.config).all(), "context": self.config.context, "minutes": minutes,
            "tokens": tokens, "batch": batch, "accumulate": accumulate, "recompute": recompute, "lr": lr,
            "warmup": self.warmup, "decay": rule.decay, "seed": seed, "precision": numbers,
        });
        Setup::with(&settings, self.resume, Default::default()) // the text is rank 0's
    }
}

/// How a run ended; for a process that follows rank 0, without what only that one knows.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// Whether all steps were taken, or somebody stopped the run.
    pub flow: Flow,
    /// Steps taken.
    pub step: u64,
    /// Tokens of a step.
    pub tokens: usize,
    /// What was measured on the way, the earlier parts of the run included.
    pub points: Vec<Point>,
}

/// Steps that are timed at least, to find how many fit into minutes.
const TIMED: u64 = 4;
/// The part of the minutes in which steps are timed, and the most seconds. A machine that slows down later still trains for
/// longer.
const TRIAL: f64 = 0.02;
const LONGEST: f64 = 10.0;
/// The least part of a run's time that steps have; tests, samples and checkpoints take the rest.
const LEAST: f64 = 0.5;

/// Trains a language model, and leaves in the folder what [`crate::generate::load`] reads. `stop` is asked after every step, also
/// of those that are only timed. Of several processes each calls it.
///
/// # Errors
/// One sentence for a choice, a text or a file that can't be used. What the run has reached is in its checkpoint.
pub fn train(job: &Job, shown: bool, stop: &mut dyn FnMut() -> bool) -> Result<Outcome> {
    Run { job, text: None, shown, stop }.start()
}

/// [`train`] on a text that is there.
///
/// # Errors
/// As [`train`].
pub fn train_on(
    job: &Job,
    text: &Text,
    shown: bool,
    stop: &mut dyn FnMut() -> bool,
) -> Result<Outcome> {
    Run { job, text: Some(text), shown, stop }.start()
}

/// A run, as its caller wants it.
struct Run<'j> {
    job: &'j Job,
    text: Option<&'j Text>,
    shown: bool,
    stop: &'j mut dyn FnMut() -> bool,
}

/// Who takes the steps in the trainer's place, if somebody does.
#[derive(Clone, Copy)]
struct Others<'g> {
    team: Option<&'g Team<'g>>,
    gpu: Option<&'g dyn Gpu>,
}

impl Together for Run<'_> {
    type Reached = Outcome;

    /// Rank 0 reads the text, tests, samples and saves alone, for as long as it takes: `mpirun` ends all when it is lost.
    const PATIENCE: Duration = Duration::MAX;
    const ALIVE: Duration = Self::PATIENCE;

    fn threads(&mut self, size: usize) -> multi_gpu::Result<Outcome> {
        replicas::threads(size, self.first()?, |team| self.lead(team))
    }

    fn rank(
        &mut self,
        mut comm: impl Communicator + 'static,
        local: usize,
    ) -> multi_gpu::Result<Outcome> {
        // Before the first check that one rank could fail alone: the others would wait for it.
        shake(&mut comm, &self.job.setup())?;
        let leads = comm.rank() == Rank(0);
        replicas::on(comm, (self.first()?, local), |team| {
            if leads {
                let outcome = self.lead(team)?;
                return team.end().map(|()| outcome);
            }
            team.follow(self.stop)?;
            Ok(Outcome { flow: Flow::Finished, step: 0, tokens: 0, points: Vec::new() })
        })
    }

    fn stops(&mut self) -> bool {
        (self.stop)()
    }
}

impl Run<'_> {
    fn start(mut self) -> Result<Outcome> {
        check(self.job)?;
        if let Some(launcher) = &self.job.replicas {
            return Ok(launch::start(launcher, &mut self)?);
        }
        let gpu = self.job.device.as_deref().map(open).transpose()?;
        self.train(Others { team: None, gpu: gpu.as_deref() })
    }

    /// The first one's device.
    fn first(&self) -> lab::Result<Option<Device>> {
        self.job.device.as_deref().map(str::parse).transpose()
    }

    /// Rank 0's part.
    fn lead(&mut self, team: &Team) -> Result<Outcome> {
        self.train(Others { team: Some(team), gpu: team.gpu })
    }

    /// From the folder and the text to the files.
    fn train(&mut self, others: Others) -> Result<Outcome> {
        let Self { job, text, shown, ref mut stop } = *self;
        let start = if job.resume { Start::Resume } else { Start::New };
        let held = Folder::open(&job.folder, start)?;
        let saved = job.resume.then(|| Checkpoint::load(held.path())).transpose()?;
        let progress = if shown { Progress::spinner("text") } else { Progress::hidden() };
        let found = text.is_none().then(|| find(job, saved.as_ref())).transpose()?;
        progress.finish();
        let none = || Error::Config("there is no text".to_owned());
        let text = text.or(found.as_ref()).ok_or_else(none)?;
        let (mut trainer, log) = match saved {
            Some(mut saved) => {
                let recompute = &mut saved.header.settings.recompute;
                *recompute = job.settings.recompute.or(*recompute); // no bit changes
                let (config, settings) = (&saved.header.config, &saved.header.settings);
                has_memory(job, config, settings, text.training.len())?;
                let (trainer, log) = saved.resume(held.path(), text, job.threads)?;
                (trainer, Some(log))
            }
            None => (begin(job, others, text, shown, *stop)?, None),
        };
        let mut backend = backend(job, others, &trainer, &text.training)?;
        let progress = if shown {
            Progress::new("training", trainer.settings.steps)
        } else {
            Progress::hidden()
        };
        if let Some(note) = backend.as_ref().and_then(|backend| backend.note()) {
            progress.println(note);
        }
        if let Some(gpu) = others.gpu {
            progress.println(&format!("device: {}", gpu.about().name));
        }
        let peak = others.gpu.is_none().then(|| match trainer.settings.numbers {
            Numbers::F32 | Numbers::F16 => peak::fma_f32(available()).value,
            Numbers::Bf16 => Unit::best().peak(available()).value,
        });
        let of = (job.device.as_deref().unwrap_or("cpu"), job.checkpoint_every);
        let mut report = Report::new((held, text, &trainer), log, of, progress, peak, *stop)?;
        let flow = match &mut backend {
            None => run(&mut trainer, &text.training, &mut report)?,
            Some(backend) => follow(&mut trainer, &text.training, &mut **backend, &mut report)?,
        };
        let points = report.end(&trainer, flow)?;
        Ok(Outcome { flow, step: trainer.step, tokens: trainer.tokens(), points })
    }
}

/// The text that the job names, or the run that goes on.
fn find(job: &Job, saved: Option<&Checkpoint>) -> Result<Text> {
    let tokenizer = saved.map(Checkpoint::tokenizer).transpose()?;
    let own = job.text.as_deref().or_else(|| saved?.folder());
    let vocabulary = job.config.vocabulary;
    match own {
        Some(folder) => Text::own(folder, tokenizer, vocabulary),
        None => Text::find(&job.root, tokenizer, vocabulary),
    }
}

/// Replicas or a device, if they take the steps.
fn backend<'g>(
    job: &Job,
    Others { team, gpu }: Others<'g>,
    trainer: &Trainer,
    stream: &[u32],
) -> Result<Option<Box<dyn Backend + 'g>>> {
    on_cores(job, &trainer.settings)?; // a checkpoint's, in a run that goes on
    Ok(match (team, gpu) {
        (Some(team), _) => Some(Box::new(team.lead(trainer)?)),
        (None, Some(gpu)) => Some(Box::new(gpu::trainer(gpu, trainer, stream)?)),
        (None, None) => None,
    })
}

/// [`run`] with others in the trainer's place. The trainer is brought to where they are whenever somebody looks at its model.
fn follow(
    trainer: &mut Trainer,
    stream: &[u32],
    backend: &mut dyn Backend,
    report: &mut Report,
) -> Result<Flow> {
    report.begin(trainer);
    let mut stop = false;
    while !stop && trainer.step < trainer.settings.steps || backend.ahead() > 0 {
        // No step is begun behind one whose model somebody looks at.
        let last = if stop { 0 } else { report.next_look(&trainer.settings, trainer.step) };
        let step = backend.step_of(stream, last)?;
        trainer.step = step.step;
        let none_begun = backend.ahead() == 0;
        if report.looks(&trainer.settings, step.step, none_begun) {
            backend.hand_back(trainer)?;
        }
        report.step(trainer, &step)?;
        if none_begun && let Some(steps) = report.plan() {
            trainer.settings.steps = steps.max(step.step);
            backend.plan(trainer.settings.steps);
        }
        stop |= report.stop() || backend.stops();
    }
    backend.hand_back(trainer)?;
    Ok(if stop { Flow::Stopped } else { Flow::Finished })
}

/// Refuses what others than this machine's cores can't do, where they take the steps, and replicas that can't share a batch.
fn on_cores(job: &Job, settings: &Settings) -> Result<()> {
    let [replicas, _] = job.ranks();
    can_share(replicas, settings.batch)?;
    if let (Some(device), Numbers::Bf16 | Numbers::F16) = (&job.device, settings.numbers) {
        return Err(Error::Config(format!(
            "products of 16 bits are for this machine's cores, not for {device}; take --device cpu, or --precision f32"
        )));
    }
    if settings.accumulate > 1 && replicas > 1 {
        return Err(Error::Config(
            "a batch in pieces is for one model; leave out --replicas or --accumulate".to_owned(),
        ));
    }
    Ok(())
}

/// Refuses what can't be trained, before the text is read.
fn check(job: &Job) -> Result<()> {
    if job.resume {
        return Ok(()); // the rest is the checkpoint's
    }
    job.config.check()?;
    job.settings.check_run()?;
    on_cores(job, &job.settings)?;
    match job.amount {
        Amount::Minutes(minutes) if !(minutes > 0.0 && minutes <= MINUTES) => Err(Error::Config(
            format!("{} minutes; a run takes more than 0 and at most a million", short(minutes)),
        )),
        Amount::Tokens(0) => Err(Error::Config("no tokens; a run takes 1 or more".to_owned())),
        _ => has_memory(job, &job.config, &job.settings, 0), // the text comes later
    }
}

/// Refuses a run on a stream of so many tokens that this machine has no memory for.
fn has_memory(job: &Job, config: &Config, settings: &Settings, stream: usize) -> Result<()> {
    let ranks = job.ranks();
    memory::fits(match (&job.device, &job.replicas) {
        // A device is asked for its own memory; beside it the parameters lie here, once for each replica.
        (Some(_), _) => memory::of_trainers(config, settings, ranks[1]),
        (None, None) => memory::of_run(config, settings, job.threads, stream),
        (None, Some(_)) => memory::of_replicas(config, settings, ranks),
    })
}

/// A new run, with as many steps as its amount asks for.
fn begin(
    job: &Job,
    others: Others,
    text: &Text,
    shown: bool,
    stop: &mut dyn FnMut() -> bool,
) -> Result<Trainer> {
    // A small text may have fewer tokens than were asked for.
    let config = Config { vocabulary: text.tokenizer.vocabulary(), ..job.config };
    text.check(job.settings.length)?;
    has_memory(job, &config, &job.settings, text.training.len())?;
    let seconds = match job.amount {
        Amount::Minutes(minutes) => Some(60.0 * minutes),
        Amount::Tokens(_) => None,
    };
    let start = |steps| {
        let mut model = Model::new(config, job.settings.seed)?;
        model.tokenizer = text.tokenizer.digest();
        let warmup = job.warmup.unwrap_or(job.settings.warmup.min(steps / 10));
        let settings = Settings { steps, warmup, seconds, ..job.settings };
        Trainer::new(model, settings, &text.training, job.threads)
    };
    let each = (job.settings.batch * job.settings.length) as u64;
    let steps = match job.amount {
        Amount::Tokens(tokens) => tokens.div_ceil(each),
        Amount::Minutes(minutes) => {
            let seconds = 60.0 * minutes;
            let longest = LONGEST.min(TRIAL * seconds);
            let title = format!("timing steps, {longest:.1} s or {TIMED} steps, to plan the run");
            let progress = if shown { Progress::spinner(title) } else { Progress::hidden() };
            let mut trial = start(1)?;
            let mut backend = backend(job, others, &trial, &text.training)?;
            let mut step = || {
                let others_stop = backend.as_ref().is_some_and(|backend| backend.stops());
                if stop() || others_stop {
                    return Err(Error::Config(
                        "stopped while its first steps were timed: there is nothing to go on with; begin again"
                            .to_owned(),
                    ));
                }
                match &mut backend {
                    Some(backend) => backend.step_of(&text.training, u64::MAX),
                    None => trial.step(&text.training),
                }
            };
            step()?; // the first one reserves what threads need
            let (began, mut timed) = (Instant::now(), 0);
            while timed < TIMED || began.elapsed().as_secs_f64() < longest {
                step()?;
                timed += 1;
            }
            let step = began.elapsed().as_secs_f64() / timed as f64;
            progress.finish();
            let began = Instant::now();
            report::test(&trial, text)?;
            let points = report::POINTS as f64 * began.elapsed().as_secs_f64();
            ((seconds - points).max(LEAST * seconds) / step).ceil() as u64
        }
    };
    start(steps.max(1))
}
