//! A run from the text to the files.

use crate::{
    Config, Error, Model, Result,
    count::Bytes,
    devices::replicas::{MOST, Replicas},
    gpu,
    product::Numbers,
    runner::{
        checkpoint::{Checkpoint, Point},
        report::{self, Report},
        text::Text,
    },
    train::{Backend, Flow, Reporter as _, Settings, Trainer, run},
};
use cpu_gpu::gpu::{Gpu, open};
use lab::{
    limits,
    out::short,
    peak,
    progress::Progress,
    run::{Folder, Start},
};
use matmul::{Unit, parallel::available};
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
    /// The workspace whose crates are the text.
    pub root: PathBuf,
    /// The run's folder.
    pub folder: PathBuf,
    /// Whether it goes on from the folder's checkpoint; sizes, settings and amount are the checkpoint's then.
    pub resume: bool,
    /// Threads; 0 for all.
    pub threads: usize,
    /// Copies of the model that train together, each from its part of every batch; 1 for the model alone.
    pub replicas: usize,
    /// The device that takes the steps, by chapter 2's names (`cuda`, `opencl-gpu`); none for this machine's cores.
    pub device: Option<String>,
    /// A checkpoint is written at every point, and after this long without one.
    pub checkpoint_every: Duration,
}

/// The usual [`Job::checkpoint_every`].
pub const CHECKPOINT_EVERY: Duration = Duration::from_mins(5);

/// How a run ended.
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
/// of those that are only timed.
///
/// # Errors
/// One sentence for a choice, a text or a file that can't be used. What the run has reached is in its checkpoint.
pub fn train(job: &Job, shown: bool, stop: &mut dyn FnMut() -> bool) -> Result<Outcome> {
    check(job)?;
    let gpu = job.device.as_deref().map(open).transpose()?;
    let start = if job.resume { Start::Resume } else { Start::New };
    let held = Folder::open(&job.folder, start)?;
    let saved = job.resume.then(|| Checkpoint::load(held.path())).transpose()?;
    let progress = if shown { Progress::spinner("text") } else { Progress::hidden() };
    let tokenizer = saved.as_ref().map(Checkpoint::tokenizer).transpose()?;
    let text = Text::find(&job.root, tokenizer, job.config.vocabulary)?;
    progress.finish();
    train_on(job, held, saved, &text, gpu.as_deref(), shown, stop)
}

/// [`train`], in a folder that is held, on a text that is there.
fn train_on(
    job: &Job,
    held: Folder,
    saved: Option<Checkpoint>,
    text: &Text,
    gpu: Option<&dyn Gpu>,
    shown: bool,
    stop: &mut dyn FnMut() -> bool,
) -> Result<Outcome> {
    let (mut trainer, log) = match saved {
        Some(saved) => {
            let (trainer, log) = saved.resume(held.path(), text, job.threads)?;
            (trainer, Some(log))
        }
        None => (begin(job, gpu, text, shown, stop)?, None),
    };
    let mut backend = backend(job, gpu, &trainer, &text.training)?;
    let progress =
        if shown { Progress::new("training", trainer.settings.steps) } else { Progress::hidden() };
    if let Some(gpu) = gpu {
        progress.println(&format!("device: {}", gpu.about().name));
    }
    let peak = gpu.is_none().then(|| match trainer.settings.numbers {
        Numbers::F32 => peak::fma_f32(available()).value,
        Numbers::Bf16 => Unit::best().peak(available()).value,
    });
    let of = (job.device.as_deref().unwrap_or("cpu"), job.checkpoint_every);
    let mut report = Report::new((held, text, &trainer), log, of, progress, peak, stop)?;
    let flow = match &mut backend {
        None => run(&mut trainer, &text.training, &mut report)?,
        Some(backend) => follow(&mut trainer, &text.training, &mut **backend, &mut report)?,
    };
    let points = report.end(&trainer, flow)?;
    Ok(Outcome { flow, step: trainer.step, tokens: trainer.tokens(), points })
}

