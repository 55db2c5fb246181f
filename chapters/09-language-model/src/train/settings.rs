//! What a run can be told.

use crate::{Error, Result, product::Numbers, train::adamw::AdamW};
use mixed_precision::amp::scaler::{PYTORCH, Scaler, Scaling};
use serde::{Deserialize, Serialize};

/// Pieces of a batch in a checkpoint that names none.
fn one() -> usize {
    1
}

/// What a run can be told.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Settings {
    /// Sequences of a batch.
    pub batch: usize,
    /// Pieces of a batch, one after the other, whose gradients add up: the activations of one are in memory (chapter 5).
    #[serde(default = "one")]
    pub accumulate: usize,
    /// Segments of the model, of which nothing is kept but what goes in: the backward pass computes the rest again (chapter 5).
    #[serde(default)]
    pub recompute: Option<usize>,
    /// Tokens of a sequence: no more than the model's context.
    pub length: usize,
    /// Steps of the whole run.
    pub steps: u64,
    /// The highest learning rate.
    pub lr: f64,
    /// Steps over which the learning rate rises.
    pub warmup: u64,
    /// The gradient's longest norm.
    pub clip: f64,
    /// The optimizer's constants.
    pub rule: AdamW,
    /// What the batches are drawn by.
    pub seed: u64,
    /// Seconds that the run shall take, where it is planned by the clock: how many steps that makes is found on the way.
    #[serde(default)]
    pub seconds: Option<f64>,
    /// What the passes multiply; parameters, sums and the optimizer are in f32.
    #[serde(default)]
    pub numbers: Numbers,
}

impl Default for Settings {
    /// For [`crate::Config::tiny`].
    fn default() -> Self {
        Self {
            batch: 16,
            accumulate: 1,
            recompute: None,
            length: 128,
            steps: 1000,
            lr: 3e-3,
            warmup: 50,
            clip: 1.0,
            rule: AdamW::default(),
            seed: 0,
            seconds: None,
            numbers: Numbers::F32,
        }
    }
}

impl Settings {
    /// The factor before derivatives at the beginning of a run whose numbers need one.
    pub fn scaler(&self) -> Option<Scaler> {
        (self.numbers == Numbers::F16).then(|| Scaler::new(Scaling::Dynamic(PYTORCH)))
    }

    /// Refuses what no run of the command has.
    ///
    /// # Errors
    /// As [`Settings::check`]; [`Error::Config`] for a step of too few tokens, or of too many.
    pub fn check_run(&self) -> Result<()> {
        self.check()?;
        let Self { batch, length, .. } = *self;
        if length < 2 {
            return Err(Error::Config(format!(
                "a context of {length}; a model that sees one token before the next takes 2 or more"
            )));
        }
        if batch.checked_mul(length).is_none_or(|rows| !(1..1 << 24).contains(&rows)) {
            return Err(Error::Config(format!(
                "a batch of {batch} sequences of {length} tokens; a step takes 1 to {} tokens",
                (1 << 24) - 1
            )));
        }
        Ok(())
    }

    /// # Errors
    /// [`Error::Config`] if no run can have these settings.
    pub fn check(&self) -> Result<()> {
        let Self { batch, accumulate, .. } = *self;
        if accumulate == 0 || !batch.is_multiple_of(accumulate) {
            return Err(Error::Config(format!(
                "a batch of {batch} sequences can't be cut into {accumulate} equal pieces; take a number that divides it"
            )));
        }
        let AdamW { beta1, beta2, eps, decay } = self.rule;
        // A step leaves a part of each weight. Where it does not, the decay is too large, or the rate is, if that is above 1.
        let part = (0.0..1.0).contains(&(decay * self.lr.min(1.0)));
        let [lr, clip, least] = [self.lr, self.clip, eps].map(|value| value as f32); // of a step
        let numbers = [
            ("learning rate", self.lr, lr > 0.0, "a number above 0, such as --lr 0.001"),
            ("limit of the gradient's norm", self.clip, clip > 0.0, "a number above 0"),
            ("decay", decay, part, "a number from 0 to below 1 over --lr, such as --decay 0.1"),
            ("beta1", beta1, (0.0..1.0).contains(&beta1), "0 to below 1"),
            ("beta2", beta2, (0.0..1.0).contains(&beta2), "0 to below 1"),
            ("eps", eps, least > 0.0, "a number above 0"),
        ];
        for (name, value, right, range) in numbers {
            if !right || !(value as f32).is_finite() {
                return Err(Error::Config(format!("the {name} is {value:?}; it must be {range}")));
            }
        }
        Ok(())
    }
}
