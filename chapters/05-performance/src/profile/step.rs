//! A training step of chapter 4 on a tape of one's choice, with the clock running.

use super::tape::{self, Event, Phase, timed, untimed};
use crate::{Error, Result};
use dfdx::{losses::cross_entropy_with_logits_loss, prelude::*};
use training::{
    engine::{Engine, Resident},
    loss::Tally,
    model::{self, Network},
    optimizer::{Optimizer, Rule},
    step::Learner,
};

/// What happened in a step, or why there was none.
pub type Events = Result<Vec<Event>>;

/// A model in training: its weights, its gradients, Adam's state.
pub struct Step<M, D: Engine> {
    model: M,
    optimizer: Optimizer<D>,
    grads: Gradients<f32, D>,
}

impl<M: Network<D>, D: Engine> Step<M, D> {
    /// A model with random weights from the device's seed, chapter 4's dropout of 0.2, and Adam.
    ///
    /// # Errors
    /// [`Error::Device`] if there is no memory for it.
    pub fn new(dev: &D) -> Result<Self> {
        let mut model: M = model::build(dev)?;
        model.set_dropout(0.2);
        let optimizer = Optimizer::new(&model, Rule::Adam, 0.0)?;
        let grads = model.try_alloc_grads().map_err(Error::device)?;
        Ok(Self { model, optimizer, grads })
    }

    /// The model.
    pub fn model(&self) -> &M {
        &self.model
    }

    /// Chapter 4's step, event by event: without gaps from start to end.
    ///
    /// # Errors
    /// [`Error::Device`].
    // ANCHOR: step
    pub fn profiled(&mut self, data: &Resident<D>, index: &[usize]) -> Events {
        let grads = std::mem::replace(&mut self.grads, Gradients::leaky());
        tape::start();
        let images = timed(data.images(index)?, grads);
        tape::mark(Phase::Gather, "pictures");
        tape::enter(Phase::Forward);
        let scores = self.model.learn(images).map_err(Error::device)?;
        tape::mark(Phase::Forward, "release");
        Tally::default().add(&scores.as_vec(), &data.labels(index));
        tape::mark(Phase::Host, "scores and labels");
        let targets = data.targets(index)?;
        tape::mark(Phase::Gather, "targets");
        tape::enter(Phase::Loss);
        let loss = untimed(cross_entropy_with_logits_loss(scores, targets));
        let mut grads = loss.try_backward().map_err(Error::device)?;
        tape::mark(Phase::Backward, "release");
        self.optimizer.update(1e-3, &mut self.model, &mut grads)?;
        tape::mark(Phase::Update, "adam");
        self.model.try_zero_grads(&mut grads).map_err(Error::device)?;
        tape::mark(Phase::Zero, "gradients");
        self.grads = grads;
        Ok(tape::finish())
    }
    // ANCHOR_END: step
}

/// The same step on dfdx's own tape, as chapter 4 takes it.
///
/// # Errors
/// [`Error::Device`].
pub fn plain<D: Engine>(
    learner: &mut dyn Learner<Device = D>,
    data: &Resident<D>,
    index: &[usize], // of the images
) -> Result<()> {
    let scores = learner.step(1e-3, data.images(index)?, data.targets(index)?)?;
    Tally::default().add(&scores, &data.labels(index));
    Ok(())
}
