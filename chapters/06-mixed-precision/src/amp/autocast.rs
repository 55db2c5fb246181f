//! Any model in mixed precision: the products of chapter 5's engine read 16 bits where the settings say so, and here is what
//! f16 needs besides, the factor.

use crate::amp::scaler::{PYTORCH, Scaler, Scaling};
use training::{
    Precision, Result,
    checkpoint::{Checkpoint, LossScale},
    engine::Engine,
    model::{Images, Logits, Targets},
    step::{Learner, Scores, Stepper},
};

/// A learner whose products read 16 bits in training. It predicts with all digits of its weights.
pub struct Autocast<D> {
    learner: Box<dyn Learner<Device = D>>,
    /// The factor, in f16.
    scaler: Option<Scaler>,
}

impl<D: Engine> Autocast<D> {
    /// The learner in this precision.
    pub fn new(learner: Box<dyn Learner<Device = D>>, precision: Precision) -> Self {
        let scaled = precision == Precision::Amp;
        let scaler = scaled.then(|| Scaler::new(Scaling::Dynamic(PYTORCH)));
        Self { learner, scaler }
    }

    /// The same with another factor, in f16.
    #[must_use]
    pub fn scaling(self, scaling: Scaling) -> Self {
        Self { scaler: self.scaler.map(|_| Scaler::new(scaling)), ..self }
    }
}

impl<D: Engine> Learner for Autocast<D> {
    // ANCHOR: step
    /// The learner's passes, whose products read 16 bits.
    fn gradients(
        &mut self,
        images: Images<D>,   // (batch, 784)
        targets: Targets<D>, // (batch, 10)
    ) -> Result<Logits<D>> {
        // bf16 reaches as far as f32: no factor.
        if let Some(scaler) = &self.scaler {
            self.learner.set_scale(scaler.scale());
        }
        self.learner.gradients(images, targets)
    }
    // ANCHOR_END: step

    // ANCHOR: update
    /// The learner's update, unless a gradient left the range of f16.
    fn update(&mut self, lr: f64) -> Result<()> {
        if self.scaler.is_some() && !self.finite()? {
            return self.discard();
        }
        self.learner.update(lr)?;
        self.scaler.as_mut().map_or(Ok(()), |scaler| scaler.update(true))
    }

    /// A step that is skipped.
    fn discard(&mut self) -> Result<()> {
        self.learner.discard()?;
        self.scaler.as_mut().map_or(Ok(()), |scaler| scaler.update(false))
    }
    // ANCHOR_END: update

    fn skip(&self, dev: &D, steps: usize) {
        self.learner.skip(dev, steps);
    }

    fn part(&mut self, first: usize, images: usize) {
        self.learner.part(first, images);
    }

    fn pack(&self, row: &mut Vec<f32>) -> Result<()> {
        self.learner.pack(row)
    }

    fn unpack(&mut self, row: &[f32]) -> Result<()> {
        self.learner.unpack(row)
    }

    fn finite(&mut self) -> Result<bool> {
        self.learner.finite()
    }
}

impl<D: Engine> Stepper for Autocast<D> {
    type Device = D;

    fn step(&mut self, lr: f64, images: Images<D>, targets: Targets<D>) -> Scores {
        self.step_in_parts(lr, images, targets)
    }

    training::left_to!(learner);

    fn loss_scale(&self) -> Option<LossScale> {
        self.scaler.map(|scaler| scaler.state())
    }

    fn restore(&mut self, dev: &D, saved: &Checkpoint) -> Result<()> {
        if let (Some(scaler), Some(state)) = (&mut self.scaler, saved.header.loss_scale) {
            scaler.set_state(state);
        }
        self.learner.restore(dev, saved)
    }
}
