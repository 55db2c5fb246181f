//! What can go wrong in training, each as one message that says what to do.

use lab::out::short;
use std::{fmt::Display, path::PathBuf};

/// A `Result` whose error is [`enum@Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What can go wrong in training.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The lab's own errors: files, data sets, plots.
    #[error(transparent)]
    Lab(#[from] lab::Error),
    /// A choice that can't work, such as a batch of no images.
    #[error("{0}")]
    Config(String),
    /// A checkpoint belongs to a run with other choices.
    #[error(
        "{} is from a run with {flag} {saved}, not {asked}; leave {flag} out to go on with it, or start a new run without --resume",
        .path.display()
    )]
    Mismatch {
        /// The checkpoint.
        path: PathBuf,
        /// The option, such as `--lr`.
        flag: &'static str,
        /// Its value in the checkpoint.
        saved: String,
        /// Its value now.
        asked: String,
    },
    /// The loss, a weight or one of the optimizer's means is no longer finite, or too large to train on.
    #[error("{what} in step {step} of epoch {epoch}, with {}", smaller(*.lr, *.chosen, *.decay))]
    Diverged {
        /// The epoch, from 1.
        epoch: usize,
        /// The step in it, from 1.
        step: usize,
        /// The learning rate of that step.
        lr: f64,
        /// The learning rate that was chosen; a schedule made the other one from it.
        chosen: f64,
        /// The weight decay that was chosen.
        decay: f64,
        /// What happened: `the loss became 1.2e5`.
        what: String,
    },
    /// Those who train together can't go on together.
    #[error(transparent)]
    Team(Box<dyn std::error::Error + Send + Sync>),
    /// The device failed.
    #[error("the device failed: {0}; a smaller --batch needs less memory")]
    Device(String),
}

/// The choice that is too large, and a smaller one: the learning rate, unless the decay takes more than a whole weight.
fn smaller(lr: f64, chosen: f64, decay: f64) -> String {
    if decay > 1.0 {
        let decay = short(decay);
        return format!(
            "a weight decay of {decay}; start again with a smaller one, such as --decay 0.01"
        );
    }
    // Not 0.00030000000000000003, nor what a schedule made of 1000.
    let brief = |rate: f64| short(format!("{rate:.2e}").parse().unwrap_or(rate));
    let (lr, next) = (brief(lr), brief(if chosen > 0.01 { 0.001 } else { chosen / 10.0 }));
    format!("a learning rate of {lr}; start again with a smaller one, such as --lr {next}")
}

impl Error {
    /// An [`Error::Device`] from dfdx's message.
    pub fn device(error: impl Display) -> Self {
        Self::Device(error.to_string())
    }
}

lab::into_lab!(Error);
