//! A replica's step: chapter 4's, on a part of the batch.

use crate::replicas::link::Link;
use dfdx::prelude::Cpu;
use training::{
    Result,
    checkpoint::{Checkpoint, LossScale},
    model::{Images, Targets},
    step::{Learner, Scores, Stepper},
};

/// A model that trains together with its copies, each from a part of every batch.
///
/// All replicas start from the same numbers and take the same steps, so they stay equal bit for bit. The step is that of one
/// device on the whole batch, up to the order of sums: dropout draws one mask for the batch, whoever has its parts.
///
/// A batch normalisation uses the mean and variance of the replica's own part, as everywhere unless a "synchronised" one
/// is asked for; what it keeps for predictions is averaged over the replicas after every step.
pub struct Replica<'l> {
    learner: Box<dyn Learner<Device = Cpu>>,
    link: &'l Link,
}

impl<'l> Replica<'l> {
    /// A replica of a model that was just built, on an engine that has joined the link.
    pub fn new(learner: Box<dyn Learner<Device = Cpu>>, link: &'l Link) -> Self {
        Self { learner, link }
    }
}

impl Stepper for Replica<'_> {
    type Device = Cpu;

    // ANCHOR: step
    /// A step of all replicas.
    fn step(
        &mut self,
        lr: f64,
        images: Images<Cpu>, // of this rank's part
        truth: Targets<Cpu>,
    ) -> Scores {
        let scaled = self.learner.loss_scale().is_some();
        let (first, batch) = self.link.begin(scaled);
        self.learner.part(first, batch);
        // Forward, backward, and the sums over all ranks: one program.
        self.learner.gradients(images, truth)?;
        if self.link.overflowed() {
            self.learner.discard()?; // in mixed precision, all skip a step
        } else {
            self.learner.update(lr)?;
        }
        Ok(Vec::new()) // the link has counted for all of us
    }
    // ANCHOR_END: step

    training::left_to!(learner);

    fn loss_scale(&self) -> Option<LossScale> {
        self.learner.loss_scale()
    }

    fn restore(&mut self, dev: &Cpu, saved: &Checkpoint) -> Result<()> {
        self.learner.restore(dev, saved)
    }
}
