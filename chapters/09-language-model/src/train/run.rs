//! The loop around the step, and who is told about it.

use crate::{
    Result,
    train::{Step, Trainer},
};

/// Follows a run, from the thread that trains. Every method has a default that does nothing.
pub trait Reporter {
    /// The run begins, or goes on after `trainer.step` steps.
    fn begin(&mut self, _trainer: &Trainer) {}
    /// A step was taken.
    ///
    /// # Errors
    /// What the run is to end with.
    fn step(&mut self, _trainer: &Trainer, _step: &Step) -> Result<()> {
        Ok(())
    }
    /// Asked after every step: how many steps the run has from now on, if somebody plans anew.
    fn plan(&mut self) -> Option<u64> {
        None
    }
    /// Asked after every step: whether to stop.
    fn stop(&mut self) -> bool {
        false
    }
}

/// What takes a trainer's steps in its place, and hands back what it came to: replicas, or a device.
pub trait Backend {
    /// The next step on the stream. Nothing changes if it fails.
    ///
    /// # Errors
    /// As [`Trainer::step`]; the device's, and the other ranks'.
    fn step(&mut self, stream: &[u32]) -> Result<Step>;
    /// [`Backend::step`]; those behind it may be begun, up to number `last`.
    ///
    /// # Errors
    /// As [`Backend::step`].
    fn step_of(&mut self, stream: &[u32], _last: u64) -> Result<Step> {
        self.step(stream)
    }
    /// Steps that are begun and have not ended.
    fn ahead(&self) -> u64 {
        0
    }
    /// The run has so many steps from now on.
    fn plan(&mut self, steps: u64);
    /// Brings a trainer to the same step, behind which none is begun: its parameters, its optimizer's memory and its step.
    ///
    /// # Errors
    /// The device's.
    fn hand_back(&mut self, trainer: &mut Trainer) -> Result<()>;
    /// Whether others who take them were asked to stop.
    fn stops(&self) -> bool {
        false
    }
    /// What the user is told before the first step.
    fn note(&self) -> Option<&str> {
        None
    }
}

/// Watches nothing and never stops a run.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

impl Reporter for Silent {}

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    /// All steps are taken.
    Finished,
    /// The reporter stopped it.
    Stopped,
}

/// Takes steps until the run is finished or stopped. Called again, it goes on as if nothing had happened.
///
/// # Errors
/// As [`Trainer::step`] and [`Reporter::step`].
pub fn run(trainer: &mut Trainer, stream: &[u32], reporter: &mut dyn Reporter) -> Result<Flow> {
    // ANCHOR: run
    reporter.begin(trainer);
    while trainer.step < trainer.settings.steps {
        let step = trainer.step(stream)?;
        reporter.step(trainer, &step)?;
        if let Some(steps) = reporter.plan() {
            trainer.settings.steps = steps;
        }
        if reporter.stop() {
            return Ok(Flow::Stopped);
        }
    }
    Ok(Flow::Finished)
    // ANCHOR_END: run
}
