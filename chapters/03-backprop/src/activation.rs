//! `ReLU`: what is below zero becomes zero. Without something like it between them, two dense layers would be
//! one: (X·V)·W = X·(V·W).

use crate::real::Real;

/// Replaces what is below zero by zero. NaN stays NaN, so that a bug shows.
// ANCHOR: relu
pub fn relu<T: Real>(values: &mut [T]) {
    for value in values {
        *value = if *value < T::ZERO { T::ZERO } else { *value };
    }
}

/// The derivative is 1 where the output is above zero, and 0 elsewhere: the
/// gradient of the output becomes that of the input.
pub fn relu_backward<T: Real>(output: &[T], gradient: &mut [T]) {
    for (gradient, output) in gradient.iter_mut().zip(output) {
        *gradient = if *output > T::ZERO { *gradient } else { T::ZERO };
    }
}
// ANCHOR_END: relu
