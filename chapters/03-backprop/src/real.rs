//! The number types of this chapter. Everything readable is written once, for f32 and for f64: f32 is what
//! trains, f64 is exact enough to check a derivative by a difference.

use crate::Result;
use matmul::{MatMut, MatRef, Options, Threads, sgemm};
use num_traits::{ConstOne, ConstZero, Float};
use std::{
    fmt::Debug,
    iter::Sum,
    ops::{AddAssign, SubAssign},
};

/// f32 or f64.
pub trait Real:
    Float + ConstZero + ConstOne + AddAssign + SubAssign + Sum + Debug + Default + Send + Sync + 'static
{
    /// The nearest number to `x`.
    fn of(x: f64) -> Self;
    /// The number as an f64, exactly.
    fn wide(self) -> f64;
    /// C = A·B. C is row-major, as high as A and as wide as B, and is overwritten.
    ///
    /// # Errors
    /// [`crate::Error::Product`] when the shapes do not fit.
    fn product(c: &mut [Self], a: MatRef<Self>, b: MatRef<Self>) -> Result<()>;

    /// [`Real::product`] on all cores, where there is such a product.
    ///
    /// # Errors
    /// As [`Real::product`].
    fn product_on_all(c: &mut [Self], a: MatRef<Self>, b: MatRef<Self>) -> Result<()> {
        Self::product(c, a, b)
    }
}

impl Real for f32 {
    fn of(x: f64) -> Self {
        x as Self
    }

    fn wide(self) -> f64 {
        f64::from(self)
    }

    /// Chapter 1's product, on one thread.
    fn product(c: &mut [Self], a: MatRef<Self>, b: MatRef<Self>) -> Result<()> {
        let c = MatMut::new(c, a.rows(), b.cols())?;
        Ok(sgemm(c, a, b, Options::default())?)
    }

    fn product_on_all(c: &mut [Self], a: MatRef<Self>, b: MatRef<Self>) -> Result<()> {
        let c = MatMut::new(c, a.rows(), b.cols())?;
        Ok(sgemm(c, a, b, Options { threads: Threads::All, ..Options::default() })?)
    }
}

impl Real for f64 {
    fn of(x: f64) -> Self {
        x
    }

    fn wide(self) -> f64 {
        self
    }

    /// The formula: it is for checks of small networks alone.
    fn product(c: &mut [Self], a: MatRef<Self>, b: MatRef<Self>) -> Result<()> {
        let (rows, cols) = (a.rows(), b.cols());
        MatMut::new(c, rows, cols)?;
        if a.cols() != b.rows() {
            let (a, b) = ((rows, a.cols()), (b.rows(), cols));
            return Err(matmul::Error::Inner { a, b }.into());
        }
        for i in 0..rows {
            for j in 0..cols {
                c[i * cols + j] = (0..a.cols()).map(|p| a.at(i, p) * b.at(p, j)).sum();
            }
        }
        Ok(())
    }
}
