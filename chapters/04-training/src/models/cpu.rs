//! What the CPU's own operations share: a tensor's values as a slice, and chapter 1's product on slices.

use dfdx::prelude::*;
use matmul::{MatMut, MatRef, Options, sgemm};
use rayon::prelude::*;

/// A tensor's values, in the order of its shape. dfdx's own `as_vec` follows the strides value by value; here the
/// whole memory is copied at once, after it was put in order if it was not.
///
/// # Errors
/// The device's own.
pub fn numbers<S: Shape>(tensor: &Tensor<S, f32, Cpu>) -> Result<Vec<f32>, CpuError> {
    let mut numbers = vec![0.0; tensor.shape().num_elements()];
    tensor.clone().try_reshape_like(tensor.shape())?.copy_into(&mut numbers);
    Ok(numbers)
}

/// A·B in C, which is given with its columns, or added to it.
///
/// # Errors
/// [`CpuError::WrongNumElements`] if the shapes do not fit each other.
pub(crate) fn product(
    c: (&mut [f32], usize),
    a: MatRef<f32>,
    b: MatRef<f32>,
    options: Options,
) -> Result<(), CpuError> {
    let (values, cols) = c;
    let rows = values.len() / cols;
    MatMut::new(values, rows, cols)
        .and_then(|c| sgemm(c, a, b, options))
        .map_err(|_| CpuError::WrongNumElements)
}

/// The values as a matrix with so many columns, row after row.
///
/// # Errors
/// [`CpuError::WrongNumElements`] if they do not fill its rows.
pub(crate) fn matrix(values: &[f32], cols: usize) -> Result<MatRef<'_, f32>, CpuError> {
    MatRef::new(values, values.len() / cols, cols).map_err(|_| CpuError::WrongNumElements)
}

/// Does `work` for each image, whose `len` values it may change; images are divided among the threads.
/// Each image's sums stay in one thread, so that the result does not depend on their number.
pub(crate) fn each<T: Send>(numbers: &mut [T], len: usize, work: impl Fn(usize, &mut [T]) + Sync) {
    if len > 0 {
        numbers.par_chunks_exact_mut(len).enumerate().for_each(|(at, own)| work(at, own));
    }
}
