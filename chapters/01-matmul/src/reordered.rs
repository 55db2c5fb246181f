//! Rung 2: the same three loops with the inner two exchanged. The inner loop now runs along a row of B and a
//! row of C, value after value, and the compiler turns it into vector instructions.

use crate::Shape;

/// C = A·B, adding one multiple of a row of B after the other to a row of C.
///
/// # Panics
/// When a slice's length is not the shape's.
pub fn multiply(c: &mut [f32], a: &[f32], b: &[f32], shape: Shape) {
    shape.check(c, a, b);
    c.fill(0.0);
    // ANCHOR: multiply
    let Shape { m, k, n } = shape;
    for i in 0..m {
        let c_row = &mut c[i * n..][..n];
        for p in 0..k {
            let x = a[i * k + p];
            let b_row = &b[p * n..][..n];
            for (sum, y) in c_row.iter_mut().zip(b_row) {
                *sum += x * y;
            }
        }
    }
    // ANCHOR_END: multiply
}
