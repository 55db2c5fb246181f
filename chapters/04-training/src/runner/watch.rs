//! Who is told about the progress of a run, and who may stop it.

use crate::{config::Settings, runner::outcome::Outcome};
use lab::Device;

pub use crate::learning::metrics::{Epoch, Step};

/// What is known before the first step.
#[derive(Clone, Debug)]
pub struct Begin {
    /// What the run computes.
    pub settings: Settings,
    /// Where.
    pub device: Device,
    /// The data set, in words.
    pub data: String,
    /// Training and test images.
    pub images: (usize, usize),
    /// Steps of an epoch.
    pub steps: usize,
    /// Epochs and further steps that an earlier part of this run has taken: (0, 0) for a new run.
    pub done: (usize, usize),
    /// The metrics of those epochs.
    pub history: Vec<Epoch>,
}

/// Follows a run, from the thread that trains. Every method has a default that does nothing.
pub trait Watcher: Send {
    /// The run begins or goes on.
    fn begin(&mut self, _begin: &Begin) {}
    /// A step was taken.
    fn step(&mut self, _step: &Step) {}
    /// An epoch is over and tested.
    fn epoch(&mut self, _epoch: &Epoch) {}
    /// Something is not as it should be, and the run goes on.
    fn warn(&mut self, _words: &str) {}
    /// The run is over.
    fn end(&mut self, _outcome: &Outcome) {}
    /// Asked after every step: whether to leave a checkpoint and stop.
    fn stop(&mut self) -> bool {
        false
    }
    /// Asked after every batch of a test: the same.
    fn stop_testing(&mut self) -> bool {
        false
    }
}

/// Watches nothing and never stops a run.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

impl Watcher for Silent {}
