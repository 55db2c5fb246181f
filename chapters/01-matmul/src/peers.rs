//! The libraries that this chapter is measured against, behind one signature: the crates `gemm` (with its
//! AVX-512 kernels) and `matrixmultiply`.

use crate::{
    parallel,
    product::{
        error::Result,
        gemm::check_shapes,
        view::{MatMut, MatRef},
    },
};

/// A library's product C = A·B in f32; C is overwritten.
pub type Product = fn(c: MatMut<f32>, a: MatRef<f32>, b: MatRef<f32>) -> Result<()>;

/// The libraries and their names that run on all threads, or on one. `matrixmultiply` has one number of threads for
/// the life of the process ([`matrixmultiply_threads`]), so it is left out of the list that does not fit.
pub fn peers(all_threads: bool) -> Vec<(&'static str, Product)> {
    let mut list: Vec<(&str, Product)> =
        vec![("gemm", if all_threads { gemm_all } else { gemm_one })];
    if all_threads == (matrixmultiply_threads() > 1) || parallel::available() == 1 {
        list.push(("matrixmultiply", matrixmultiply));
    }
    list
}

/// How many threads `matrixmultiply` uses in this process: the environment variable `MATMUL_NUM_THREADS`, which it
/// reads on its first call, or the cores of the machine, and never more than 4.
pub fn matrixmultiply_threads() -> usize {
    let wanted = lab::names::text_of("MATMUL_NUM_THREADS");
    wanted.map_or_else(parallel::available, |text| text.parse().unwrap_or(1)).clamp(1, 4)
}

/// C = A·B by the crate `gemm` on the calling thread.
///
/// # Errors
/// [`crate::Error::Inner`] or [`crate::Error::Output`] when the shapes do not fit.
pub fn gemm_one(c: MatMut<f32>, a: MatRef<f32>, b: MatRef<f32>) -> Result<()> {
    gemm(c, a, b, ::gemm::Parallelism::None)
}

/// C = A·B by the crate `gemm` on all threads.
///
/// # Errors
/// [`crate::Error::Inner`] or [`crate::Error::Output`] when the shapes do not fit.
pub fn gemm_all(c: MatMut<f32>, a: MatRef<f32>, b: MatRef<f32>) -> Result<()> {
    gemm(c, a, b, ::gemm::Parallelism::Rayon(0))
}

fn gemm(
    mut c: MatMut<f32>,
    a: MatRef<f32>,
    b: MatRef<f32>,
    parallelism: ::gemm::Parallelism,
) -> Result<()> {
    check_shapes(&c, &a, &b)?;
    // SAFETY: the views' constructors checked that every element lies in its slice, and the shapes fit.
    unsafe {
        ::gemm::gemm(
            c.rows(),
            c.cols(),
            a.cols(),
            c.as_mut_ptr(),
            c.col_stride() as isize,
            c.row_stride() as isize,
            false,
            a.as_ptr(),
            a.col_stride() as isize,
            a.row_stride() as isize,
            b.as_ptr(),
            b.col_stride() as isize,
            b.row_stride() as isize,
            0.0,
            1.0,
            false,
            false,
            false,
            parallelism,
        );
    }
    Ok(())
}

/// C = A·B by the crate `matrixmultiply`, on [`matrixmultiply_threads`].
///
/// # Errors
/// [`crate::Error::Inner`] or [`crate::Error::Output`] when the shapes do not fit.
pub fn matrixmultiply(mut c: MatMut<f32>, a: MatRef<f32>, b: MatRef<f32>) -> Result<()> {
    check_shapes(&c, &a, &b)?;
    // SAFETY: the views' constructors checked that every element lies in its slice, and the shapes fit.
    unsafe {
        ::matrixmultiply::sgemm(
            a.rows(),
            a.cols(),
            b.cols(),
            1.0,
            a.as_ptr(),
            a.row_stride() as isize,
            a.col_stride() as isize,
            b.as_ptr(),
            b.row_stride() as isize,
            b.col_stride() as isize,
            0.0,
            c.as_mut_ptr(),
            c.row_stride() as isize,
            c.col_stride() as isize,
        );
    }
    Ok(())
}
