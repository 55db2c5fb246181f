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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::step::{distance, noise};
    use training::{cnn::Cnn, mlp::Mlp, resnet::Resnet};

    /// How far the sums of pieces are from the whole batch's gradient.
    fn off<M: Network<Cpu>>(share_dropped: f32, images: usize, piece: usize) -> f64 {
        let data = Resident::new(&Cpu::default(), &noise(images, 3)).unwrap();
        let index: Vec<usize> = (0..images).rev().collect();
        let [whole, parts] = [images, piece].map(|piece| {
            let mut learner = Learner::<M>::new(&Cpu::seed_from_u64(8)).unwrap();
            learner.model.set_dropout(share_dropped);
            let loss = learner.accumulate(&data, &index, piece).unwrap();
            (loss, learner.gradients().unwrap())
        });
        if share_dropped == 0.0 {
            assert!((whole.0 / parts.0 - 1.0).abs() < 1e-2, "{} and {}", whole.0, parts.0);
        }
        distance(&parts.1, &whole.1)
    }

    #[test]
    fn pieces_add_up_to_the_batch() {
        for (images, piece) in [(24, 12), (24, 1), (23, 7), (5, 4), (3, 100)] {
            let far = off::<Mlp<Cpu>>(0.0, images, piece);
            assert!(far < 1e-6, "{images} by {piece}: {far}");
        }
        let far = off::<Cnn<f32, Cpu>>(0.0, 11, 4);
        assert!(far < 1e-6, "{far}");
    }

    #[test]
    fn dropout_and_batch_normalisation_tell_the_difference() {
        let dropped = off::<Mlp<Cpu>>(0.2, 24, 8);
        assert!(dropped > 1e-2, "another mask for each piece: {dropped}");
        let normalised = off::<Resnet<f32, Cpu>>(0.0, 8, 4);
        assert!(normalised > 1e-2, "another mean for each piece: {normalised}");
    }

    #[test]
    fn no_images_are_refused() {
        let data = Resident::new(&Cpu::default(), &noise(2, 3)).unwrap();
        let mut learner = Learner::<Mlp<Cpu>>::new(&Cpu::default()).unwrap();
        assert!(learner.accumulate(&data, &[], 4).is_err());
        assert!(learner.accumulate(&data, &[0], 0).is_err());
    }
}
