//! Chapter 1's product on slices.

use crate::Result;
use engine::program;
use matmul::{MatMut, MatRef, Options, Threads, sgemm};
use serde::{Deserialize, Serialize};

/// What a product multiplies. It always adds in f32.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Numbers {
    /// The values as they are.
    #[default]
    F32,
    /// Rounded to bf16: half the bytes, and a unit of its own on CPUs that have one.
    Bf16,
    /// Rounded to f16, with a factor before the derivatives: chapter 6's mixed precision.
    F16,
}

impl From<Numbers> for program::Numbers {
    fn from(numbers: Numbers) -> Self {
        match numbers {
            Numbers::F32 => Self::F32,
            Numbers::Bf16 => Self::Bf16,
            Numbers::F16 => Self::F16,
        }
    }
}

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

/// A product that is added to what C holds, or overwrites it.
pub fn adding(accumulate: bool, threads: usize) -> Options<'static> {
    Options { accumulate, ..on(threads) }
}
