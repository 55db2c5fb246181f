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
            return Err(matmul::Error::Inner {
                a_rows: rows,
                a_cols: a.cols(),
                b_rows: b.rows(),
                b_cols: cols,
            }
            .into());
        }
        for i in 0..rows {
            for j in 0..cols {
                c[i * cols + j] = (0..a.cols()).map(|p| a.at(i, p) * b.at(p, j)).sum();
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::wide;

    #[test]
    fn both_products_are_the_same_product() {
        for (m, k, n) in [(1, 1, 1), (3, 5, 7), (17, 4, 9), (2, 0, 3)] {
            let of = |i: usize| ((i * 7 + 3) % 11) as f32 - 5.0;
            let a: Vec<f32> = (0..m * k).map(of).collect();
            let b: Vec<f32> = (0..k * n).map(of).collect();
            let (a64, b64) = (wide(&a), wide(&b));
            let (mut c, mut c64) = (vec![f32::NAN; m * n], vec![f64::NAN; m * n]);
            let (a, b) = (MatRef::new(&a, m, k).unwrap(), MatRef::new(&b, k, n).unwrap());
            f32::product(&mut c, a, b).unwrap();
            let mut all = vec![f32::NAN; m * n];
            f32::product_on_all(&mut all, a, b).unwrap();
            assert_eq!(all, c);
            let (a, b) = (MatRef::new(&a64, m, k).unwrap(), MatRef::new(&b64, k, n).unwrap());
            f64::product_on_all(&mut c64, a, b).unwrap();
            assert_eq!(wide(&c), c64, "{m} {k} {n}"); // small whole numbers: nothing rounds
        }
    }

    #[test]
    fn shapes_that_do_not_fit_are_refused() {
        let (a, b) = ([1.0f64; 6], [1.0; 6]);
        let a = MatRef::new(&a, 2, 3).unwrap();
        let b = MatRef::new(&b, 2, 3).unwrap();
        assert!(f64::product(&mut [0.0; 6], a, b).is_err());
        assert!(f64::product(&mut [0.0; 5], a, b.t()).is_err());
    }
}
