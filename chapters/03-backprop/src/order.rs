//! The order of the images. Each epoch shuffles anew, and the order is a function of the seed and the
//! number of the epoch: a resumed run needs nothing but these two numbers to find it again.

use crate::random::SplitMix64;

/// The numbers 0 to `images` − 1 in the order of epoch `epoch`.
pub fn order(seed: u64, epoch: usize, images: usize) -> Vec<usize> {
    // Mixed, not added: seed 1 in epoch 2 must not repeat seed 2 in epoch 1.
    let start = SplitMix64::new(seed).next();
    let start = start ^ (epoch as u64).wrapping_mul(0xd1b5_4a32_d192_ed03);
    SplitMix64::new(start).order(images)
}
