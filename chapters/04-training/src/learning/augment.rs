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

#[cfg(test)]
mod tests {
    use super::*;
    use lab::data::drawn;

    fn warped(warp: Warp, from: &[u8]) -> Vec<f32> {
        let mut to = vec![0.0; PIXELS];
        warp.apply(from, &mut to);
        to
    }

    /// Leaves an image as it is.
    const NONE: Warp = Warp { matrix: [[1.0, 0.0], [0.0, 1.0]], shift: [0.0, 0.0] };

    #[test]
    fn nothing_stays_nothing_and_a_shift_is_a_shift() {
        let image = drawn(1, 0, 3).train.images;
        let same: Vec<f32> = image.iter().map(|p| f32::from(*p) / 255.0).collect();
        assert_eq!(warped(NONE, &image), same);
        // The new image looks two to the right and one down: the ink moves left and up.
        let moved = warped(Warp { shift: [2.0, 1.0], ..NONE }, &image);
        for (y, x) in (0..27).flat_map(|y| (0..26).map(move |x| (y, x))) {
            assert!((moved[y * 28 + x] - same[(y + 1) * 28 + x + 2]).abs() < 1e-6, "{x}, {y}");
        }
        assert!((0..28).all(|y| moved[y * 28 + 27] == 0.0), "paper comes in from outside");
    }

    #[test]
    fn a_quarter_turn_turns() {
        let mut bar = vec![0; PIXELS];
        (6..22).for_each(|x| bar[10 * 28 + x] = 255); // a row
        let turn = Warp { matrix: [[0.0, -1.0], [1.0, 0.0]], shift: [0.0, 0.0] };
        let turned = warped(turn, &bar);
        let column = (0..28).find(|x| turned[14 * 28 + x] > 0.5).unwrap();
        assert!((6..22).all(|y| turned[y * 28 + column] > 0.99));
        assert!((turned.iter().sum::<f32>() - 16.0).abs() < 1e-3, "no ink is lost");
    }

    #[test]
    fn keeps_the_digit_in_the_image() {
        let data = drawn(50, 0, 1).train;
        let index: Vec<usize> = (0..50).collect();
        let batch = augmented(&data.images, &index, 1, 1);
        for (image, to) in index.iter().zip(batch.chunks(PIXELS)) {
            let from = data.image(*image);
            let before: f32 = from.iter().map(|p| f32::from(*p) / 255.0).sum();
            let after: f32 = to.iter().sum();
            assert!((0.7..1.4).contains(&(after / before)), "{after} of {before}");
            assert!(to.iter().all(|p| (0.0..=1.0001).contains(p)));
            assert_ne!(to, warped(NONE, from));
        }
    }

    #[test]
    fn depends_on_seed_epoch_and_image_alone() {
        let warp = Warp::random(1, 2, 3);
        assert_eq!(warp, Warp::random(1, 2, 3));
        for other in [Warp::random(2, 2, 3), Warp::random(1, 3, 3), Warp::random(1, 2, 4)] {
            assert_ne!(warp, other);
        }
        let images = drawn(5, 0, 1).train.images;
        let one = augmented(&images, &[4, 0], 7, 2);
        let two = augmented(&images, &[0, 4], 7, 2);
        assert_eq!(one[..PIXELS], two[PIXELS..]);
    }
}
