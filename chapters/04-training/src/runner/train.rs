//! A run from its data set to its files: what is there before the first step is checked, the loop runs, and what it
//! comes to is kept and told.

#[cfg(feature = "cuda")]
use crate::learning::engine::cuda;
use crate::{
    Error, Result,
    learning::{
        any::AllModels,
        engine::{Engine, Resident},
        fit::{Done, Flow, fit},
        journal::{Event, Identity, Part},
        metrics::{Epoch, Step},
        sets::{Sets, identity, seen},
        snapshot::Checkpoint,
        step::{Full, Stepper},
        team::{Alone, Team},
        trainer::Trainer,
    },
    models::model::Network,
    runner::{
        checkpoint,
        events::EventFile,
        job::{Config, Start},
        memory,
        outcome::Outcome,
        run::Folder,
        watch::{Begin, Watcher},
    },
};
use dfdx::prelude::*;
use lab::{
    Device,
    data::{self, DataSet},
};
use std::{
    ops::ControlFlow,
    time::{Duration, Instant},
};

/// Finds the data set and trains on it.
///
/// # Errors
/// A choice that can't work, a data set or a folder that can't be used, a checkpoint that does not fit, a
/// loss that diverges: each an [`Error`] with the way out.
pub fn train(config: &Config, watcher: &mut dyn Watcher) -> Result<Outcome> {
    config.settings.check()?;
    let options = data::Options { folder: config.data.clone(), ..data::Options::default() };
    train_on(config, &data::load(&options)?, watcher)
}

/// [`train`], on a data set that is already there.
///
/// # Errors
/// As [`train`].
pub fn train_on(config: &Config, data: &DataSet, watcher: &mut dyn Watcher) -> Result<Outcome> {
    config.settings.check()?;
    let seed = config.settings.seed;
    // ANCHOR: device
    match config.device {
        Device::Cpu => train_with(&Cpu::seed_from_u64(seed), config, data, watcher),
        #[cfg(feature = "cuda")]
        Device::Cuda(n) => train_with(&cuda(n, seed)?, config, data, watcher),
        #[cfg(not(feature = "cuda"))]
        Device::Cuda(n) => Err(Error::Config(format!(
            "this build has no cuda:{n}; use --device cpu, \
             or build with --features cuda"
        ))),
    }
    // ANCHOR_END: device
}

/// [`train_on`], on a device of one kind, its random numbers freshly seeded.
fn train_with<D: AllModels>(
    dev: &D,
    config: &Config,
    data: &DataSet,
    watcher: &mut dyn Watcher,
) -> Result<Outcome> {
    let mut learner = dev.learner_by(&config.settings, config.makers)?;
    train_stepper(&mut *learner, &Alone, dev, config, data, watcher)
}

/// [`train_on`], with any network on a device that is freshly seeded: a reader's own, or chapter 5's faster one. The
/// settings' model is then no more than a name.
///
/// # Errors
/// As [`train`].
pub fn train_network<M: Network<D>, D: Engine>(
    dev: &D,
    config: &Config,
    data: &DataSet,
    watcher: &mut dyn Watcher,
) -> Result<Outcome> {
    let mut stepper = Full::<M, D>::new(dev, &config.settings)?;
    train_stepper(&mut stepper, &Alone, dev, config, data, watcher)
}

/// [`train_on`] with a stepper of the caller's, which decides how a step computes, as one of a [`Team`]. The stepper was
/// just built on `dev`, which was freshly seeded. All of a team have the same settings and the same data set; the one
/// that leads keeps the run's folder.
///
/// # Errors
/// As [`train`], and what the team fails with.
pub fn train_stepper<D: Engine>(
    stepper: &mut dyn Stepper<Device = D>,
    team: &dyn Team,
    dev: &D,
    config: &Config,
    data: &DataSet,
    watcher: &mut dyn Watcher,
) -> Result<Outcome> {
    let settings = &config.settings;
    lab::limits::start_threads(None)?;
    let learned_from = seen(settings, data);
    let identity = identity(&learned_from, &data.test);
    let folder = config.run.as_deref().filter(|_| team.leads());
    let folder = folder.map(|path| Folder::open(path, config.start)).transpose()?;
    let mut run = match saved(folder.as_ref(), team, config, &identity)? {
        Some(saved) => Trainer::resume(stepper, dev, settings.clone(), saved)?,
        None => Trainer::new(stepper, settings.clone(), identity)?,
    };
    let sets = Sets::new(dev, settings, &learned_from, &data.test)?;
    let images = sets.train.len();
    if config.device == Device::Cpu {
        memory::check(settings.model, team.part(settings.batch.min(images)).len())?;
    }
    let begin = Begin {
        settings: settings.clone(),
        device: config.device,
        data: data.about(),
        images: (images, sets.test.len()),
        held_back: sets.held.as_ref().map_or(0, Resident::len),
        steps: images.div_ceil(settings.batch),
        done: (run.at.epoch, run.at.step),
        history: run.at.history.clone(),
    };
    let kept =
        folder.map(|folder| Kept::open(folder, config, &begin.data, &mut run)).transpose()?;
    let (every, saved) = (config.checkpoint_every, Instant::now());
    let mut keeper = Keeper { kept, every, saved, team, watcher };
    keeper.watcher.begin(&begin);
    for words in &sets.doubts {
        keeper.watcher.warn(words);
    }
    let end = fit(&mut run, &sets, team, |run, done| keeper.hear(run, done))?;
    let outcome = Outcome {
        history: run.at.history.clone(),
        seconds: run.at.seconds,
        data: data.about(),
        source: data.source.clone(),
        device: config.device,
        model: settings.model,
        learned: run.stepper.learned(),
        weights: run.weights()?,
        run: keeper.kept.as_ref().map(|kept| kept.folder.path().to_owned()),
        stopped: end.is_break().then_some((run.at.epoch + 1, run.at.step)),
        best: run.at.best,
        loss_scale: run.at.loss_scale,
    };
    if let Some(kept) = &keeper.kept {
        kept.folder.finish(&outcome, &learned_from, &data.test)?;
    }
    keeper.watcher.end(&outcome);
    Ok(outcome)
}

