//! Attention: every patch of an image attends to all patches and gets a weighted sum of their values.

use crate::models::{fused::FusedRows, norm::Rows};
use dfdx::prelude::*;
#[cfg(any(feature = "cuda", test))]
use dfdx::tensor_ops::Device;

/// Patches of an image: 4 rows of 4.
pub const PATCHES: usize = 16;
/// Values that represent a patch.
pub const WIDTH: usize = 64;
/// Heads: independent queries of a patch.
pub const HEADS: usize = 4;
/// Values of a query.
pub const HEAD: usize = WIDTH / HEADS;

/// A device with attention. Every error is the device's own.
#[allow(clippy::missing_errors_doc)]
pub trait Attend: FusedRows {
    /// The attention of the transformer: for the queries, keys and values of each image's patches the weighted sums of
    /// the values, head by head.
    fn attend<T: Tape<f32, Self> + Merge<T>>(
        queries_keys_values: [Rows<WIDTH, Self, T>; 3],
    ) -> Result<Rows<WIDTH, Self, T>, Self::Err>;
}

impl Attend for Cpu {
    fn attend<T: Tape<f32, Self> + Merge<T>>(
        queries_keys_values: [Rows<WIDTH, Self, T>; 3],
    ) -> Result<Rows<WIDTH, Self, T>, CpuError> {
        attend_by_head(queries_keys_values)
    }
}

#[cfg(feature = "cuda")]
impl Attend for Cuda {
    fn attend<T: Tape<f32, Self> + Merge<T>>(
        queries_keys_values: [Rows<WIDTH, Self, T>; 3],
    ) -> Result<Rows<WIDTH, Self, T>, CudaError> {
        attend_in_one_batch(queries_keys_values)
    }
}

// ANCHOR: attention
/// A weighted sum of an image's values for each query, in each head.
fn attend_by_head<D: FusedRows, T: Tape<f32, D> + Merge<T>>(
    [q, k, v]: [Rows<WIDTH, D, T>; 3],
) -> Result<Rows<WIDTH, D, T>, D::Err> {
    let (rows, batch) = (q.shape().0, q.shape().0 / PATCHES);
    let split = (batch, Const::<PATCHES>, Const::<HEADS>, Const::<HEAD>);
    let [q, k, v] = [q, k, v].map(|rows| rows.try_reshape_like(&split));
    // Heads first: (batch, heads, patches, values of a head).
    let q = q?.try_permute::<_, Axes4<0, 2, 1, 3>>()?;
    let k = k?.try_permute::<_, Axes4<0, 2, 3, 1>>()?; // transposed
    let v = v?.try_permute::<_, Axes4<0, 2, 1, 3>>()?;
    // Query times key: a score for each pair of patches.
    let scores = q.try_matmul(k)?.try_mul(1.0 / (HEAD as f32).sqrt())?;
    let pairs = *scores.shape();
    let scores = scores.try_reshape_like(&(rows * HEADS, Const))?;
    let weights = D::softmax_rows::<PATCHES, T>(scores)?;
    // Of each value as much as its weight.
    let mixed = weights.try_reshape_like(&pairs)?.try_matmul(v)?;
    let mixed = mixed.try_permute::<_, Axes4<0, 2, 1, 3>>()?;
    mixed.try_reshape_like(&(rows, Const))
}
// ANCHOR_END: attention

/// Each head's part of the values of each patch: (batch · heads, patches, values of a head).
#[cfg(any(feature = "cuda", test))]
type Heads<D, T> = Tensor<(usize, Const<PATCHES>, Const<HEAD>), f32, D, T>;

/// Heads first, then the patches.
#[cfg(any(feature = "cuda", test))]
fn heads<D: Device<f32>, T: Tape<f32, D>>(rows: Rows<WIDTH, D, T>) -> Result<Heads<D, T>, D::Err> {
    let batch = rows.shape().0 / PATCHES;
    let split = (batch, Const::<PATCHES>, Const::<HEADS>, Const::<HEAD>);
    let split = rows.try_reshape_like(&split)?.try_permute::<_, Axes4<0, 2, 1, 3>>()?;
    split.try_reshape_like(&(batch * HEADS, Const, Const))
}

/// The backward pass.
#[cfg(any(feature = "cuda", test))]
fn together<D: Device<f32>, T: Tape<f32, D>>(
    heads: Heads<D, T>,
) -> Result<Rows<WIDTH, D, T>, D::Err> {
    let batch = heads.shape().0 / HEADS;
    let split = (batch, Const::<HEADS>, Const::<PATCHES>, Const::<HEAD>);
    let split = heads.try_reshape_like(&split)?.try_permute::<_, Axes4<0, 2, 1, 3>>()?;
    split.try_reshape_like(&(batch * PATCHES, Const))
}

/// [`attend_by_head`] for a GPU: it multiplies all heads of all images in one call of its library. The copies that
/// this takes cost a CPU more than the products.
#[cfg(any(feature = "cuda", test))]
fn attend_in_one_batch<D: FusedRows, T: Tape<f32, D> + Merge<T>>(
    [q, k, v]: [Rows<WIDTH, D, T>; 3],
) -> Result<Rows<WIDTH, D, T>, D::Err> {
    let (rows, k) = (q.shape().0, heads(k)?.try_permute::<_, Axes3<0, 2, 1>>()?);
    let scores = heads(q)?.try_matmul(k)?.try_mul(1.0 / (HEAD as f32).sqrt())?;
    let pairs = *scores.shape();
    let scores = scores.try_reshape_like(&(rows * HEADS, Const))?;
    let weights = D::softmax_rows::<PATCHES, T>(scores)?;
    together(weights.try_reshape_like(&pairs)?.try_matmul(heads(v)?)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::models::fused::tests::both_equal;

    #[test]
    fn heads_one_by_one_equal_heads_in_one_batch_backward_too() {
        for images in [1, 5] {
            let dev = Cpu::seed_from_u64(7);
            let given = [(); 3].map(|()| {
                let rows: Rows<WIDTH, Cpu> = dev.sample_normal_like(&(images * PATCHES, Const));
                rows
            });
            let taped = || given.each_ref().map(Tensor::leaky_trace);
            both_equal(
                [Cpu::attend(taped()).unwrap(), attend_in_one_batch(taped()).unwrap()],
                |grads| given.each_ref().map(|rows| grads.get(rows).as_vec()).to_vec(),
            );
        }
    }
}
