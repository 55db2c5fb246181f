//! What all ranks of a training know alike: the settings and the number of the step, and what follows from both.

use crate::{
    Config, Error, Result,
    train::{Settings, Step, batches, trainer::close},
};
use std::ops::Range;

/// A run as every rank sees it.
#[derive(Clone, Debug)]
pub struct Course {
    /// What the run was told.
    pub settings: Settings,
    /// Steps taken.
    pub step: u64,
    tokens: Vec<u32>,
    targets: Vec<u32>,
}

impl Course {
    /// A run that has taken `step` steps on `stream`.
    ///
    /// # Errors
    /// As [`crate::train::Trainer::new`].
    pub fn new(config: &Config, settings: Settings, stream: &[u32], step: u64) -> Result<Self> {
        settings.check()?;
        config.check_tokens(stream)?;
        let Settings { batch, length, .. } = settings;
        if length == 0 || length > config.context {
            return Err(Error::Length { found: length, context: config.context });
        }
        if batch == 0 {
            return Err(Error::Config("a batch needs at least one sequence".to_owned()));
        }
        if stream.len() <= length {
            return Err(Error::TooShort { found: stream.len(), context: length });
        }
        let rows = batch * length;
        Ok(Self { settings, step, tokens: vec![0; rows], targets: vec![0; rows] })
    }

    /// Draws the next step's batch: the same one on every rank.
    ///
    /// # Errors
    /// As [`batches::draw`].
    pub fn draw(&mut self, stream: &[u32]) -> Result<()> {
        let Settings { length, seed, .. } = self.settings;
        batches::draw(stream, (seed, self.step), length, &mut self.tokens, &mut self.targets)
    }

    /// Tokens and targets of some of the batch's sequences.
    pub fn sequences(&self, sequences: &Range<usize>) -> (&[u32], &[u32]) {
        let length = self.settings.length;
        let rows = sequences.start * length..sequences.end * length;
        (&self.tokens[rows.clone()], &self.targets[rows])
    }

    /// Tokens of a batch.
    pub fn rows(&self) -> usize {
        self.tokens.len()
    }

    /// Ends a step whose batch had this loss and whose gradient this norm; also returns what the gradient is multiplied
    /// with. All ranks have the same two numbers, and so all go on, or all fail.
    ///
    /// # Errors
    /// [`Error::Diverged`] if one of them is no number.
    pub fn close(&mut self, loss: f64, norm: f64) -> Result<(Step, f32)> {
        let closed = close(&self.settings, self.step, loss, norm)?;
        self.step = closed.0.step;
        Ok(closed)
    }
}
