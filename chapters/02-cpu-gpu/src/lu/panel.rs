//! A panel: a block of columns that is decomposed by itself. It is copied into memory of its own, column after
//! column, so that pivots are searched and divided in one piece. Then it is halved: the left half first, a small
//! product to bring the right half up to date, the right half last; and each half in the same way, down to a few
//! columns. So even most of the panel's work is products (Toledo 1997).

use super::{error::Result, unblocked::largest_in};
use matmul::{MatMut, MatRef, Options, Threads, sgemm};

/// Columns that are no longer halved.
const NARROW: usize = 8;

/// A block of columns, column after column.
#[derive(Clone, Debug, Default)]
pub struct Panel {
    /// `stride` values for each column.
    values: Vec<f32>,
    rows: usize,
    width: usize,
    stride: usize,
}

impl Panel {
    /// An empty panel; [`Panel::load`] fills it.
    pub fn new() -> Self {
        Self::default()
    }

    /// Rows of the panel.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Columns of the panel.
    pub fn width(&self) -> usize {
        self.width
    }

    /// Copies columns `first..first + width` of the given rows of a matrix that is `cols` wide.
    ///
    /// # Panics
    /// When there are fewer rows than columns in the panel, or the matrix has no such columns.
    pub fn load(&mut self, rows: &[f32], cols: usize, first: usize, width: usize) {
        self.rows = rows.len() / cols;
        assert!(width <= self.rows && first + width <= cols, "a panel is no wider than tall");
        self.width = width;
        // Columns a power of two apart would meet in the same few lines of the cache; an odd number of lines apart
        // they do not.
        self.stride = (self.rows.div_ceil(16) | 1) * 16;
        self.values.resize(self.stride * width, 0.0);
        let (stride, values) = (self.stride, &mut self.values);
        for (i, row) in rows.chunks_exact(cols).enumerate() {
            let to = values[i..].iter_mut().step_by(stride);
            to.zip(&row[first..first + width]).for_each(|(to, from)| *to = *from);
        }
    }

    /// Copies the panel back to where it came from.
    pub fn store(&self, rows: &mut [f32], cols: usize, first: usize) {
        for (i, row) in rows.chunks_exact_mut(cols).enumerate() {
            let from = self.values[i..].iter().step_by(self.stride);
            row[first..first + self.width].iter_mut().zip(from).for_each(|(to, from)| *to = *from);
        }
    }

    /// Decomposes the panel. Returns, for each of its steps, the row of the panel that was swapped with that
    /// step's row. `column` is the number of its first column in the matrix, for errors.
    ///
    /// # Errors
    /// [`super::error::LuError::Singular`] or [`super::error::LuError::NotFinite`].
    pub fn factor(&mut self, column: usize, threads: Threads) -> Result<Vec<usize>> {
        let mut swaps = Vec::with_capacity(self.width);
        let half = Half { rows: self.rows, stride: self.stride, column, threads };
        half.factor(&mut self.values, 0, &mut swaps)?;
        Ok(swaps)
    }

    /// Changes the sign of everything below the diagonal, so that adding a product with it subtracts one with L.
    pub fn negate(&mut self) {
        for (j, column) in self.values.chunks_exact_mut(self.stride).enumerate() {
            column[j + 1..self.rows].iter_mut().for_each(|l| *l = -*l);
        }
    }

    /// The block of L (or of −L) with this first row and column.
    ///
    /// # Panics
    /// When it is not inside the panel.
    pub fn block(&self, row: usize, col: usize, rows: usize, cols: usize) -> MatRef<'_, f32> {
        let whole = MatRef::strided(&self.values, self.rows, self.width, 1, self.stride);
        match whole.and_then(|panel| panel.block(row, col, rows, cols)) {
            Ok(block) => block,
            Err(error) => panic!("{error}"),
        }
    }
}

/// What all halves of a panel have in common.
#[derive(Clone, Copy)]
struct Half {
    rows: usize,
    stride: usize,
    column: usize,
    threads: Threads,
}

impl Half {
    /// Decomposes some columns of the panel; the rows above `top` are done.
    fn factor(self, columns: &mut [f32], top: usize, swaps: &mut Vec<usize>) -> Result<()> {
        let width = columns.len() / self.stride;
        if width <= NARROW {
            return self.narrow(columns, top, swaps);
        }
        let middle = (width / 2).next_multiple_of(NARROW);
        let (left, right) = columns.split_at_mut(middle * self.stride);
        let done = swaps.len();
        self.factor(left, top, swaps)?;
        self.swap(right, top, &swaps[done..]);
        self.bring_up_to_date(right, left, top);
        self.factor(right, top + middle, swaps)?;
        self.swap(left, top + middle, &swaps[done + middle..]);
        Ok(())
    }

    /// A few columns, one after the other.
    fn narrow(self, columns: &mut [f32], top: usize, swaps: &mut Vec<usize>) -> Result<()> {
        for j in 0..columns.len() / self.stride {
            let step = top + j;
            let candidates = &columns[j * self.stride..][step..self.rows];
            let pivot = step + largest_in(self.column + step, candidates)?;
            swaps.push(pivot);
            self.swap(columns, step, &[pivot]);
            let (done, rest) = columns.split_at_mut((j + 1) * self.stride);
            let column = &mut done[j * self.stride..][step..self.rows];
            let Some((pivot, below)) = column.split_first_mut() else { continue };
            for x in &mut *below {
                *x /= *pivot;
            }
            for other in rest.chunks_exact_mut(self.stride) {
                let (u, below_u) = other[step..self.rows].split_at_mut(1);
                for (x, l) in below_u.iter_mut().zip(&*below) {
                    *x -= l * u[0];
                }
            }
        }
        Ok(())
    }

    /// Exchanges rows in some columns: each step's with the one that was found for it.
    fn swap(self, columns: &mut [f32], top: usize, swaps: &[usize]) {
        for column in columns.chunks_exact_mut(self.stride) {
            for (step, &row) in swaps.iter().enumerate() {
                column.swap(top + step, row);
            }
        }
    }

    /// The step between the halves: solves with the left half's triangle for the right half's rows of U, then
    /// takes their product with the left half's L away from what lies below.
    fn bring_up_to_date(self, right: &mut [f32], left: &[f32], top: usize) {
        let (depth, others) = (left.len() / self.stride, right.len() / self.stride);
        let mut minus_u = vec![0.0; depth * others];
        for (column, minus_u) in
            right.chunks_exact_mut(self.stride).zip(minus_u.chunks_exact_mut(depth))
        {
            for (j, l) in left.chunks_exact(self.stride).enumerate() {
                let (u, below) = column[top + j..top + depth].split_at_mut(1);
                for (x, l) in below.iter_mut().zip(&l[top + j + 1..]) {
                    *x -= l * u[0];
                }
                minus_u[j] = -u[0];
            }
        }
        let below = self.rows - top - depth;
        if below == 0 {
            return;
        }
        let at = top + depth;
        let options = Options { accumulate: true, threads: self.threads, ..Options::default() };
        let product = MatRef::strided(&left[at..], below, depth, 1, self.stride).and_then(|l| {
            let u = MatRef::strided(&minus_u, depth, others, 1, depth)?;
            sgemm(MatMut::strided(&mut right[at..], below, others, 1, self.stride)?, l, u, options)
        });
        assert!(product.is_ok(), "the shapes fit");
    }
}
