//! A run's whole state, from which it goes on as if nothing had happened.

use crate::{
    config::Settings,
    learning::{loss::Tally, metrics::Epoch, optimizer::State},
};
use lab::run::Journal;
use serde::{Deserialize, Serialize};

/// All of a run's state but what grows with the model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Header {
    /// What the run computes.
    pub settings: Settings,
    /// Epochs that are over.
    pub epoch: usize,
    /// Steps taken in the epoch that is not.
    pub step: usize,
    /// Steps taken in all: Adam's clock, and how many dropout masks were drawn.
    pub steps: i32,
    /// [`Settings::masks`] of the program that began the run.
    #[serde(default)]
    pub masks: u32,
    /// The factor before the losses, in a run that has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loss_scale: Option<LossScale>,
    /// The number of the model's values, and of those that are trained.
    pub numbers: [usize; 2],
    /// The epoch with the smallest loss on held-out images, if there are any.
    pub best: Option<usize>,
    /// Losses and correct predictions of the epoch that is not over.
    pub tally: Tally,
    /// Seconds that it has trained.
    pub epoch_seconds: f64,
    /// Seconds of the whole run, tests included.
    pub seconds: f64,
    /// Metrics of the epochs that are over.
    pub history: Vec<Epoch>,
    /// What it knows about itself.
    #[serde(flatten)]
    pub journal: Journal,
}

impl Header {
    /// Whether it can be of a run that learns from so many images.
    pub fn can_be_of(&self, images: usize) -> bool {
        let Tally { right, seen, .. } = self.tally;
        let batch = self.settings.batch;
        let most = images.min(self.step.saturating_mul(batch)) as u64;
        self.step <= images.div_ceil(batch) && seen <= most && right <= seen
    }
}

/// The factor before the losses of a run in mixed precision, and how it came there: chapter 6 explains it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct LossScale {
    /// The factor.
    pub scale: f32,
    /// Steps since it last changed.
    pub good: u32,
    /// Steps whose gradients overflowed, so that the weights stayed.
    pub skipped: i32,
}

/// A run's whole state.
#[derive(Clone, Debug, PartialEq)]
pub struct Checkpoint {
    /// All but the arrays.
    pub header: Header,
    /// The model's parameters, in the order of [`crate::models::model::parameters`].
    pub weights: Vec<f32>,
    /// What the optimizer remembers, in the same order.
    pub optimizer: State,
    /// The weights after the epoch [`Header::best`]; empty without one.
    pub best: Vec<f32>,
}
