//! The libraries that this chapter is measured against, behind one signature: [`gemm`](::gemm) (with its
//! AVX-512 kernels) and [`matrixmultiply`].

use crate::{MatMut, MatRef, Result, gemm::check_shapes};

/// A library's product C = A·B in f32; C is overwritten. The last argument: whether to use all threads.
pub type Product = fn(c: MatMut<f32>, a: MatRef<f32>, b: MatRef<f32>, all_threads: bool) -> Result<()>;

/// The libraries and their names.
pub const PEERS: [(&str, Product); 2] = [("gemm", gemm), ("matrixmultiply", matrixmultiply)];

/// C = A·B by the crate `gemm`, on one thread or all.
///
/// # Errors
/// [`crate::Error::Inner`] or [`crate::Error::Output`] when the shapes do not fit.
pub fn gemm(mut c: MatMut<f32>, a: MatRef<f32>, b: MatRef<f32>, all_threads: bool) -> Result<()> {
    check_shapes(&c, &a, &b)?;
    let parallelism =
        if all_threads { ::gemm::Parallelism::Rayon(0) } else { ::gemm::Parallelism::None };
    let (c_cols, c_rows) = (c.col_stride() as isize, c.row_stride() as isize);
    // SAFETY: the views' constructors checked that every element lies in its slice, and the shapes fit.
    unsafe {
        ::gemm::gemm(
            c.rows(),
            c.cols(),
            a.cols(),
            c.as_mut_ptr(),
            c_cols,
            c_rows,
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

/// C = A·B by the crate `matrixmultiply`. With `all_threads` false it runs inside [`one_thread`]'s limits.
///
/// # Errors
/// [`crate::Error::Inner`] or [`crate::Error::Output`] when the shapes do not fit.
pub fn matrixmultiply(
    mut c: MatMut<f32>,
    a: MatRef<f32>,
    b: MatRef<f32>,
    all_threads: bool,
) -> Result<()> {
    let _ = all_threads;
    check_shapes(&c, &a, &b)?;
    let (c_rows, c_cols) = (c.row_stride() as isize, c.col_stride() as isize);
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
            c_rows,
            c_cols,
        );
    }
    Ok(())
}
