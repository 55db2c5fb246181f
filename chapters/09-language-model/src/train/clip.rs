//! Gradient clipping: a gradient that is longer than a limit is shortened to it, all of it by one factor, so that its
//! direction stays (Pascanu, Mikolov and Bengio 2013, "On the difficulty of training recurrent neural networks").

use engine::sums::dot;
use lab::vectors::wide;

/// Values whose squares are added up in f32; their sums are added up in f64.
const PIECE: usize = 1024;

/// The length of a gradient: the root of the sum of all squares.
pub fn norm(gradient: &[f32]) -> f64 {
    let squares = gradient.chunks(PIECE).map(|piece| f64::from(wide!(|| dot(piece, piece))));
    squares.sum::<f64>().sqrt()
}

/// What a gradient of this norm is multiplied with, to be no longer than `limit`.
pub fn factor(norm: f64, limit: f64) -> f32 {
    if norm > limit { (limit / norm) as f32 } else { 1.0 }
}
