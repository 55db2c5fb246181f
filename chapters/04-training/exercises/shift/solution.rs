//! Augmentation: images moved by whole pixels.

use backprop::random::{SplitMix64, key};

/// Pixels on a side.
pub const SIDE: usize = 28;

/// By how many pixels an image moves in an epoch, to the right and down: each from −`most` to
/// `most`.
pub fn amount(seed: u64, epoch: usize, image: usize, most: usize) -> [isize; 2] {
    // EXERCISE: begin
    let start = key(&[seed, epoch as u64, image as u64]);
    let mut random = SplitMix64::new(start);
    let mut way = || random.below(2 * most + 1) as isize - most as isize;
    [way(), way()]
    // EXERCISE: instead
    // let _ = (epoch, image); // the same for every image in every epoch
    // let way = SplitMix64::new(key(&[seed])).below(most + 1) as isize; // never left or up
    // [way, way]
    // EXERCISE: end
}

/// An image of 28×28 pixels (0 is paper), moved by so many pixels to the right and down.
pub fn shift(from: &[u8], [right, down]: [isize; 2]) -> Vec<u8> {
    let mut to = vec![0; SIDE * SIDE];
    // EXERCISE: begin
    let before = |at: usize, by| at.checked_sub_signed(by).filter(|at| *at < SIDE);
    for (at, pixel) in to.iter_mut().enumerate() {
        if let (Some(x), Some(y)) = (before(at % SIDE, right), before(at / SIDE, down)) {
            *pixel = from[y * SIDE + x];
        }
    }
    // EXERCISE: instead
    // let by = down * SIDE as isize + right; // what leaves on the right comes in on the left
    // for (at, pixel) in (0..).zip(from) {
    //     if let Some(to) = to.get_mut((at + by) as usize) {
    //         *to = *pixel;
    //     }
    // }
    // EXERCISE: end
    to
}
