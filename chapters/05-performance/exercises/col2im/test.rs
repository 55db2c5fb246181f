//! The test of the exercise `col2im`.

#[cfg_attr(feature = "solutions", path = "solution.rs")]
mod exercise;

use exercise::col2im;
use lab::{check::near, random::numbers};

/// The page's patches, with a stride.
fn im2col(image: &[f32], side: usize, k: usize, stride: usize) -> Vec<f32> {
    let out = (side - k) / stride + 1;
    let mut rows = Vec::new();
    for (y, x) in (0..out * out).map(|at| (at / out * stride, at % out * stride)) {
        for line in y..y + k {
            rows.extend_from_slice(&image[line * side + x..][..k]);
        }
    }
    rows
}

#[test]
fn a_pixel_gets_one_gradient_from_each_patch_that_it_is_in() {
    let found = col2im(&[1.0; 4 * 4], 3, 2, 1);
    assert_eq!(found, [1.0, 2.0, 1.0, 2.0, 4.0, 2.0, 1.0, 2.0, 1.0]);
}

#[test]
fn patches_that_do_not_overlap_are_the_image() {
    let image = numbers(36, 3);
    assert_eq!(col2im(&im2col(&image, 6, 2, 2), 6, 2, 2), image);
}

#[test]
fn a_pixel_in_no_patch_gets_none() {
    // With filters of 2×2 and a stride of 3, the pixels of row and column 2 are in no patch.
    let [all, gap] = [[5.0, 5.0, 0.0, 5.0, 5.0], [0.0; 5]];
    let wanted = [all, all, gap, all, all].concat();
    near(col2im(&[5.0; 4 * 4], 5, 2, 3), wanted, 1e-6, "the pixels of 5×5");
}

#[test]
fn it_is_the_transpose_of_im2col() {
    let dot = |a: &[f32], b: &[f32]| -> f64 {
        a.iter().zip(b).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum()
    };
    for (side, k, stride) in [(5, 3, 1), (8, 3, 2), (7, 5, 1), (9, 1, 1), (4, 4, 1), (9, 2, 3)] {
        let image = numbers(side * side, 1);
        let patches = im2col(&image, side, k, stride);
        let gradient = numbers(patches.len(), 2);
        let back = dot(&image, &col2im(&gradient, side, k, stride));
        let what = format!("filters of {k}×{k} on {side}×{side}, stride {stride}");
        near(back, dot(&patches, &gradient), 1e-5, what);
    }
}