/// Replicas or a device, if the job asks for them.
fn backend<'g>(
    job: &Job,
    gpu: Option<&'g dyn Gpu>,
    trainer: &Trainer,
    stream: &[u32],
) -> Result<Option<Box<dyn Backend + 'g>>> {
    on_cores(job, &trainer.settings)?; // a checkpoint's, in a run that goes on
    Ok(match gpu {
        Some(gpu) => Some(Box::new(gpu::Step::new(gpu, trainer, stream)?)),
        None if job.replicas > 1 => Some(Box::new(Replicas::new(trainer, stream, job.replicas)?)),
        None => None,
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
    while trainer.step < trainer.settings.steps {
        let step = backend.step(stream)?;
        trainer.step = step.step;
        if report.looks(&trainer.settings, step.step) {
            backend.hand_back(trainer)?;
        }
        report.step(trainer, &step)?;
        if let Some(steps) = report.plan() {
            trainer.settings.steps = steps;
            backend.plan(steps);
        }
        if report.stop() {
            backend.hand_back(trainer)?;
            return Ok(Flow::Stopped);
        }
    }
    backend.hand_back(trainer)?;
    Ok(Flow::Finished)
}

/// Refuses what others than this machine's cores can't do, where they take the steps, and replicas that can't share a batch.
fn on_cores(job: &Job, settings: &Settings) -> Result<()> {
    let batch = settings.batch;
    let most = MOST.min(batch.max(1));
    if !(1..=most).contains(&job.replicas) {
        return Err(Error::Config(format!(
            "{} replicas can't share a batch of {batch} sequences; take 1 to {most}",
            job.replicas
        )));
    }
    if let (Some(device), Numbers::Bf16) = (&job.device, settings.numbers) {
        return Err(Error::Config(format!(
            "products of bf16 are for this machine's cores, not for {device}; take --device cpu, or --precision f32"
        )));
    }
    if settings.accumulate > 1 && (job.device.is_some() || job.replicas > 1) {
        return Err(Error::Config(
            "a batch in pieces is for one model on this machine's cores; take --device cpu without --replicas, or leave out \
             --accumulate"
                .to_owned(),
        ));
    }
    Ok(())
}

/// Refuses what can't be trained, before the text is read.
fn check(job: &Job) -> Result<()> {
    if let (Some(device), 2..) = (&job.device, job.replicas) {
        return Err(Error::Config(format!(
            "replicas train on this machine's cores, not on {device}; take --device cpu, or leave out --replicas"
        )));
    }
    if job.resume {
        return Ok(()); // the rest is the checkpoint's
    }
    job.config.check()?;
    job.settings.check()?;
    let Settings { batch, length, accumulate: pieces, .. } = job.settings;
    on_cores(job, &job.settings)?;
    if length < 2 {
        return Err(Error::Config(format!(
            "a context of {length}; a model that sees one token before the next takes 2 or more"
        )));
    }
    let rows = batch.checked_mul(length).filter(|rows| (1..1 << 24).contains(rows));
    if rows.is_none() {
        return Err(Error::Config(format!(
            "a batch of {batch} sequences of {length} tokens; a step takes 1 to {} tokens",
            (1 << 24) - 1
        )));
    }
    match job.amount {
        Amount::Minutes(minutes) if !(minutes > 0.0 && minutes <= 1e6) => Err(Error::Config(
            format!("{} minutes; a run takes more than 0 and at most a million", short(minutes)),
        )),
        Amount::Tokens(0) => Err(Error::Config("no tokens; a run takes 1 or more".to_owned())),
        _ => {
            let bytes = Bytes::of(&job.config, batch / pieces, length).all();
            let needed = || lab::Unit::Bytes.format(bytes as f64);
            let short = || {
                Error::Config(format!(
                    "a step needs {}, which this machine has not; take a smaller --batch, --context or --size",
                    needed()
                ))
            };
            limits::grants(bytes).then_some(()).ok_or_else(short)
        }
    }
}

/// A new run, with as many steps as its amount asks for.
fn begin(
    job: &Job,
    gpu: Option<&dyn Gpu>,
    text: &Text,
    shown: bool,
    stop: &mut dyn FnMut() -> bool,
) -> Result<Trainer> {
    // A small text may have fewer tokens than were asked for.
    let config = Config { vocabulary: text.tokenizer.vocabulary(), ..job.config };
    let seconds = match job.amount {
        Amount::Minutes(minutes) => Some(60.0 * minutes),
        Amount::Tokens(_) => None,
    };
    let start = |steps| {
        let mut model = Model::new(config, job.settings.seed)?;
        model.tokenizer = text.tokenizer.digest();
        let warmup = job.settings.warmup.min(steps / 10);
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
            let mut backend = backend(job, gpu, &trial, &text.training)?;
            let mut step = || {
                if stop() {
                    return Err(Error::Config(
                        "stopped while its first steps were timed: there is nothing to go on with; begin again"
                            .to_owned(),
                    ));
                }
                match &mut backend {
                    Some(backend) => backend.step(&text.training),
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        generate::{TOKENIZER, load},
        train::validation,
    };
    use cpu_gpu::gpu::testing;
    use lab::{
        run::{
            METRICS,
            disk::{Fault, fail},
        },
        testing::runs,
    };
    use std::{
        fs,
        panic::{AssertUnwindSafe, catch_unwind},
        path::Path,
    };

    const CONFIG: Config =
        Config { vocabulary: 300, context: 16, width: 16, heads: 2, layers: 1, hidden: 32 };

    /// A workspace of one crate, whose sources are the text.
    fn workspace(root: &Path) {
        fs::create_dir_all(root.join("src")).unwrap();
        fs::write(root.join("Cargo.toml"), "[package]\nname = \"a\"\nversion = \"0.1.0\"\n")
            .unwrap();
        let word = |i: usize| ["apple", "pear", "plum", "quince"][i % 4];
        let line = |i: usize| {
            format!("pub fn {}_{}(x: usize) -> usize {{ x + {i} }}\n", word(i), word(i / 7))
        };
        let text: String = (0..300).map(line).collect();
        fs::write(root.join("src/lib.rs"), text).unwrap();
    }

    fn job(root: &Path, folder: &str) -> Job {
        let settings = Settings { batch: 2, length: 16, warmup: 5, ..Settings::default() };
        Job {
            config: CONFIG,
            settings,
            amount: Amount::Tokens(32 * 30),
            root: root.to_owned(),
            folder: root.join("runs").join(folder),
            resume: false,
            threads: 2,
            replicas: 1,
            device: None,
            checkpoint_every: CHECKPOINT_EVERY,
        }
    }

    /// Stops a run when it is asked for this time.
    fn stops_at(time: u64) -> impl FnMut() -> bool {
        let mut asked = 0;
        move || {
            asked += 1;
            asked == time
        }
    }

    #[test]
    fn a_device_takes_the_same_steps() {
        let Some(gpu) = testing::opencl() else { return };
        let root = tempfile::tempdir().unwrap();
        workspace(root.path());
        let device = Some(gpu.about().id.clone());
        let there = Job { device, ..job(root.path(), "there") };
        assert_eq!(train(&there, false, &mut stops_at(11)).unwrap().flow, Flow::Stopped);
        // It goes on where it stopped, and comes to where the cores come to.
        let resumed = Job { resume: true, ..there.clone() };
        let on_device = train(&resumed, false, &mut || false).unwrap();
        let here = train(&job(root.path(), "here"), false, &mut || false).unwrap();
        assert_eq!((on_device.flow, on_device.step), (Flow::Finished, here.step));
        let last = |outcome: &Outcome| outcome.points.last().unwrap().validation;
        assert!((last(&on_device) / last(&here) - 1.0).abs() < 1e-3);
        // And to the same bits as a run on the device that was not stopped.
        let whole = Job { folder: root.path().join("runs/whole"), ..there.clone() };
        train(&whole, false, &mut || false).unwrap();
        let [a, b] = [&whole, &resumed].map(|job| load(&job.folder).unwrap().0);
        assert_eq!(a, b);
        let settings = |settings| Job { settings, ..there.clone() };
        for (job, way) in [
            (Job { replicas: 2, ..there.clone() }, "leave out --replicas"),
            (settings(Settings { accumulate: 2, ..there.settings }), "in pieces"),
            (settings(Settings { numbers: Numbers::Bf16, ..there.settings }), "--precision f32"),
        ] {
            let said = train(&job, false, &mut || false).unwrap_err().to_string();
            assert!(said.contains(way), "{said}");
        }
        let missing = Job { device: Some("tpu".to_owned()), ..job(root.path(), "tpu") };
        let said = train(&missing, false, &mut || false).unwrap_err().to_string();
        assert!(said.contains("no device tpu") && !missing.folder.exists(), "{said}");
    }

    #[test]
    fn a_run_that_was_stopped_ends_with_the_same_bits() {
        let root = tempfile::tempdir().unwrap();
        workspace(root.path());
        let whole = job(root.path(), "whole");
        let outcome = train(&whole, false, &mut || false).unwrap();
        assert_eq!((outcome.flow, outcome.step, outcome.tokens), (Flow::Finished, 30, 32));
        let (first, last) = (&outcome.points[0], &outcome.points[outcome.points.len() - 1]);
        assert!(last.validation < first.validation, "it learns nothing: {first:?} {last:?}");

        let parts = job(root.path(), "parts");
        assert_eq!(train(&parts, false, &mut stops_at(11)).unwrap().flow, Flow::Stopped);
        let taken = train(&parts, false, &mut || false).unwrap_err().to_string();
        assert!(taken.contains("--resume"), "{taken}");
        let resumed = Job { resume: true, ..parts };
        let again = train(&resumed, false, &mut || false).unwrap();
        assert_eq!((again.flow, again.step), (Flow::Finished, 30));
        let end = |outcome: &Outcome| outcome.points.last().map(|p| (p.step, p.validation));
        assert_eq!(end(&again), end(&outcome));
        let [a, b] = [&whole, &resumed].map(|job| load(&job.folder).unwrap());
        assert_eq!(a.0, b.0);
        // The last point is the stored model's.
        let text = Text::find(root.path(), None, 300).unwrap();
        let loss = validation::loss(&a.0, &text.validation, (2, 16), 1 << 20, 1).unwrap();
        assert!((loss - last.validation).abs() < 0.2 * loss, "{loss} {last:?}");
    }

    /// A run, or what is left of it to do.
    fn go(job: &Job, text: &Text, stop: &mut dyn FnMut() -> bool) -> Result<Flow> {
        let resume = job.folder.join("checkpoint").exists();
        let start = if resume { Start::Resume } else { Start::New };
        let held = Folder::open(&job.folder, start)?;
        let saved = resume.then(|| Checkpoint::load(held.path())).transpose()?;
        Ok(train_on(job, held, saved, text, None, false, stop)?.flow)
    }

    #[test]
    fn a_run_that_ends_anywhere_and_goes_on_leaves_what_a_whole_one_does() {
        let root = tempfile::tempdir().unwrap();
        workspace(root.path());
        let text = Text::find(root.path(), None, 300).unwrap();
        // A few steps, each with a point; and more, with checkpoints of their own between the points.
        for (name, steps, every, stride) in
            [("few", 3, CHECKPOINT_EVERY, 1), ("many", 22, Duration::ZERO, 53)]
        {
            let run = |folder: &Path, stop: Option<usize>| -> Result<bool> {
                let job = Job {
                    amount: Amount::Tokens(32 * steps),
                    checkpoint_every: every,
                    threads: 1,
                    folder: folder.to_owned(),
                    ..job(root.path(), "")
                };
                Ok(go(&job, &text, &mut stops_at(stop.map_or(0, |step| step as u64)))?
                    == Flow::Finished)
            };
            let whole = runs::goes_on_from_anywhere(&root.path().join(name), stride, &run);
            let files = fs::read_dir(&whole).unwrap().count();
            assert_eq!(files, 7, "a tokenizer beside what every run leaves");
            let metrics = fs::read_to_string(whole.join(METRICS)).unwrap();
            assert_eq!(metrics.lines().count() as u64, 1 + steps.div_ceil(steps.div_ceil(20)));
            // And whoever stops it, after whichever step.
            for step in (1..steps as usize).step_by(1 + stride / 10) {
                let folder = root.path().join(format!("{name}-{step}"));
                assert!(!run(&folder, Some(step)).unwrap());
                let model = load(&folder).unwrap().0;
                assert!(model.parameters.iter().all(|value| value.is_finite()));
                assert!(run(&folder, None).unwrap());
                assert!(
                    runs::state(&folder) == runs::state(&whole),
                    "{name}: stopped after {step}"
                );
            }
        }
    }

    #[test]
    fn replicas_are_brought_home_for_a_checkpoint_by_the_clock() {
        let root = tempfile::tempdir().unwrap();
        workspace(root.path());
        let text = Text::find(root.path(), None, 300).unwrap();
        let both = |every, folder| {
            let job = Job { replicas: 2, checkpoint_every: every, ..job(root.path(), folder) };
            assert_eq!(go(&job, &text, &mut || false).unwrap(), Flow::Finished);
            runs::state(&job.folder)
        };
        let (often, seldom) = (both(Duration::ZERO, "often"), both(CHECKPOINT_EVERY, "seldom"));
        assert!(often == seldom);
        // Killed between two points, it has lost a step at most.
        let job =
            Job { replicas: 2, checkpoint_every: Duration::ZERO, ..job(root.path(), "killed") };
        fail(Some((150, Fault::Killed)));
        let ended = catch_unwind(AssertUnwindSafe(|| go(&job, &text, &mut || false)));
        fail(None);
        assert!(ended.is_err());
        assert_eq!(go(&job, &text, &mut || false).unwrap(), Flow::Finished);
        assert!(runs::state(&job.folder) == often);
    }

    #[test]
    fn replicas_learn_as_one_model_does() {
        let root = tempfile::tempdir().unwrap();
        workspace(root.path());
        let of = |replicas, folder| {
            let job = Job { replicas, ..job(root.path(), folder) };
            let outcome = train(&job, false, &mut || false).unwrap();
            (outcome.step, outcome.points.last().unwrap().validation)
        };
        let ((steps, one), (same, two)) = (of(1, "one"), of(2, "two"));
        assert!(steps == same && (one - two).abs() < 1e-4 * one, "{one} {two}");
        let three = Job { replicas: 3, ..job(root.path(), "three") };
        let said = train(&three, false, &mut || false).unwrap_err().to_string();
        assert!(said.contains("take 1 to 2"), "{said}");
    }

    #[test]
    fn minutes_become_steps() {
        let root = tempfile::tempdir().unwrap();
        workspace(root.path());
        let job = Job { amount: Amount::Minutes(1e-5), ..job(root.path(), "short") };
        assert!(train(&job, false, &mut || false).unwrap().step >= 1);
    }

    #[test]
    fn a_run_ends_also_while_its_steps_are_timed() {
        let root = tempfile::tempdir().unwrap();
        workspace(root.path());
        for (replicas, last) in [(1, 1), (1, 3), (2, 20)] {
            let timed = Amount::Minutes(600.0); // ten seconds
            let job = Job { amount: timed, replicas, ..job(root.path(), "timed") };
            let mut asked = 0;
            let mut stop = || {
                asked += 1;
                asked >= last
            };
            let said = train(&job, false, &mut stop).unwrap_err().to_string();
            assert!(said.contains("nothing to go on with; begin again"), "{said}");
            assert_eq!(asked, last, "another step was taken");
            assert!(!job.folder.join(TOKENIZER).exists(), "it looks like a run");
        }
        train(&job(root.path(), "timed"), false, &mut || false).unwrap();
    }

    #[test]
    fn a_machine_that_slows_down_ends_in_its_minutes_all_the_same() {
        let root = tempfile::tempdir().unwrap();
        workspace(root.path());
        let slow = |replicas, folder| {
            let job = Job { amount: Amount::Minutes(0.02), replicas, ..job(root.path(), folder) };
            // A step of this model takes a small part of a millisecond; once the steps are planned it takes more than one.
            let planned = job.folder.join(TOKENIZER);
            let mut stop = || {
                if planned.is_file() {
                    std::thread::sleep(Duration::from_millis(1));
                }
                false
            };
            (train(&job, false, &mut stop).unwrap(), job)
        };
        for (replicas, folder) in [(1, "slow"), (2, "both")] {
            let (outcome, job) = slow(replicas, folder);
            let last = outcome.points.last().unwrap();
            assert_eq!((outcome.flow, outcome.step), (Flow::Finished, last.step));
            assert!((0.5..3.0).contains(&last.seconds), "{last:?}");
            // The learning rate fell to its end on the way.
            assert!(last.lr < 0.3 * job.settings.lr, "{last:?}");
        }
    }

    #[test]
    fn what_cannot_be_trained_is_refused_before_a_folder_is_made() {
        let root = tempfile::tempdir().unwrap();
        workspace(root.path());
        let good = job(root.path(), "none");
        let amount = |amount| Job { amount, ..good.clone() };
        let settings = |settings| Job { settings, ..good.clone() };
        let config = Config { width: 1 << 15, layers: 900, hidden: 1 << 17, ..CONFIG };
        let minutes = [0.0, -1.0, f64::NAN, 1e9].map(Amount::Minutes);
        let others = [
            (amount(Amount::Tokens(0)), "1 or more"),
            (amount(Amount::Minutes(1e308)), "1e308 minutes"),
            (settings(Settings { batch: 0, ..good.settings }), "a batch of 0"),
            (settings(Settings { length: 1, ..good.settings }), "a context of 1; "),
            (Job { config, ..good.clone() }, "smaller --batch"),
            (Job { resume: true, ..good.clone() }, "--resume"),
        ];
        for (job, why) in
            minutes.map(|minutes| (amount(minutes), "minutes")).into_iter().chain(others)
        {
            let said = train(&job, false, &mut || false).unwrap_err().to_string();
            assert!(said.contains(why) && !good.folder.exists(), "{said}");
        }
    }
}
