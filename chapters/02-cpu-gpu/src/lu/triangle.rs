//! The triangular solve U = L⁻¹·A for a block of rows. The rows are halved: the upper half is solved first, its
//! product with L's lower left block is taken from the lower half, and then the lower half is solved. Down to a
//! few rows, all of it is products.

use super::panel::Panel;
use matmul::{MatMut, MatRef, Options, Threads, sgemm};

/// Rows that are no longer halved.
const FEW: usize = 16;
/// Columns whose sums stay in registers.
const STRIP: usize = 32;

/// Some neighbouring rows of a matrix, of which only the columns beginning with `right` are used.
#[derive(Debug)]
pub struct Rows<'a> {
    /// The rows, one after the other.
    pub values: &'a mut [f32],
    /// Numbers in each row.
    pub cols: usize,
    /// The first column that is looked at.
    pub right: usize,
}

impl Rows<'_> {
    /// How many rows.
    pub fn count(&self) -> usize {
        self.values.len() / self.cols
    }

    /// The first `count` rows, and the others.
    pub fn split(&mut self, count: usize) -> (Rows<'_>, Rows<'_>) {
        let (cols, right) = (self.cols, self.right);
        let (upper, lower) = self.values.split_at_mut(count * cols);
        (Rows { values: upper, cols, right }, Rows { values: lower, cols, right })
    }

    /// These rows gain the product of a block of −L with other rows: as many as the block has columns.
    pub fn add_product(&mut self, minus_l: MatRef<f32>, others: &Rows, threads: Threads) {
        let (m, k, n) = (self.count(), others.count(), self.cols - self.right);
        if m == 0 || n == 0 {
            return;
        }
        let options = Options { accumulate: true, threads, ..Options::default() };
        let (to, from) = (&mut self.values[self.right..], &others.values[self.right..]);
        let done = MatMut::strided(to, m, n, self.cols, 1)
            .and_then(|to| sgemm(to, minus_l, MatRef::strided(from, k, n, self.cols, 1)?, options));
        assert!(done.is_ok(), "the shapes fit");
    }
}

/// Solves L·U = A for U, in A's memory. A is as many rows as `minus_l` is wide or fewer; `minus_l` holds −L
/// ([`Panel::negate`]), of which the triangle at its top is used.
pub fn solve(minus_l: &Panel, a: &mut Rows, threads: Threads) {
    halve(minus_l, 0, a, threads);
}

fn halve(minus_l: &Panel, first: usize, a: &mut Rows, threads: Threads) {
    let count = a.count();
    if count <= FEW {
        return few(minus_l, first, a);
    }
    let half = (count / 2).next_multiple_of(FEW);
    let (mut upper, mut lower) = a.split(half);
    halve(minus_l, first, &mut upper, threads);
    let block = minus_l.block(first + half, first, count - half, half);
    lower.add_product(block, &upper, threads);
    halve(minus_l, first + half, &mut lower, threads);
}

/// Solves for a few rows, from the top down, a strip of columns at a time.
fn few(minus_l: &Panel, first: usize, a: &mut Rows) {
    let count = a.count();
    let block = minus_l.block(first, first, count, count);
    let mut factors = [[0.0; FEW]; FEW];
    for (i, row) in factors.iter_mut().enumerate().take(count) {
        for (k, factor) in row.iter_mut().enumerate().take(i) {
            *factor = *block.at(i, k);
        }
    }
    for start in (a.right..a.cols).step_by(STRIP) {
        let width = STRIP.min(a.cols - start);
        let mut strip = [[0.0; STRIP]; FEW];
        for (to, row) in strip.iter_mut().zip(a.values.chunks_exact(a.cols)) {
            to[..width].copy_from_slice(&row[start..start + width]);
        }
        for i in 1..count {
            let mut sum = strip[i];
            for (factor, solved) in factors[i].iter().zip(&strip[..i]) {
                for (x, y) in sum.iter_mut().zip(solved) {
                    *x += factor * y;
                }
            }
            strip[i] = sum;
        }
        for (from, row) in strip.iter().zip(a.values.chunks_exact_mut(a.cols)) {
            row[start..start + width].copy_from_slice(&from[..width]);
        }
    }
}
