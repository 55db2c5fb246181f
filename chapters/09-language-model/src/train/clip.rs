//! Gradient clipping: a gradient that is longer than a limit is shortened to it, all of it by one factor, so that its
//! direction stays (Pascanu, Mikolov and Bengio 2013, "On the difficulty of training recurrent neural networks").

use crate::{
    blocks::{Grid, each},
    product::dot,
};
use lab::vectors::wide;

/// Values whose squares are added up in f32; their sums are added up in f64.
const PIECE: usize = 8192;

/// The length of a gradient: the root of the sum of all squares. `parts` keeps its memory from step to step.
pub fn norm(gradient: &[f32], parts: &mut Vec<f32>, threads: usize) -> f64 {
    parts.resize(gradient.len().div_ceil(PIECE), 0.0);
    each(threads, [Grid::pieces(parts, 1)], |task, [mut part]| {
        let piece = &gradient[task * PIECE..gradient.len().min((task + 1) * PIECE)];
        part.values()[0] = wide!(|| dot(piece, piece));
    });
    parts.iter().map(|part| f64::from(*part)).sum::<f64>().sqrt()
}

/// What a gradient of this norm is multiplied with, to be no longer than `limit`.
pub fn factor(norm: f64, limit: f64) -> f32 {
    if norm > limit { (limit / norm) as f32 } else { 1.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lab::random::numbers;

    #[test]
    fn the_norm_is_that_of_f64_on_any_number_of_threads() {
        let mut parts = Vec::new();
        for len in [0, 1, 8191, 8193, 100_003] {
            let gradient = numbers(len, 3);
            let wanted = gradient.iter().map(|g| f64::from(*g).powi(2)).sum::<f64>().sqrt();
            let found = norm(&gradient, &mut parts, 1);
            assert!((found - wanted).abs() <= 1e-6 * wanted, "{len}: {found} {wanted}");
            assert_eq!(found, norm(&gradient, &mut parts, 3));
        }
        assert!(norm(&[1.0, f32::NAN], &mut parts, 1).is_nan());
    }

    #[test]
    fn only_long_gradients_are_shortened() {
        assert_eq!((factor(0.5, 1.0), factor(1.0, 1.0), factor(4.0, 1.0)), (1.0, 1.0, 0.25));
    }
}
