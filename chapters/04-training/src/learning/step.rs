//! A step: forward, backward, update.

use crate::{
    Error, Result,
    config::Settings,
    learning::{
        engine::Engine,
        optimizer::{Optimizer, State},
        snapshot::{Checkpoint, LossScale},
    },
    models::model::{self, Images, Network, Targets},
};
use dfdx::{losses::cross_entropy_with_logits_loss, prelude::*};

/// The scores of a batch's pictures, on the host.
pub type Scores = Result<Vec<f32>>;

/// What learns in a run: a model and its optimizer, in a number format. It is
/// just built, on a device that is freshly seeded. Errors are the device's.
#[allow(clippy::missing_errors_doc)]
// ANCHOR: stepper
pub trait Stepper {
    /// Where it computes.
    type Device: Engine;

    /// Takes one step at this learning rate, and returns the batch's scores.
    fn step(
        &mut self,
        lr: f64,
        images: Images<Self::Device>,
        truth: Targets<Self::Device>,
    ) -> Scores;

    /// The scores for pictures that it does not learn from.
    fn scores(&self, images: Images<Self::Device>) -> Result<Vec<f32>>;

    /// All numbers of the model, as [`model::parameters`] has them.
    fn parameters(&self) -> Result<Vec<f32>>;

    /// How many of them it learns.
    fn learned(&self) -> usize;

    /// What its optimizer remembers.
    fn state(&self) -> Result<State>;

    // And for checkpoints:
    // ANCHOR_END: stepper

    /// The factor before its losses, if it has one: see chapter 6.
    fn loss_scale(&self) -> Option<LossScale> {
        None
    }

    /// Goes on from a checkpoint.
    fn restore(&mut self, dev: &Self::Device, saved: &Checkpoint) -> Result<()>;
}

/// A model of chapter 4 and its optimizer, both in f32.
pub struct Full<M, D: Engine> {
    /// The model.
    pub model: M,
    /// Its optimizer.
    pub optimizer: Optimizer<D>,
    /// Gradients of the parameters, all zero between steps. They are lent to a step.
    pub grads: Gradients<f32, D>,
}

impl<M: Network<D>, D: Engine> Full<M, D> {
    /// A model with random weights and an optimizer that has seen nothing.
    ///
    /// # Errors
    /// [`Error::Device`] if there is no memory for them.
    pub fn new(dev: &D, settings: &Settings) -> Result<Self> {
        let mut model: M = model::build(dev)?;
        model.set_dropout(settings.dropout as f32);
        let optimizer = Optimizer::new(&model, settings.optimizer, settings.decay)?;
        let grads = model.try_alloc_grads().map_err(Error::device)?;
        Ok(Self { model, optimizer, grads })
    }
}

impl<M: Network<D>, D: Engine> Stepper for Full<M, D> {
    type Device = D;

    // ANCHOR: step
    /// One step on a batch. Returns the scores that its loss is made of.
    fn step(&mut self, lr: f64, images: Images<D>, targets: Targets<D>) -> Scores {
        let grads = std::mem::replace(&mut self.grads, Gradients::leaky());
        // Forward: scores for each class, noting every operation on a tape.
        let scores = self.model.learn(images.traced(grads)).map_err(Error::device)?;
        let seen = scores.retaped::<NoneTape>();
        // Backward: the tape in reverse gives each weight's gradient.
        let mut grads = cross_entropy_with_logits_loss(scores, targets)
            .try_backward()
            .map_err(Error::device)?;
        // Update: every weight moves a little against its gradient.
        self.optimizer.update(lr, &mut self.model, &mut grads)?;
        self.model.try_zero_grads(&mut grads).map_err(Error::device)?;
        self.grads = grads;
        // Only now, when all is under way, wait for the device.
        Ok(seen.as_vec())
    }
    // ANCHOR_END: step

    fn scores(&self, images: Images<D>) -> Result<Vec<f32>> {
        Ok(self.model.predict(images).map_err(Error::device)?.as_vec())
    }

    fn parameters(&self) -> Result<Vec<f32>> {
        model::parameters(&self.model)
    }

    fn learned(&self) -> usize {
        self.model.num_trainable_params()
    }

    fn state(&self) -> Result<State> {
        self.optimizer.state(&self.model)
    }

    // ANCHOR: resume
    /// Goes on from a checkpoint, just built on a device that is freshly
    /// seeded.
    fn restore(&mut self, dev: &D, saved: &Checkpoint) -> Result<()> {
        // The same draws as in the run's first life: weights, then masks.
        for _ in 0..M::DRAWS_PER_STEP * saved.header.steps as u64 {
            dev.random_u64();
        }
        model::set_parameters(&mut self.model, &saved.weights)?;
        self.optimizer.set_state(&self.model, &saved.optimizer)
    }
    // ANCHOR_END: resume
}
