//! Rung 3: blocks. The loops of rung 2 read all of B for every row of C. Here they take a block of B that
//! fits into the cache and use it for every row of A before they go on to the next.

use crate::Shape;

// ANCHOR: multiply
/// Rows of B in a block.
pub const ROWS: usize = 64;
/// Columns of B in a block: with 64 rows, 128 KiB of a second-level cache.
pub const COLS: usize = 512;

/// C = A·B, a block of B at a time.
///
/// # Panics
/// When a slice's length is not the shape's.
pub fn multiply(c: &mut [f32], a: &[f32], b: &[f32], shape: Shape) {
    shape.check(c, a, b);
    c.fill(0.0);
    for top in (0..shape.k).step_by(ROWS) {
        for left in (0..shape.n).step_by(COLS) {
            let rows = top..(top + ROWS).min(shape.k);
            let cols = left..(left + COLS).min(shape.n);
            add_block(c, a, b, shape, rows, cols);
        }
    }
}
// ANCHOR_END: multiply

/// Adds to C what the block `rows`×`cols` of B contributes.
fn add_block(
    c: &mut [f32],
    a: &[f32],
    b: &[f32],
    Shape { m, k, n }: Shape,
    rows: std::ops::Range<usize>,
    cols: std::ops::Range<usize>,
) {
    for i in 0..m {
        let c_part = &mut c[i * n..][cols.clone()];
        for p in rows.clone() {
            let x = a[i * k + p];
            let b_part = &b[p * n..][cols.clone()];
            for (sum, y) in c_part.iter_mut().zip(b_part) {
                *sum += x * y;
            }
        }
    }
}
