//! A run from its data set to its files: what is there before the first step is checked, the loop runs, and what it
//! comes to is kept and told.

use crate::{
    Error, Result,
    learning::{
        any::AllModels,
        engine::Engine,
        fit::{Done, Flow, fit},
        memory,
        metrics::Epoch,
        sets::{Sets, identity, seen},
        snapshot::Checkpoint,
        step::Stepper,
        team::{Alone, Team},
        trainer::Trainer,
    },
    runner::{
        checkpoint,
        curves::curves,
        export,
        form::Form,
        job::{Config, Start},
        outcome::Outcome,
        serve::Classifier,
        watch::{Begin, Watcher},
    },
};
#[cfg(feature = "cuda")]
use crate::{config::EngineKind, learning::engine::cuda};
use dfdx::prelude::*;
use lab::{
    Device,
    data::{self, DataSet, Split},
    run::{CHECKPOINT, Folder, Identity, Kept, MODEL, Part, checkpoint::DAMAGED},
};
use std::{ops::ControlFlow, path::Path};

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
        Device::Cuda(n) if config.settings.engine == EngineKind::Dfdx => {
            train_with(&cuda(n, seed)?, config, data, watcher)
        }
        // Another engine's device; the host is a CPU.
        device => {
            let dev = Cpu::seed_from_u64(seed);
            let make = config.makers.device;
            let mut learner = make(&dev, &config.settings, device)?;
            train_stepper(&mut *learner, &Alone, &dev, config, data, watcher)
        }
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
    if !run.at.can_be_of(images) {
        let path = config.run.clone().unwrap_or_default().join(CHECKPOINT);
        return Err(lab::Error::damaged(&path, DAMAGED).into());
    }
    if config.device == Device::Cpu {
        let part = team.part(settings.batch.min(images)).len();
        memory::check(settings, part, (config.makers.bytes)(settings, part))?;
    } else if settings.accumulate.is_some() || settings.recompute > 0 {
        return Err(Error::Config(
            "--accumulate and --recompute are for the cores; take --device cpu".into(),
        ));
    }
    let begin = Begin {
        settings: settings.clone(),
        device: config.device,
        data: data.about(),
        images: (images, sets.test.len()),
        steps: images.div_ceil(settings.batch),
        done: (run.at.epoch, run.at.step),
        history: run.at.history.clone(),
    };
    let kept = folder.map(|folder| open(folder, config, &begin.data, &mut run)).transpose()?;
    let mut keeper = Keeper { kept, team, watcher };
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
        finish(kept.folder.path(), &outcome, &learned_from, &data.test)?;
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

/// The folder of a run that begins, or goes on: then what follows from the checkpoint is made whole.
fn open<D: Engine>(
    folder: Folder,
    config: &Config,
    data: &str,
    run: &mut Trainer<D>,
) -> Result<Kept> {
    let part = Part::begins(run.at.steps as u64, &config.device.to_string(), data);
    let mut kept = Kept::open(folder, &mut run.at.journal, part, config.checkpoint_every)?;
    if config.start == Start::Resume {
        derive(&mut kept, run)?;
    } else {
        save(&mut kept, run)?; // first of all: without a checkpoint the folder contains no run
    }
    Ok(kept)
}

/// Writes the checkpoint, and then what follows from it.
fn save<D: Engine>(kept: &mut Kept, run: &Trainer<D>) -> Result<()> {
    run.checkpoint()?.save(kept.folder.path())?;
    derive(kept, run)
}

/// Writes what follows from the checkpoint: metrics and curves.
fn derive<D: Engine>(kept: &mut Kept, run: &Trainer<D>) -> Result<()> {
    let about = serde_json::json!({ "settings": run.at.settings, "parameters": run.at.numbers[1] });
    Ok(kept.derive(&run.at.journal, about, &run.at.history, || curves(&run.at.history))?)
}

/// Writes the weights, with what the training images look like and how the weights do on test images in fewer bits.
fn finish(folder: &Path, outcome: &Outcome, train: &Split, test: &Split) -> Result<()> {
    let trained = Classifier::from_weights(outcome.model, &outcome.weights)?;
    // One who has stopped a run does not wait for it.
    let tested = if outcome.stopped.is_some() { None } else { export::tested(&trained, test)? };
    let form = Form::of(train, &outcome.source);
    trained.with_tested(tested).with_form(form).save(&folder.join(MODEL))
}

/// What an epoch adds to the curves.
fn points(epoch: &Epoch) -> Vec<(&'static str, f64)> {
    let mut points = vec![
        ("loss/train", epoch.train_loss),
        ("loss/test", epoch.test_loss),
        ("accuracy/train", epoch.train_accuracy),
        ("accuracy/test", epoch.test_accuracy),
        ("images_per_second", epoch.images_per_second),
    ];
    points.extend(epoch.validation_loss.map(|loss| ("loss/validation", loss)));
    points.extend(epoch.validation_accuracy.map(|share| ("accuracy/validation", share)));
    points
}

/// Keeps a run in its folder, and tells those who watch it.
struct Keeper<'r> {
    kept: Option<Kept>,
    team: &'r dyn Team,
    watcher: &'r mut dyn Watcher,
}

impl Keeper<'_> {
    /// What the loop has done; whether it is to go on.
    fn hear<D: Engine>(&mut self, run: &mut Trainer<D>, done: Done) -> Flow {
        match done {
            Done::Step(step) => {
                let taken = run.at.steps;
                if let Some(kept) = &mut self.kept {
                    kept.step(&mut run.at.journal);
                    if taken % EVERY == 0 {
                        let points = [("loss/step", step.loss), ("learning_rate", step.lr)];
                        kept.note(&mut run.at.journal, taken as u64, &points)?;
                    }
                }
                self.watcher.step(&step);
                if let Some(words) = self.team.warning() {
                    self.watcher.warn(&words);
                }
                let stop = self.team.stops(self.watcher.stop());
                let look = stop || self.kept.as_ref().is_some_and(Kept::is_late);
                run.waits = look && run.begun > 0;
                if run.waits {
                    return Ok(ControlFlow::Continue(()));
                }
                if look {
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
                    kept.note(&mut run.at.journal, run.at.steps as u64, &points(&epoch))?;
                }
                self.save(run)?;
                self.watcher.epoch(&epoch);
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    fn save<D: Engine>(&mut self, run: &Trainer<D>) -> Result<()> {
        self.kept.as_mut().map_or(Ok(()), |kept| save(kept, run))
    }
}
