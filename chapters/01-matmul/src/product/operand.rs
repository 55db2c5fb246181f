//! The matrices of a product as the kernels see them: pointers and strides, whose shapes were checked.

use crate::product::{
    options::{Epilogue, Options},
    view::{MatMut, MatRef},
};
use std::ops::Range;

/// A matrix that is read, as the kernels see it.
#[derive(Clone, Copy)]
pub(crate) struct Operand<T> {
    pub at: *const T,
    pub rows: usize,
    pub cols: usize,
    pub row_stride: usize,
    pub col_stride: usize,
}

impl<T> Operand<T> {
    #[allow(clippy::needless_pass_by_value, reason = "a view is two words and four numbers")]
    pub fn of(m: MatRef<T>) -> Self {
        Self {
            at: m.as_ptr(),
            rows: m.rows(),
            cols: m.cols(),
            row_stride: m.row_stride(),
            col_stride: m.col_stride(),
        }
    }

    /// The same numbers as elements of a `W`, which is a transparent wrapper of `T`.
    pub fn cast<W>(self) -> Operand<W> {
        let Self { at, rows, cols, row_stride, col_stride } = self;
        Operand { at: at.cast(), rows, cols, row_stride, col_stride }
    }

    pub fn t(self) -> Self {
        Self {
            at: self.at,
            rows: self.cols,
            cols: self.rows,
            row_stride: self.col_stride,
            col_stride: self.row_stride,
        }
    }
}

/// The matrix that is written, and how.
#[derive(Clone, Copy)]
pub(crate) struct Output {
    pub at: *mut f32,
    pub row_stride: usize,
    pub col_stride: usize,
    pub accumulate: bool,
    /// Null for none.
    pub bias: *const f32,
    /// Whether the bias has a value for each row: the product was transposed.
    pub bias_down: bool,
    pub relu: bool,
}

impl Output {
    pub fn new(mut c: MatMut<f32>, options: &Options) -> Self {
        let (bias, relu) = match options.epilogue {
            Epilogue::None => (std::ptr::null(), false),
            Epilogue::Bias(bias) => (bias.as_ptr(), false),
            Epilogue::BiasRelu(bias) => (bias.as_ptr(), true),
        };
        Self {
            at: c.as_mut_ptr(),
            row_stride: c.row_stride(),
            col_stride: c.col_stride(),
            accumulate: options.accumulate,
            bias,
            bias_down: false,
            relu,
        }
    }

    /// Writes sums that a kernel left in memory of their own, for edges and for C with any strides: with `add`
    /// they are added to C, and in the `last` pass bias and `ReLU` follow.
    ///
    /// # Safety
    /// The rows and columns are inside C and belong to the caller; `sums` holds them, `side` values a row.
    #[inline(always)]
    pub unsafe fn finish(
        &self,
        sums: &[f32],
        side: usize,
        rows: Range<usize>,
        cols: Range<usize>,
        add: bool,
        last: bool,
    ) {
        let bias = last && !self.bias.is_null();
        let write = |i: usize, j: usize, col_stride: usize| {
            let at = (rows.start + i) * self.row_stride + (cols.start + j) * col_stride;
            // SAFETY: the caller vouches for C, and the bias has a value for each of its columns.
            unsafe {
                let c = self.at.add(at);
                let mut value = sums[i * side + j];
                if add {
                    value += *c;
                }
                if bias {
                    value += *self.bias.add(if self.bias_down {
                        rows.start + i
                    } else {
                        cols.start + j
                    });
                }
                *c = if last && self.relu && value < 0.0 { 0.0 } else { value };
            }
        };
        if self.col_stride == 1 {
            for i in 0..rows.len() {
                for j in 0..cols.len() {
                    write(i, j, 1);
                }
            }
        } else {
            for j in 0..cols.len() {
                for i in 0..rows.len() {
                    write(i, j, self.col_stride);
                }
            }
        }
    }

    pub fn t(self) -> Self {
        Self {
            row_stride: self.col_stride,
            col_stride: self.row_stride,
            bias_down: !self.bias_down,
            ..self
        }
    }
}
