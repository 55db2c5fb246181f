//! A replica's step: chapter 4's, with one line more.

use crate::{
    replicas::link::{Link, Report, Verdict, average},
    split::flat::{pack, unpack},
};
use dfdx::{losses::cross_entropy_with_logits_loss, prelude::*};
use std::{rc::Rc, time::Instant};
use training::{
    Error, Result, Settings,
    checkpoint::Checkpoint,
    engine::Engine,
    loss::{self, Tally},
    model::{CLASSES, Images, Network, Targets},
    optimizer::State,
    step::{Full, Scores, Stepper},
};

/// A model that learns together with its copies, each from a part of every batch.
///
/// All replicas start from the same numbers and take the same steps, so they stay equal bit for bit. With dropout each
/// draws masks of its own: of the numbers that a step of all replicas takes from the seed's sequence, replica r uses the
/// r-th ones. Without dropout the step is that of one device on the whole batch, up to the order of sums.
///
/// A batch normalisation uses the mean and variance of the replica's own part, as everywhere unless a "synchronised" one
/// is asked for; what it keeps for predictions is averaged over the replicas after every step.
pub struct Replica<M, D: Engine> {
    full: Full<M, D>,
    link: Rc<Link>,
    /// The message, kept from step to step for its memory.
    row: Vec<f32>,
}

impl<M: Network<D>, D: Engine> Replica<M, D> {
    /// A model with the weights that `dev`'s seed gives, and an optimizer that has seen nothing.
    ///
    /// # Errors
    /// [`Error::Device`] if there is no memory for them.
    pub fn new(dev: &D, settings: &Settings, link: Rc<Link>) -> Result<Self> {
        Ok(Self { full: Full::new(dev, settings)?, link, row: Vec::new() })
    }

    // ANCHOR: forward_backward
    /// Forward and backward on this replica's pictures; without any of them
    /// the gradients stay zero. Returns the scores.
    fn gradients(
        &mut self,
        grads: &mut Gradients<f32, D>,
        images: Images<D>,
        truth: Targets<D>,
    ) -> Scores {
        if truth.shape().0 == 0 {
            return Ok(Vec::new()); // more ranks than pictures
        }
        let lent = std::mem::replace(grads, Gradients::leaky());
        let learned = self.full.model.learn(images.traced(lent));
        let scores = learned.map_err(Error::device)?;
        let seen = scores.retaped::<NoneTape>();
        let loss = cross_entropy_with_logits_loss(scores, truth);
        *grads = loss.try_backward().map_err(Error::device)?;
        Ok(seen.as_vec())
    }
    // ANCHOR_END: forward_backward
}

/// Draws the random numbers of `steps` replicas' steps, and throws them away.
fn skip<M: Network<D>, D: Engine>(dev: &D, steps: usize) {
    for _ in 0..M::DRAWS_PER_STEP * steps as u64 {
        dev.random_u64();
    }
}

/// Losses and right answers of pictures with these scores and answers.
fn tally(scores: &[f32], truth: &[f32]) -> Tally {
    let labels: Vec<u8> = truth.chunks_exact(CLASSES).map(|row| loss::best(row) as u8).collect();
    let mut tally = Tally::default();
    tally.add(scores, &labels);
    tally
}

impl<M: Network<D>, D: Engine> Stepper for Replica<M, D> {
    type Device = D;

    // ANCHOR: step
    fn step(&mut self, lr: f64, images: Images<D>, truth: Targets<D>) -> Scores {
        let begun = Instant::now();
        let (dev, pictures) = (truth.device().clone(), truth.shape().0);
        let right = if pictures > 0 { truth.as_vec() } else { Vec::new() };
        let mut grads = std::mem::replace(&mut self.full.grads, Gradients::leaky());
        // Each replica takes its own random numbers from one sequence.
        let before = self.link.rank().0 + usize::from(pictures == 0);
        skip::<M, D>(&dev, before);
        let scores = self.gradients(&mut grads, images, truth)?;
        skip::<M, D>(&dev, self.link.size() - 1 - self.link.rank().0);
        let seconds = begun.elapsed().as_secs_f64();
        // The line that chapter 4 does not have: what did the others find?
        pack(&self.full.model, &grads, &mut self.row)?;
        let report = Report { pictures, tally: tally(&scores, &right), seconds };
        if average(&self.link, &mut self.row, report)? == Verdict::Step {
            unpack(&mut self.full.model, &mut grads, &self.row)?;
            self.full.optimizer.update(lr, &mut self.full.model, &mut grads)?;
        }
        self.row.clear();
        self.full.model.try_zero_grads(&mut grads).map_err(Error::device)?;
        self.full.grads = grads;
        Ok(scores)
    }
    // ANCHOR_END: step

    fn scores(&self, images: Images<D>) -> Result<Vec<f32>> {
        self.full.scores(images)
    }

    fn parameters(&self) -> Result<Vec<f32>> {
        self.full.parameters()
    }

    fn learned(&self) -> usize {
        self.full.learned()
    }

    fn state(&self) -> Result<State> {
        self.full.state()
    }

    fn restore(&mut self, dev: &D, saved: &Checkpoint) -> Result<()> {
        // The other replicas' draws too, as if there had always been as many as now.
        skip::<M, D>(dev, (self.link.size() - 1) * saved.header.steps as usize);
        self.full.restore(dev, saved)
    }
}
