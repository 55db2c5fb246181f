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
    passes: Passes,
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Config, product::Numbers};
    use backprop::check::error_f32;

    #[test]
    fn bf16_learns_as_f32_does_on_any_number_of_threads() {
        let stream: Vec<u32> = (0..900_u32).map(|i| (i * 5 + i / 50) % 31).collect();
        let config =
            Config { vocabulary: 31, context: 16, width: 24, heads: 2, layers: 2, hidden: 40 };
        let of = |numbers, threads| {
            let usual = Settings { numbers, steps: 30, warmup: 3, lr: 0.01, ..Settings::default() };
            let settings = Settings { batch: 4, length: 16, ..usual };
            let mut trainer =
                Trainer::new(Model::new(config, 1).unwrap(), settings, &stream, threads).unwrap();
            let losses: Vec<f64> = (0..30).map(|_| trainer.step(&stream).unwrap().loss).collect();
            (losses, trainer.model.parameters)
        };
        let (wanted, found) = (of(Numbers::F32, 1), of(Numbers::Bf16, 1));
        assert!(wanted.0[29] < 0.8 * wanted.0[0], "{:?}", wanted.0);
        for (wanted, found) in wanted.0.iter().zip(&found.0) {
            assert!((found / wanted - 1.0).abs() < 0.02, "{found} {wanted}");
        }
        assert!(wanted.1 != found.1, "nothing was rounded");
        assert!(found == of(Numbers::Bf16, 3));
    }

    #[test]
    fn a_batch_in_pieces_is_the_batch() {
        let stream: Vec<u32> = (0..400_u32).map(|i| i * i % 31).collect();
        let config =
            Config { vocabulary: 31, context: 9, width: 12, heads: 2, layers: 2, hidden: 10 };
        let of = |accumulate| {
            let settings =
                Settings { batch: 6, accumulate, length: 9, steps: 5, ..Settings::default() };
            let mut trainer = Trainer::new(Model::new(config, 1)?, settings, &stream, 1)?;
            let first = trainer.step(&stream)?;
            Ok::<_, Error>((first, trainer))
        };
        let (step, whole) = of(1).unwrap();
        for pieces in [2, 3, 6] {
            let (same, parts) = of(pieces).unwrap();
            assert!((same.loss / step.loss - 1.0).abs() < 1e-6, "{pieces}: {same:?} {step:?}");
            assert!(error_f32(parts.gradient(), whole.gradient()) < 1e-5, "{pieces}");
            assert!(parts.passes.bytes() < whole.passes.bytes());
        }
        for wrong in [0, 4, 7] {
            let said = of(wrong).err().unwrap().to_string();
            assert!(said.contains("equal pieces"), "{said}");
        }
    }
}
