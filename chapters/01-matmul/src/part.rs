//! A product of row-major matrices, and the rectangle of C that is to be computed: what rungs 5 to 7 work on.

use crate::Shape;
use std::ops::Range;

/// A rectangle of C = A·B.
#[derive(Clone)]
pub(crate) struct Part<'a> {
    pub c: *mut f32,
    pub a: &'a [f32],
    pub b: &'a [f32],
    pub shape: Shape,
    pub rows: Range<usize>,
    pub cols: Range<usize>,
}

// SAFETY: a part has its rectangle of C to itself; A and B are only read.
unsafe impl Sync for Part<'_> {}

impl<'a> Part<'a> {
    /// All of C.
    ///
    /// # Panics
    /// When a slice's length is not the shape's.
    pub fn whole(c: &'a mut [f32], a: &'a [f32], b: &'a [f32], shape: Shape) -> Self {
        shape.check(c, a, b);
        Self { c: c.as_mut_ptr(), a, b, shape, rows: 0..shape.m, cols: 0..shape.n }
    }

    /// Makes the rectangle zero.
    ///
    /// # Safety
    /// It lies inside C, and no one else reads or writes it.
    pub unsafe fn clear(&self) {
        for i in self.rows.clone() {
            // SAFETY: the caller's; bytes of zero are 0.0.
            unsafe {
                let row = self.c.add(i * self.shape.n + self.cols.start);
                row.write_bytes(0, self.cols.len());
            }
        }
    }
}

/// Adds the first `width` sums of each row to C, whose rows lie `n` values apart: for a tile that C has only a part of,
/// and that was computed in memory of its own.
///
/// # Safety
/// C has these rows and columns, and no one else reads or writes them.
pub(crate) unsafe fn add_edge(c: *mut f32, n: usize, sums: &[[f32; 32]], width: usize) {
    for (y, row) in sums.iter().enumerate() {
        for (x, sum) in row[..width].iter().enumerate() {
            // SAFETY: the caller's.
            unsafe { *c.add(y * n + x) += sum };
        }
    }
}