/// Where a run that goes on was: the leader reads it and tells the others.
fn saved(
    folder: Option<&Folder>,
    team: &dyn Team,
    config: &Config,
    data: &Identity,
) -> Result<Option<Checkpoint>> {
    if config.start != Start::Resume {
        return Ok(None);
    }
    let read = match folder {
        Some(folder) => {
            let saved = Checkpoint::load(folder.path())?;
            checkpoint::check(folder.path(), &saved.header, &config.settings, data)?;
            Some(saved)
        }
        None if team.leads() => {
            return Err(Error::Config("a run without a folder can't be resumed".into()));
        }
        None => None,
    };
    team.saved(read)
}

/// A step's loss is written into the curves this often: every one of them would be most of a small model's work.
const EVERY: i32 = 20;

/// A run's folder, which is kept up with the run.
struct Kept {
    folder: Folder,
    events: EventFile,
    /// This part of the run, until it takes a step.
    part: Option<Part>,
}

impl Kept {
    /// The folder of a run that begins, or goes on: then what follows from the checkpoint is made whole.
    fn open<D: Engine>(
        folder: Folder,
        config: &Config,
        data: &str,
        run: &mut Trainer<D>,
    ) -> Result<Self> {
        let part = Part::begins(run.at.steps as u64, &config.device.to_string(), data);
        let begun = Event::now(0, &[]).time;
        let events = EventFile::create(folder.path(), begun, &run.at.events)?;
        let mut kept = Self { folder, events, part: Some(part) };
        if config.start == Start::Resume {
            kept.folder.derive(&run.at)?;
        } else {
            run.at.parts.extend(kept.part.take());
            kept.save(run)?; // first of all: without a checkpoint the folder contains no run
        }
        Ok(kept)
    }

    /// Adds points to the curves.
    fn note<D: Engine>(&mut self, run: &mut Trainer<D>, points: &[(&str, f64)]) -> Result<()> {
        let event = Event::now(run.at.steps as u64, points);
        self.events.add(&event)?;
        run.at.events.push(event);
        Ok(())
    }

    /// Writes the checkpoint, and then what follows from it.
    fn save<D: Engine>(&self, run: &Trainer<D>) -> Result<()> {
        run.checkpoint()?.save(self.folder.path())?;
        self.folder.derive(&run.at)
    }

    /// A step was taken.
    fn step<D: Engine>(&mut self, run: &mut Trainer<D>, step: &Step) -> Result<()> {
        run.at.parts.extend(self.part.take());
        if run.at.steps % EVERY == 0 {
            self.note(run, &[("loss/step", step.loss), ("learning_rate", step.lr)])?;
        }
        Ok(())
    }

    /// An epoch is over.
    fn epoch<D: Engine>(&mut self, run: &mut Trainer<D>, epoch: &Epoch) -> Result<()> {
        let mut points = vec![
            ("loss/train", epoch.train_loss),
            ("loss/test", epoch.test_loss),
            ("accuracy/train", epoch.train_accuracy),
            ("accuracy/test", epoch.test_accuracy),
            ("images_per_second", epoch.images_per_second),
        ];
        points.extend(epoch.validation_loss.map(|loss| ("loss/validation", loss)));
        points.extend(epoch.validation_accuracy.map(|share| ("accuracy/validation", share)));
        self.note(run, &points)
    }
}

/// Keeps a run in its folder, and tells those who watch it.
struct Keeper<'r> {
    kept: Option<Kept>,
    every: Duration,
    /// When the last checkpoint was written.
    saved: Instant,
    team: &'r dyn Team,
    watcher: &'r mut dyn Watcher,
}

impl Keeper<'_> {
    /// What the loop has done; whether it is to go on.
    fn hear<D: Engine>(&mut self, run: &mut Trainer<D>, done: Done) -> Flow {
        match done {
            Done::Step(step) => {
                if let Some(kept) = &mut self.kept {
                    kept.step(run, &step)?;
                }
                self.watcher.step(&step);
                if let Some(words) = self.team.warning() {
                    self.watcher.warn(&words);
                }
                let stop = self.team.stops(self.watcher.stop());
                if stop || self.saved.elapsed() >= self.every {
                    run.lap_of_training();
                    self.save(run)?;
                }
                if stop {
                    return Ok(ControlFlow::Break(()));
                }
            }
            Done::Tested if self.watcher.stop_testing() => return Ok(ControlFlow::Break(())),
            Done::Tested => {}
            Done::Untested => {
                self.save(run)?;
                return Ok(ControlFlow::Break(()));
            }
            Done::Epoch => {
                let Some(epoch) = run.at.history.last().copied() else {
                    return Ok(ControlFlow::Continue(()));
                };
                if let Some(kept) = &mut self.kept {
                    kept.epoch(run, &epoch)?;
                }
                self.save(run)?;
                self.watcher.epoch(&epoch);
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    fn save<D: Engine>(&mut self, run: &Trainer<D>) -> Result<()> {
        if let Some(kept) = &self.kept {
            kept.save(run)?;
        }
        self.saved = Instant::now();
        Ok(())
    }
}
