//! A step: forward, backward, update.

use crate::{
    Error, Result,
    config::Settings,
    learning::{
        engine::{Engine, Resident},
        optimizer::{Optimizer, State},
        snapshot::{Checkpoint, LossScale},
    },
    models::model::{self, Images, Logits, Network, Targets},
};
use dfdx::{losses::cross_entropy_with_logits_loss, prelude::*};
use std::ops::Range;

/// The scores of a batch's images, on the host.
pub type Scores = Result<Vec<f32>>;

/// What is trained in a run: a model and its optimizer, in a number format. It is
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

    /// The scores for images that it is not trained on.
    fn scores(&self, images: Images<Self::Device>) -> Result<Vec<f32>>;

    /// All values of the model, as [`model::parameters`] has them.
    fn parameters(&self) -> Result<Vec<f32>>;

    /// How many of them are trained.
    fn learned(&self) -> usize;

    /// What its optimizer remembers.
    fn state(&self) -> Result<State>;

    // And for checkpoints:
    // ANCHOR_END: stepper

    /// [`Stepper::step`] on images that are still among all others: who can reads them there, without a copy in between.
    fn step_on(&mut self, lr: f64, batch: &Batch<Self::Device>) -> Scores {
        self.step(lr, batch.images()?, batch.data.targets(batch.index())?)
    }

    /// How many steps may be begun before the scores of the first of them are asked for: then a GPU need not wait for who counts.
    fn ahead(&self) -> usize {
        0
    }

    /// Begins a step. Its scores, if they are not there at once, are given by [`Stepper::end`], those of the first one first.
    fn begin(&mut self, lr: f64, batch: &Batch<Self::Device>) -> Result<Option<Vec<f32>>> {
        self.step_on(lr, batch).map(Some)
    }

    /// The scores of the first step that was begun and not ended.
    fn end(&mut self) -> Scores {
        Ok(Vec::new())
    }

    /// The factor before its losses, if it has one: see chapter 6.
    fn loss_scale(&self) -> Option<LossScale> {
        None
    }

    /// Goes on from a checkpoint.
    fn restore(&mut self, dev: &Self::Device, saved: &Checkpoint) -> Result<()>;
}

/// What of a [`Stepper`] is the same as that of another in its field `inner`.
#[macro_export]
macro_rules! left_to {
    ($inner:ident) => {
        fn scores(&self, images: $crate::model::Images<Self::Device>) -> $crate::Result<Vec<f32>> {
            self.$inner.scores(images)
        }

        fn parameters(&self) -> $crate::Result<Vec<f32>> {
            self.$inner.parameters()
        }

        fn learned(&self) -> usize {
            self.$inner.learned()
        }

        fn state(&self) -> $crate::Result<$crate::optimizer::State> {
            self.$inner.state()
        }
    };
}

/// The images of a step, among all others.
pub struct Batch<'a, D: Engine> {
    /// All images.
    pub data: &'a Resident<D>,
    /// The epoch, from 1, and its order of all of them.
    pub epoch: usize,
    /// See above.
    pub order: &'a [usize],
    /// Which of the order the step takes.
    pub range: Range<usize>,
    /// Seed and epoch, if each image is changed a little: see [`Resident::augmented`].
    pub changed: Option<(u64, usize)>,
}

impl<'a, D: Engine> Batch<'a, D> {
    /// These images, as the whole of an epoch.
    pub fn of(data: &'a Resident<D>, order: &'a [usize]) -> Self {
        Self { data, epoch: 1, order, range: 0..order.len(), changed: None }
    }

    /// The images' numbers.
    pub fn index(&self) -> &[usize] {
        &self.order[self.range.clone()]
    }

    /// The images as a tensor.
    ///
    /// # Errors
    /// [`Error::Device`].
    pub fn images(&self) -> Result<Images<D>> {
        match self.changed {
            Some((seed, epoch)) => self.data.augmented(self.index(), seed, epoch),
            None => self.data.images(self.index()),
        }
    }
}

/// A [`Stepper`] whose step comes in parts, for one who does something between them: chapter 6's factor, chapter 7's replicas.
/// Who trains one behind this interface compiles no model.
///
/// # Errors
/// Its methods fail with [`Error::Device`].
#[allow(clippy::missing_errors_doc, reason = "said once, for all of them")]
pub trait Learner: Stepper {
    /// Draws the random numbers of so many steps, and throws them away.
    fn skip(&self, dev: &Self::Device, steps: usize);

