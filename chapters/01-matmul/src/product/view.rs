//! A matrix as a slice and two strides: transposing it or taking a block of it moves no element.

use crate::product::error::{Error, Result};
use std::marker::PhantomData;

/// A matrix by its values. Element (i, j) lies at `i * row_stride + j * col_stride` of them.
#[derive(Clone, Copy, Debug)]
pub struct Mat<D> {
    data: D,
    rows: usize,
    cols: usize,
    row_stride: usize,
    col_stride: usize,
}

/// A matrix that is read.
pub type MatRef<'a, T> = Mat<&'a [T]>;

/// A matrix that is written; no two of its elements overlap.
pub type MatMut<'a, T> = Mat<Exclusive<'a, T>>;

/// Where a slice begins that is borrowed to be written.
#[derive(Debug)]
pub struct Exclusive<'a, T>(*mut T, PhantomData<&'a mut [T]>);

// SAFETY: it is an exclusive borrow of the slice that it was made from, as `&mut [T]` is.
unsafe impl<T: Send> Send for Exclusive<'_, T> {}
// SAFETY: see `Send`.
unsafe impl<T: Sync> Sync for Exclusive<'_, T> {}

/// Fails unless the last element of a matrix with these strides lies inside the slice.
fn check_inside(len: usize, size: (usize, usize), strides: (usize, usize)) -> Result<()> {
    if size.0 == 0 || size.1 == 0 {
        return Ok(());
    }
    let last = (size.0 - 1)
        .checked_mul(strides.0)
        .zip((size.1 - 1).checked_mul(strides.1))
        .and_then(|(down, across)| down.checked_add(across));
    match last {
        Some(last) if last < len => Ok(()),
        _ => Err(Error::Outside { size, strides, len }),
    }
}

impl<D> Mat<D> {
    /// The transpose: the same values with the strides exchanged.
    #[must_use]
    pub fn t(self) -> Self {
        Self {
            rows: self.cols,
            cols: self.rows,
            row_stride: self.col_stride,
            col_stride: self.row_stride,
            ..self
        }
    }

    /// How many rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// How many columns.
    pub fn cols(&self) -> usize {
        self.cols
    }

    /// Values from one row to the next.
    pub fn row_stride(&self) -> usize {
        self.row_stride
    }

    /// Values from one column to the next.
    pub fn col_stride(&self) -> usize {
        self.col_stride
    }
}

impl<'a, T> MatRef<'a, T> {
    /// A matrix of `rows`×`cols`, row after row, that fills the slice.
    ///
    /// # Errors
    /// [`Error::Length`] when the slice holds more or fewer values.
    ///
    /// ```
    /// let values = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
    /// let a = matmul::MatRef::new(&values, 2, 3)?;
    /// assert_eq!((a.at(1, 0), a.t().at(0, 1)), (&4.0, &4.0));
    /// # Ok::<(), matmul::Error>(())
    /// ```
    pub fn new(data: &'a [T], rows: usize, cols: usize) -> Result<Self> {
        if rows.checked_mul(cols) == Some(data.len()) {
            Ok(Self { data, rows, cols, row_stride: cols, col_stride: 1 })
        } else {
            Err(Error::Length { size: (rows, cols), len: data.len() })
        }
    }

    /// A matrix whose rows lie `row_stride` values apart and whose columns `col_stride`. A stride of 0 repeats a
    /// row or a column.
    ///
    /// # Errors
    /// [`Error::Outside`] when the last element lies past the slice's end.
    pub fn strided(
        data: &'a [T],
        rows: usize,
        cols: usize,
        row_stride: usize,
        col_stride: usize,
    ) -> Result<Self> {
        check_inside(data.len(), (rows, cols), (row_stride, col_stride))?;
        Ok(Self { data, rows, cols, row_stride, col_stride })
    }

    /// The block of `rows`×`cols` whose first element is (`row`, `col`).
    ///
    /// # Errors
    /// [`Error::Block`] when it does not lie inside the matrix.
    pub fn block(self, row: usize, col: usize, rows: usize, cols: usize) -> Result<Self> {
        let inside = row.checked_add(rows).is_some_and(|end| end <= self.rows)
            && col.checked_add(cols).is_some_and(|end| end <= self.cols);
        if !inside {
            let (at, size, of) = ((row, col), (rows, cols), (self.rows, self.cols));
            return Err(Error::Block { at, size, of });
        }
        let start = (row * self.row_stride + col * self.col_stride).min(self.data.len());
        Ok(Self { data: &self.data[start..], rows, cols, ..self })
    }

    /// Element (i, j).
    ///
    /// # Panics
    /// When there is no such element, as a slice does.
    pub fn at(&self, i: usize, j: usize) -> &'a T {
        assert!(i < self.rows && j < self.cols, "({i}, {j}) in {}×{}", self.rows, self.cols);
        &self.data[i * self.row_stride + j * self.col_stride]
    }

    /// Where element (0, 0) lies.
    pub fn as_ptr(&self) -> *const T {
        self.data.as_ptr()
    }
}

impl<'a, T> MatMut<'a, T> {
    /// A matrix of `rows`×`cols`, row after row, that fills the slice.
    ///
    /// # Errors
    /// [`Error::Length`] when the slice holds more or fewer values.
    pub fn new(data: &'a mut [T], rows: usize, cols: usize) -> Result<Self> {
        if rows.checked_mul(cols) == Some(data.len()) {
            Self::strided(data, rows, cols, cols, 1)
        } else {
            Err(Error::Length { size: (rows, cols), len: data.len() })
        }
    }

    /// A matrix whose rows lie `row_stride` values apart and whose columns `col_stride`.
    ///
    /// # Errors
    /// [`Error::Outside`] when the last element lies past the slice's end, [`Error::Overlap`] when two
    /// elements could overlap (rows that reach into each other in both directions).
    pub fn strided(
        data: &'a mut [T],
        rows: usize,
        cols: usize,
        row_stride: usize,
        col_stride: usize,
    ) -> Result<Self> {
        check_inside(data.len(), (rows, cols), (row_stride, col_stride))?;
        let apart = |stride: usize, count: usize, other: usize, others: usize| {
            count <= 1 || stride > others.saturating_sub(1).saturating_mul(other)
        };
        let row_major = apart(row_stride, rows, col_stride, cols) && (cols <= 1 || col_stride > 0);
        let col_major = apart(col_stride, cols, row_stride, rows) && (rows <= 1 || row_stride > 0);
        if rows > 0 && cols > 0 && !row_major && !col_major {
            return Err(Error::Overlap { size: (rows, cols), strides: (row_stride, col_stride) });
        }
        let data = Exclusive(data.as_mut_ptr(), PhantomData);
        Ok(Self { data, rows, cols, row_stride, col_stride })
    }

    /// Where element (0, 0) lies.
    pub fn as_mut_ptr(&mut self) -> *mut T {
        self.data.0
    }
}
