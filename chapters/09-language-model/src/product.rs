//! Chapter 1's product on slices.

use crate::Result;
pub use engine::program::Numbers;
use matmul::{MatMut, MatRef, Options, Threads, sgemm};

/// The values as a matrix with so many columns, row after row.
///
/// # Errors
/// [`crate::Error::Product`] if they do not fill its rows.
pub fn matrix(values: &[f32], cols: usize) -> Result<MatRef<'_, f32>> {
    Ok(MatRef::new(values, values.len() / cols.max(1), cols)?)
}

/// C = A·B, or C + A·B, where C fills its slice row after row.
///
/// # Errors
/// [`crate::Error::Product`] if the shapes do not fit each other.
pub fn product(c: &mut [f32], a: MatRef<f32>, b: MatRef<f32>, options: Options) -> Result<()> {
    Ok(sgemm(MatMut::new(c, a.rows(), b.cols())?, a, b, options)?)
}

/// A product that overwrites C, on so many threads.
pub fn on(threads: usize) -> Options<'static> {
    Options { threads: Threads::Count(threads), ..Options::default() }
}
