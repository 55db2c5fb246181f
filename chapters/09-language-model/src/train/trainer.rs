//! A training step: draw, forward, backward, clip, update.

use crate::{
    Error, Model, Result,
    passes::Passes,
    train::{
        adamw::{self, Moments},
        batches, clip, schedule,
        settings::Settings,
    },
};
use matmul::parallel::available;
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// What a step came to.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Step {
    /// Its number, from 1.
    pub step: u64,
    /// The batch's mean loss, in nats a token, before the update.
    pub loss: f64,
    /// The learning rate.
    pub lr: f64,
    /// The gradient's norm before it was clipped.
    pub norm: f64,
}

/// A model that learns, and all that its next step depends on.
pub struct Trainer {
    /// The model.
    pub model: Model,
    /// What the run was told.
    pub settings: Settings,
    /// Steps taken.
    pub step: u64,
    /// The optimizer's memory.
    pub moments: Moments,
    tensors: Vec<(Range<usize>, bool)>,
    /// What lies between parameters and gradient.
    pub passes: Passes,
    gradient: Vec<f32>,
    parts: Vec<f32>,
    tokens: Vec<u32>,
    targets: Vec<u32>,
    threads: usize,
}

impl Trainer {
    /// A run that begins, on `stream`, on so many threads (0 for all).
    ///
    /// # Errors
    /// [`Error::Config`], [`Error::Length`], [`Error::TooShort`] or [`Error::Token`] if model, settings and stream do not fit
    /// each other.
    pub fn new(model: Model, settings: Settings, stream: &[u32], threads: usize) -> Result<Self> {
        settings.check()?;
        model.config.check_tokens(stream)?;
        if stream.len() <= settings.length {
            return Err(Error::TooShort { found: stream.len(), context: settings.length });
        }
        let rows = settings.batch * settings.length;
        let moments = Moments::zeros(model.layout.len);
        Ok(Self {
            settings,
            step: 0,
            tensors: adamw::tensors(&model.layout, &model.config),
            passes: {
                let (batch, pieces) = (settings.batch / settings.accumulate, settings.accumulate);
                let passes = Passes::new(model.config, batch, settings.length, threads)?;
                passes.of_pieces(pieces).of_numbers(settings.numbers)
            },
            gradient: vec![0.0; model.layout.len],
            parts: Vec::new(),
            tokens: vec![0; rows],
            targets: vec![0; rows],
            threads: if threads == 0 { available() } else { threads },
            moments,
            model,
        })
    }

    /// Tokens of a step.
    pub fn tokens(&self) -> usize {
        self.tokens.len()
    }

    /// The last step's gradient, in the layout of the parameters, before it was clipped.
    pub fn gradient(&self) -> &[f32] {
        &self.gradient
    }

    /// The next step on the stream. Nothing changes if it fails.
    ///
    /// # Errors
    /// [`Error::Diverged`] if the loss or the gradient's norm is no number.
    pub fn step(&mut self, stream: &[u32]) -> Result<Step> {
        let Settings { length, seed, .. } = self.settings;
        batches::draw(stream, (seed, self.step), length, &mut self.tokens, &mut self.targets)?;
        let (mut loss, rows) = (0.0, self.passes.rows());
        let pieces = self.tokens.chunks_exact(rows).zip(self.targets.chunks_exact(rows));
        for (at, piece) in pieces.enumerate() {
            loss += self.passes.gradient(&self.model, piece, &mut self.gradient, at > 0)?;
        }
        let norm = clip::norm(&self.gradient, &mut self.parts, self.threads);
        let (step, factor) = close(&self.settings, self.step, loss, norm)?;
        adamw::update(
            &self.settings.rule,
            (step.step, step.lr, factor),
            &mut self.model.parameters,
            &mut self.moments,
            &self.gradient,
            &self.tensors,
            self.threads,
        );
        self.step = step.step;
        Ok(step)
    }
}

/// The step after `taken` ones, whose batch had this loss and whose gradient this norm, and what the gradient is multiplied
/// with.
///
/// # Errors
/// [`Error::Diverged`] if one of the two is no number.
pub(crate) fn close(settings: &Settings, taken: u64, loss: f64, norm: f64) -> Result<(Step, f32)> {
    let (step, lr) = (taken + 1, schedule::rate(settings, taken));
    if !loss.is_finite() || !norm.is_finite() {
        return Err(Error::Diverged { step, lr, loss });
    }
    Ok((Step { step, loss, lr, norm }, clip::factor(norm, settings.clip)))
}
