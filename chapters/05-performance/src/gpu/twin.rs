//! A fused operation for dfdx on CUDA: softmax, cross-entropy and the scores' gradient by the kernel of this chapter.
//!
//! dfdx keeps a tensor's memory on the GPU to itself; a program gets it on the CPU or not at all. But it hands out the
//! memory of gradients, so that a custom operation can add to them. That is a way in: the derivative of x² is 2x, and so
//! the gradient of the sum of the scores' squares *is* the scores, twice, in memory that a kernel may have
//! ([`doubled`]). It takes a handful of dfdx's launches, and no wait: the numbers never leave the GPU.

use dfdx::{prelude::*, tensor_ops::Device};

#[cfg(feature = "cuda")]
mod cuda;
#[cfg(feature = "cuda")]
pub use cuda::softmax_cross_entropy;

/// Scores: a row for each image, a column for each of `N` classes.
pub type Scores<const N: usize, D, T = NoneTape> = Tensor<(usize, Const<N>), f32, D, T>;

/// Gradients in which that of `x` is 2x: its values, in memory that a custom operation may read and change.
///
/// # Errors
/// The device's.
// ANCHOR: doubled
pub fn doubled<const N: usize, D: Device<f32>>(
    x: &Scores<N, D>,
) -> Result<Gradients<f32, D>, D::Err> {
    x.leaky_trace().try_square()?.try_sum::<Rank0, _>()?.try_backward()
}
// ANCHOR_END: doubled
