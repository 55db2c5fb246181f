//! Gradient clipping: a gradient that is longer than a limit is shortened to it, all of it by one factor, so that its
//! direction stays (Pascanu, Mikolov and Bengio 2013, "On the difficulty of training recurrent neural networks").

/// What a gradient of this norm is multiplied with, to be no longer than `limit`.
pub fn factor(norm: f64, limit: f64) -> f32 {
    if norm > limit { (limit / norm) as f32 } else { 1.0 }
}
