//! Rung 4: packing. A block of A and a block of B are copied into the order in which they are read, and a
//! micro-kernel keeps a tile of C in registers while it runs through them. This is the algorithm of Goto
//! and van de Geijn (*Anatomy of High-Performance Matrix Multiplication*, 2008) in plain Rust; the rungs above do
//! the same with better kernels.

use crate::Shape;

/// Rows of a tile of C.
pub const MR: usize = 4;
/// Columns of a tile of C: 4×8 sums fill half of the 16 vector registers that
/// every x86-64 CPU has.
pub const NR: usize = 8;
/// Terms of a block: a panel of B (KC×NR) is 8 KiB, for the first-level cache.
pub const KC: usize = 256;
/// Rows of a block of A (MC×KC): 128 KiB, for the second-level cache.
pub const MC: usize = 128;
/// Columns of a block of B (KC×NC): 2 MiB, for the third-level cache.
pub const NC: usize = 2048;

/// A tile of C.
type Sums = [[f32; NR]; MR];

/// C = A·B.
///
/// # Panics
/// When a slice's length is not the shape's.
pub fn multiply(c: &mut [f32], a: &[f32], b: &[f32], shape: Shape) {
    shape.check(c, a, b);
    c.fill(0.0);
    let Shape { m, k, n } = shape;
    let (mut block_a, mut block_b) = (Vec::new(), Vec::new());
    // ANCHOR: loops
    for left in (0..n).step_by(NC) {
        let cols = NC.min(n - left);
        for start in (0..k).step_by(KC) {
            let terms = KC.min(k - start);
            pack_b(&mut block_b, &b[start * n + left..], n, terms, cols);
            for top in (0..m).step_by(MC) {
                let rows = MC.min(m - top);
                pack_a(&mut block_a, &a[top * k + start..], k, rows, terms);
                for j in (0..cols).step_by(NR) {
                    for i in (0..rows).step_by(MR) {
                        let a = &block_a[i * terms..][..MR * terms];
                        let b = &block_b[j * terms..][..NR * terms];
                        let sums = kernel(a, b);
                        let (rows, cols) = (MR.min(rows - i), NR.min(cols - j));
                        let c = &mut c[(top + i) * n + left + j..];
                        add(c, n, &sums, rows, cols);
                    }
                }
            }
        }
    }
    // ANCHOR_END: loops
}

/// Copies a block of A into panels of [`MR`] rows: the values of a column lie side by side, and zeros fill the last
/// panel.
fn pack_a(to: &mut Vec<f32>, a: &[f32], k: usize, rows: usize, terms: usize) {
    to.clear();
    // ANCHOR: panels_of_a
    for top in (0..rows).step_by(MR) {
        for p in 0..terms {
            for i in top..top + MR {
                to.push(if i < rows { a[i * k + p] } else { 0.0 });
            }
        }
    }
    // ANCHOR_END: panels_of_a
}

/// Copies a block of B into panels of [`NR`] columns: the values of a row lie side by side, and zeros fill the last
/// panel.
fn pack_b(to: &mut Vec<f32>, b: &[f32], n: usize, terms: usize, cols: usize) {
    to.clear();
    for left in (0..cols).step_by(NR) {
        let width = NR.min(cols - left);
        for p in 0..terms {
            let row = &b[p * n + left..][..width];
            to.extend_from_slice(row);
            to.resize(to.len() + NR - width, 0.0);
        }
    }
}

/// A tile of A·B from a panel of each: for each term, MR values of A times NR values of B.
// ANCHOR: kernel
fn kernel(a: &[f32], b: &[f32]) -> Sums {
    let mut sums = [[0.0; NR]; MR];
    let (a, _) = a.as_chunks::<MR>();
    let (b, _) = b.as_chunks::<NR>();
    for (x, y) in a.iter().zip(b) {
        for i in 0..MR {
            for j in 0..NR {
                sums[i][j] += x[i] * y[j];
            }
        }
    }
    sums
}
// ANCHOR_END: kernel

/// Adds the tile's first rows and columns to C.
fn add(c: &mut [f32], n: usize, sums: &Sums, rows: usize, cols: usize) {
    for (i, row) in sums[..rows].iter().enumerate() {
        for (c, sum) in c[i * n..][..cols].iter_mut().zip(row) {
            *c += sum;
        }
    }
}
