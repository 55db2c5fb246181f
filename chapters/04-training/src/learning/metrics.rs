//! What is known of a step, and of an epoch.

use crate::learning::loss::Tally;
use serde::{Deserialize, Serialize};

/// A step that was taken.
#[derive(Clone, Copy, Debug)]
pub struct Step {
    /// The epoch, from 1.
    pub epoch: usize,
    /// The step in it, from 1.
    pub step: usize,
    /// Steps of an epoch.
    pub steps: usize,
    /// The batch's mean loss.
    pub loss: f64,
    /// The learning rate of this step.
    pub lr: f64,
    /// The epoch's losses and correct predictions so far.
    pub tally: Tally,
}

/// An epoch's metrics: a line of `metrics.jsonl`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Epoch {
    /// The epoch, from 1.
    pub epoch: usize,
    /// Mean loss of a training image, with dropout, while the weights changed.
    pub train_loss: f64,
    /// Accuracy among them.
    pub train_accuracy: f64,
    /// Mean loss of a test image, after the epoch.
    pub test_loss: f64,
    /// Accuracy among them.
    pub test_accuracy: f64,
    /// Mean loss of a held-out image, if there are any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub validation_loss: Option<f64>,
    /// Accuracy among them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub validation_accuracy: Option<f64>,
    /// Seconds of training, without the test.
    pub seconds: f64,
    /// Training images per second.
    pub images_per_second: f64,
}

impl std::fmt::Display for Epoch {
    /// The line that the terminal shows.
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        write!(
            f,
            "epoch {:2}  train loss {:.4}, accuracy {:.2}%  test loss {:.4}, accuracy {:.2}%  \
             {:.2} s, {:.0} images/s",
            self.epoch,
            self.train_loss,
            100.0 * self.train_accuracy,
            self.test_loss,
            100.0 * self.test_accuracy,
            self.seconds,
            self.images_per_second
        )
    }
}
