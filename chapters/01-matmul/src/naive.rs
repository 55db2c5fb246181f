//! Rung 1: the definition. Each element of C is the sum of a row of A times a column of B.

use crate::Shape;

/// C = A·B by the definition, row after row; all three matrices lie row after row.
///
/// # Panics
/// When a slice's length is not the shape's.
pub fn multiply(c: &mut [f32], a: &[f32], b: &[f32], shape: Shape) {
    shape.check(c, a, b);
    // ANCHOR: multiply
    let Shape { m, k, n } = shape;
    for i in 0..m {
        for j in 0..n {
            let mut sum = 0.0;
            for p in 0..k {
                sum += a[i * k + p] * b[p * n + j];
            }
            c[i * n + j] = sum;
        }
    }
    // ANCHOR_END: multiply
}
