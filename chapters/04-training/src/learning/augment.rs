//! Augmentation: the same digit a little turned, moved, stretched and slanted is still the same digit. Each epoch
//! shows each image in another way, so there is less to memorise.
//!
//! How an image is changed is a function of the seed, the epoch and the image, so a resumed run sees the same
//! images again.

use crate::models::model::PIXELS;
use backprop::random::{SplitMix64, key};
use rayon::prelude::*;

/// Pixels on a side.
const SIDE: usize = 28;

// ANCHOR: warp
/// Where each pixel looks in the old image: a matrix, then a shift.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Warp {
    matrix: [[f32; 2]; 2],
    shift: [f32; 2],
}

impl Warp {
    /// Up to 12° either way, a tenth in size and slant, two pixels.
    pub fn random(seed: u64, epoch: usize, image: usize) -> Self {
        let start = key(&[seed, epoch as u64, image as u64]);
        let mut random = SplitMix64::new(start);
        let mut within = |most: f32| most * (2.0 * random.unit() as f32 - 1.0);
        let (turn, slant) = (within(12.0).to_radians(), within(0.1));
        let [wide, high] = [1.0 + within(0.1), 1.0 + within(0.1)];
        let (sin, cos) = turn.sin_cos();
        Self {
            matrix: [
                [cos * wide, (slant * cos - sin) * high],
                [sin * wide, (slant * sin + cos) * high],
            ],
            shift: [within(2.0), within(2.0)],
        }
    }
}
// ANCHOR_END: warp

impl Warp {
    /// One that is known.
    pub const fn new(matrix: [[f32; 2]; 2], shift: [f32; 2]) -> Self {
        Self { matrix, shift }
    }

    /// The changed image, 784 values from 0 to 1. Between pixels it mixes the four neighbours by their
    /// distance; outside there is paper.
    ///
    /// # Panics
    /// If `from` or `to` is not 784 long.
    pub fn apply(&self, from: &[u8], to: &mut [f32]) {
        assert_eq!((from.len(), to.len()), (PIXELS, PIXELS), "an image has 784 pixels");
        let grey = |x: isize, y: isize| match (usize::try_from(x), usize::try_from(y)) {
            (Ok(x), Ok(y)) if x < SIDE && y < SIDE => f32::from(from[y * SIDE + x]) / 255.0,
            _ => 0.0,
        };
        let middle = (SIDE - 1) as f32 / 2.0;
        for (at, pixel) in to.iter_mut().enumerate() {
            let (x, y) = ((at % SIDE) as f32 - middle, (at / SIDE) as f32 - middle);
            let [x, y] = [0, 1].map(|row: usize| {
                self.matrix[row][0] * x + self.matrix[row][1] * y + self.shift[row] + middle
            });
            let (left, top) = (x.floor(), y.floor());
            let (right, below) = (x - left, y - top); // the weights of the other neighbours
            let (left, top) = (left as isize, top as isize);
            *pixel = (1.0 - below)
                * ((1.0 - right) * grey(left, top) + right * grey(left + 1, top))
                + below * ((1.0 - right) * grey(left, top + 1) + right * grey(left + 1, top + 1));
        }
    }
}

/// The images with the indices in `index`, each below the number of images in `images`, changed for this epoch.
pub fn augmented(images: &[u8], index: &[usize], seed: u64, epoch: usize) -> Vec<f32> {
    let mut batch = vec![0.0; index.len() * PIXELS];
    batch.par_chunks_mut(PIXELS).zip(index).for_each(|(to, image)| {
        let from = &images[image * PIXELS..][..PIXELS];
        Warp::random(seed, epoch, *image).apply(from, to);
    });
    batch
}
