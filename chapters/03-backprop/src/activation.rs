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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_above_zero_passes_and_nan_shows() {
        let mut values = [-1.0, 0.0, 2.0, f32::NAN];
        relu(&mut values);
        assert_eq!(values[..3], [0.0, 0.0, 2.0]);
        assert!(values[3].is_nan());
        let mut gradient = [5.0, 6.0, 7.0];
        relu_backward(&values[..3], &mut gradient);
        assert_eq!(gradient, [0.0, 0.0, 7.0]);
    }
}
