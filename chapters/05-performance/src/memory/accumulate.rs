//! Gradient accumulation: a large batch in small pieces, whose gradients are added up before the weights move.

use super::step::{Learner, batch};
use crate::{Error, Result};
use dfdx::prelude::Cpu;
use training::{engine::Resident, model::Network};

impl<M: Network<Cpu>> Learner<M> {
    /// Adds the gradient of the mean loss of the images `index` to the sums, `piece` images at a time, and
    /// returns that loss.
    ///
    /// Equal to the whole batch at once up to rounding, unless the images of a batch see each other (batch
    /// normalisation) or each pass draws random numbers (dropout).
    ///
    /// # Errors
    /// [`Error::Config`] for pieces or a batch of no images, [`Error::Device`].
    // ANCHOR: accumulate
    pub fn accumulate(
        &mut self,
        data: &Resident<Cpu>,
        index: &[usize],
        piece: usize,
    ) -> Result<f32> {
        if piece == 0 || index.is_empty() {
            return Err(Error::Config("batch and pieces need images".into()));
        }
        let mut mean = 0.0;
        for part in index.chunks(piece) {
            let (x, y) = batch(data, part)?;
            // The last piece may be smaller: then it counts for less.
            let share = part.len() as f32 / index.len() as f32;
            mean += share * self.add(x, y, share)?;
        }
        Ok(mean)
    }
    // ANCHOR_END: accumulate
}
