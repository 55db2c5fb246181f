//! A replica's step: chapter 4's, with one line more.

use crate::replicas::link::{Link, Report, carried};
use dfdx::prelude::*;
use std::time::Instant;
use training::{
    Result,
    checkpoint::{Checkpoint, LossScale},
    engine::Engine,
    loss::{self, Tally},
    model::{CLASSES, Images, Targets},
    optimizer::State,
    ready::{listen, silently},
    step::{Learner, Scores, Stepper},
};

/// A model that trains together with its copies, each from a part of every batch.
///
/// All replicas start from the same numbers and take the same steps, so they stay equal bit for bit. With dropout each
/// draws masks of its own: of the numbers that a step of all replicas takes from the seed's sequence, replica r uses the
/// r-th ones. Without dropout the step is that of one device on the whole batch, up to the order of sums.
///
/// A batch normalisation uses the mean and variance of the replica's own part, as everywhere unless a "synchronised" one
/// is asked for; what it keeps for predictions is averaged over the replicas after every step.
pub struct Replica<'l, D> {
    learner: Box<dyn Learner<Device = D>>,
    link: &'l Link,
    /// The message, kept from step to step for its memory.
    row: Vec<f32>,
}

impl<'l, D: Engine> Replica<'l, D> {
    /// A replica of a model that was just built on a device that is freshly seeded.
    pub fn new(learner: Box<dyn Learner<Device = D>>, link: &'l Link) -> Self {
        Self { learner, link, row: Vec::new() }
    }

    // ANCHOR: forward_backward
    /// Forward and backward on this replica's images; without any of them
    /// the gradients stay zero. Returns the scores.
    fn gradients(&mut self, images: Images<D>, truth: &Targets<D>) -> Scores {
        if truth.shape().0 == 0 {
            self.learner.skip(truth.device(), 1); // its masks, drawn and unused
            return Ok(Vec::new()); // more ranks than images
        }
        Ok(self.learner.gradients(images, truth.clone())?.as_vec())
    }
    // ANCHOR_END: forward_backward

    /// Forward and backward: the scores, and whether all gradients are finite,
    /// if the link sums them where they lie.
    fn passes(
        &mut self,
        images: Images<D>,
        truth: &Targets<D>,
    ) -> Result<(Vec<f32>, Option<bool>)> {
        self.row.clear();
        if self.link.is_in_place() && self.learner.is_in_place() {
            let (scores, finite) = self.passes_with_sums(images, truth)?;
            return Ok((scores, Some(finite)));
        }
        Ok((self.gradients(images, truth)?, None))
    }

    // ANCHOR: passes
    /// Forward and backward, and the link hears of each gradient that is ready:
    /// it begins to sum it while others are computed.
    fn passes_with_sums(
        &mut self,
        images: Images<D>,
        truth: &Targets<D>,
    ) -> Result<(Vec<f32>, bool)> {
        // SAFETY: this rank's own gradients. They wait for the update, or for
        // `give_up`.
        let listener = unsafe { self.link.listener() };
        listen::<D, _>(listener, || {
            // All ranks sum in one order, and one without images has no
            // backward pass: then all begin at its end.
            let scores = if self.link.all_have_images() {
                self.gradients(images, truth)?
            } else {
                silently(|| self.gradients(images, truth))?
            };
            // What was not ready before is now.
            Ok((scores, self.learner.hand_over(&mut self.row)?))
        })
    }
    // ANCHOR_END: passes

    /// The gradients become their means over the whole batch. Whether they are
    /// finite is known if the link has begun to sum them.
    fn average(&mut self, finite: Option<bool>, report: Report) -> Result<()> {
        if let Some(finite) = finite {
            self.link.average_begun(finite, &mut self.row, report).map_err(carried)?;
            return self.learner.keep(&self.row);
        }
        self.learner.pack(&mut self.row)?;
        self.link.average(&mut self.row, report).map_err(carried)?;
        self.learner.unpack(&self.row)
    }

    // ANCHOR: step
    /// A step of all replicas.
    fn joint(&mut self, lr: f64, images: Images<D>, truth: &Targets<D>) -> Scores {
        let begun = Instant::now();
        let (rank, size) = (self.link.rank().0, self.link.size());
        // Each replica takes its own random numbers from one sequence.
        self.learner.skip(truth.device(), rank);
        let (scores, finite) = self.passes(images, truth)?;
        self.learner.skip(truth.device(), size - 1 - rank);
        let seconds = begun.elapsed().as_secs_f64();
        let scaled = self.learner.loss_scale().is_some();
        let report = Report { tally: tally(&scores, truth), seconds, scaled };
        // The line that chapter 4 does not have: what did the others find?
        self.average(finite, report)?;
        if self.link.overflowed() {
            self.learner.discard()?; // in mixed precision, all skip a step
        } else {
            self.learner.update(lr)?;
        }
        Ok(scores)
    }
    // ANCHOR_END: step
}

/// Losses and correct predictions of images with these scores and labels.
fn tally<D: Engine>(scores: &[f32], truth: &Targets<D>) -> Tally {
    let mut tally = Tally::default();
    if !scores.is_empty() {
        let rows = truth.as_vec();
        let best = |row: &[f32]| loss::best(row) as u8;
        tally.add(scores, &rows.chunks_exact(CLASSES).map(best).collect::<Vec<_>>());
    }
    tally
}

impl<D: Engine> Stepper for Replica<'_, D> {
    type Device = D;

    fn step(&mut self, lr: f64, images: Images<D>, truth: Targets<D>) -> Scores {
        let done = self.joint(lr, images, &truth);
        if done.is_err() {
            self.link.give_up();
        }
        done
    }

    fn scores(&self, images: Images<D>) -> Result<Vec<f32>> {
        self.learner.scores(images)
    }

    fn parameters(&self) -> Result<Vec<f32>> {
        self.learner.parameters()
    }

    fn learned(&self) -> usize {
        self.learner.learned()
    }

    fn state(&self) -> Result<State> {
        self.learner.state()
    }

    fn loss_scale(&self) -> Option<LossScale> {
        self.learner.loss_scale()
    }

    fn restore(&mut self, dev: &D, saved: &Checkpoint) -> Result<()> {
        // Also the other replicas' draws, as if there had always been as many as now.
        self.learner.skip(dev, (self.link.size() - 1) * saved.header.steps as usize);
        self.learner.restore(dev, saved)
    }
}
