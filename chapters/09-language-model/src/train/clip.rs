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