    /// The images of the next gradients are those from the `first` on of a batch of so many, and other ranks have the rest: who
    /// trains with them needs to know.
    fn part(&mut self, first: usize, images: usize) {
        let _ = (first, images);
    }

    /// The factor before derivatives, for who computes them in f16: chapter 6's loss scale.
    fn set_scale(&mut self, factor: f32) {
        let _ = factor;
    }

    /// Forward and backward. The gradients wait for [`Learner::update`]; the scores are (batch, 10), on the device.
    fn gradients(
        &mut self,
        images: Images<Self::Device>,
        targets: Targets<Self::Device>,
    ) -> Result<Logits<Self::Device>>;

    /// Appends the gradients, and what the model keeps besides its parameters, to `row`, in the order of
    /// [`model::parameters`].
    fn pack(&self, row: &mut Vec<f32>) -> Result<()>;

    /// Puts back what [`Learner::pack`] took, or what has become of it: as many values.
    fn unpack(&mut self, row: &[f32]) -> Result<()>;

    /// Whether all gradients are finite.
    fn finite(&mut self) -> Result<bool> {
        let mut row = Vec::new();
        self.pack(&mut row)?;
        Ok(row.iter().all(|value| value.is_finite()))
    }

    /// Moves the parameters against their gradients at this learning rate; then the gradients are zero.
    fn update(&mut self, lr: f64) -> Result<()>;

    /// [`Stepper::step`] out of these parts.
    fn step_in_parts(
        &mut self,
        lr: f64,
        images: Images<Self::Device>,
        targets: Targets<Self::Device>,
    ) -> Scores {
        let scores = self.gradients(images, targets)?;
        self.update(lr)?;
        Ok(scores.as_vec()) // only now, when all is under way, wait for the device
    }

    /// Makes the gradients zero and leaves the parameters as they are: they were not finite, here or elsewhere.
    fn discard(&mut self) -> Result<()>;
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

impl<M: Network<D>, D: Engine> Learner for Full<M, D> {
    fn skip(&self, dev: &D, steps: usize) {
        for _ in 0..M::DRAWS_PER_STEP * steps as u64 {
            dev.random_u64();
        }
    }

    // ANCHOR: step
    /// A step's passes on a batch. Returns the scores that its loss is made of.
    fn gradients(
        &mut self,
        images: Images<D>,   // (batch, 784)
        targets: Targets<D>, // (batch, 10)
    ) -> Result<Logits<D>> {
        let grads = std::mem::replace(&mut self.grads, Gradients::leaky());
        // Forward: scores for each class, noting every operation on a tape.
        let learned = self.model.learn(images.traced(grads));
        let scores = learned.map_err(Error::device)?;
        let seen = scores.retaped::<NoneTape>();
        // Backward: the tape in reverse gives each weight's gradient.
        let loss = cross_entropy_with_logits_loss(scores, targets);
        self.grads = loss.try_backward().map_err(Error::device)?;
        Ok(seen)
    }

    /// The step's end: every weight moves a little against its gradient.
    fn update(&mut self, lr: f64) -> Result<()> {
        self.optimizer.update(lr, &mut self.model, &mut self.grads)?;
        self.model.try_zero_grads(&mut self.grads).map_err(Error::device)
    }
    // ANCHOR_END: step

    fn discard(&mut self) -> Result<()> {
        self.model.try_zero_grads(&mut self.grads).map_err(Error::device)
    }

    fn pack(&self, row: &mut Vec<f32>) -> Result<()> {
        model::pack(&self.model, &self.grads, row)
    }

    fn unpack(&mut self, row: &[f32]) -> Result<()> {
        model::unpack(&mut self.model, &mut self.grads, row)
    }
}

impl<M: Network<D>, D: Engine> Stepper for Full<M, D> {
    type Device = D;

    fn step(&mut self, lr: f64, images: Images<D>, targets: Targets<D>) -> Scores {
        self.step_in_parts(lr, images, targets)
    }

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
        self.skip(dev, saved.header.steps as usize);
        model::set_parameters(&mut self.model, &saved.weights)?;
        self.optimizer.set_state(&mut self.model, &saved.optimizer)
    }
    // ANCHOR_END: resume
}
