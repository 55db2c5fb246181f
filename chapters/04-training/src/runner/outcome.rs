//! What a run has reached.

use crate::{
    config::Model,
    learning::{metrics::Epoch, snapshot::LossScale},
};
use lab::{Device, data::Source};
use std::path::PathBuf;

/// What a run has reached.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The metrics of each epoch.
    pub history: Vec<Epoch>,
    /// Seconds of training and testing, those before a resume included.
    pub seconds: f64,
    /// The data set, in words.
    pub data: String,
    /// Where the data set came from.
    pub source: Source,
    /// Where it was computed.
    pub device: Device,
    /// The model.
    pub model: Model,
    /// Its parameters, in the order of [`crate::models::model::parameters`].
    pub weights: Vec<f32>,
    /// How many of them are trained.
    pub learned: usize,
    /// Where the run left its files, if it has a folder.
    pub run: Option<PathBuf>,
    /// Epoch and step (from 1) after which it was stopped, if it was.
    pub stopped: Option<(usize, usize)>,
    /// The epoch whose weights these are, if it is not the last: the best one on held-out images.
    pub best: Option<usize>,
    /// The factor before its losses, if it had one.
    pub loss_scale: Option<LossScale>,
}

impl Outcome {
    /// The epoch whose weights were kept.
    pub fn kept(&self) -> Option<&Epoch> {
        match self.best {
            Some(best) => self.history.iter().find(|epoch| epoch.epoch == best),
            None => self.history.last(),
        }
    }

    /// The test accuracy of the weights.
    pub fn test_accuracy(&self) -> Option<f64> {
        self.kept().map(|epoch| epoch.test_accuracy)
    }

    /// The last line of `train`: `test accuracy 97.62% after 10 epochs in 12.3 s`.
    pub fn summary(&self) -> String {
        let epochs = self.history.len();
        let Some(accuracy) = self.test_accuracy() else {
            return format!(
                "stopped before the end of the first epoch, after {:.1} s",
                self.seconds
            );
        };
        format!(
            "test accuracy {:.2}% after {epochs} epoch{} in {:.1} s",
            100.0 * accuracy,
            if epochs == 1 { "" } else { "s" },
            self.seconds
        )
    }
}
