//! Attention: every patch of an image attends to all patches and gets a weighted sum of their values.

use crate::models::half_product::{Half, Matrices, product_of_each};
use crate::models::{
    autocast::{Operands, operands},
    cpu::{accumulate, numbers, taken},
    fused::FusedRows,
    norm::Rows,
};
use dfdx::prelude::*;
use dfdx::tensor_ops::Device;

/// Patches of an image: 4 rows of 4.
pub const PATCHES: usize = 16;
/// Values that represent a patch.
pub const WIDTH: usize = 64;
/// Heads: independent queries of a patch.
pub const HEADS: usize = 4;
/// Values of a query.
pub const HEAD: usize = WIDTH / HEADS;

/// A matrix for each head of each image.
type Heads<const M: usize, const N: usize, D, T = NoneTape> =
    Tensor<(usize, Const<HEADS>, Const<M>, Const<N>), f32, D, T>;

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

/// The product of each two matrices, of rounded numbers where products read them.
fn products<const M: usize, const K: usize, const N: usize, T: Tape<f32, Cpu> + Merge<T>>(
    a: Heads<M, K, Cpu, T>,
    b: Heads<K, N, Cpu, T>,
) -> Result<Heads<M, N, Cpu, T>, CpuError> {
    let read = operands();
    if read == Operands::F32 {
        return a.try_matmul(b);
    }
    // What comes back to the product is what the backward products read.
    let (mut seen_a, mut seen_b) = (numbers(&a.retaped())?, numbers(&b.retaped())?);
    read.round(&mut seen_a);
    read.round(&mut seen_b);
    let product = passed_on(a, seen_a, |_| {})?.try_matmul(passed_on(b, seen_b, |_| {})?)?;
    let sums = numbers(&product.retaped())?;
    passed_on(product, sums, move |up| read.round_gradient(up))
}

/// A tensor with these numbers in place of its own; its gradient goes on to the tensor after `change`.
fn passed_on<S: Shape, T: Tape<f32, Cpu>>(
    x: Tensor<S, f32, Cpu, T>,
    values: Vec<f32>,
    change: impl Fn(&mut [f32]) + 'static,
) -> Result<Tensor<S, f32, Cpu, T>, CpuError> {
    let (x, mut tape) = x.try_contiguous()?.split_tape();
    let out = x.device().try_tensor_from_vec(values, *x.shape())?;
    let (of_x, of_out) = (x.ghost(), out.ghost());
    tape.add_backward_op(move |grads| {
        let mut up = taken(grads.get_or_alloc_mut(&of_out)?);
        change(&mut up);
        accumulate(grads.get_or_alloc_mut(&of_x)?, &up);
        **grads.get_or_alloc_mut(&of_out)? = up;
        Ok(())
    });
    Ok(out.put_tape(tape))
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
fn attend_by_head<T: Tape<f32, Cpu> + Merge<T>>(
    [q, k, v]: [Rows<WIDTH, Cpu, T>; 3],
) -> Result<Rows<WIDTH, Cpu, T>, CpuError> {
    let (rows, batch) = (q.shape().0, q.shape().0 / PATCHES);
    let split = (batch, Const::<PATCHES>, Const::<HEADS>, Const::<HEAD>);
    let [q, k, v] = [q, k, v].map(|rows| rows.try_reshape_like(&split));
    // Heads first: (batch, heads, patches, values of a head).
    let q = q?.try_permute::<_, Axes4<0, 2, 1, 3>>()?;
    let k = k?.try_permute::<_, Axes4<0, 2, 3, 1>>()?; // transposed
    let v = v?.try_permute::<_, Axes4<0, 2, 1, 3>>()?;
    // Query times key: a score for each pair of patches.
    let scores = products(q, k)?.try_mul(1.0 / (HEAD as f32).sqrt())?;
    let pairs = *scores.shape();
    let scores = scores.try_reshape_like(&(rows * HEADS, Const))?;
    let weights = Cpu::softmax_rows::<PATCHES, T>(scores)?;
    // Of each value as much as its weight.
    let mixed = products(weights.try_reshape_like(&pairs)?, v)?;
    let mixed = mixed.try_permute::<_, Axes4<0, 2, 1, 3>>()?;
    mixed.try_reshape_like(&(rows, Const))
}
// ANCHOR_END: attention

/// Each head's part of the values of each patch: (batch · heads, patches, values of a head).
fn heads<D: Device<f32>, T: Tape<f32, D>>(
    rows: Rows<WIDTH, D, T>,
) -> Result<Matrices<D, T>, D::Err> {
    let batch = rows.shape().0 / PATCHES;
    let split = (batch, Const::<PATCHES>, Const::<HEADS>, Const::<HEAD>);
    let split = rows.try_reshape_like(&split)?.try_permute::<_, Axes4<0, 2, 1, 3>>()?;
    split.try_reshape_like(&(batch * HEADS, PATCHES, HEAD))
}

/// The backward pass of [`heads`].
fn together<D: Device<f32>, T: Tape<f32, D>>(
    heads: Matrices<D, T>,
) -> Result<Rows<WIDTH, D, T>, D::Err> {
    let batch = heads.shape().0 / HEADS;
    let split = (batch, Const::<HEADS>, Const::<PATCHES>, Const::<HEAD>);
    let split = heads.try_reshape_like(&split)?.try_permute::<_, Axes4<0, 2, 1, 3>>()?;
    split.try_reshape_like(&(batch * PATCHES, Const))
}

/// `attend_by_head` for a GPU: it multiplies all heads of all images in one call of its library. The copies that
/// this takes cost a CPU more than the products.
///
/// # Errors
/// The device's own.
pub fn attend_in_one_batch<D: FusedRows + Half, T: Tape<f32, D> + Merge<T>>(
    [q, k, v]: [Rows<WIDTH, D, T>; 3],
) -> Result<Rows<WIDTH, D, T>, D::Err> {
    let (rows, k) = (q.shape().0, heads(k)?.try_permute::<_, Axes3<0, 2, 1>>()?);
    let scores = product_of_each(heads(q)?, k)?.try_mul(1.0 / (HEAD as f32).sqrt())?;
    let pairs = *scores.shape();
    let scores = scores.try_reshape_like(&(rows * HEADS, Const))?;
    let weights = D::softmax_rows::<PATCHES, T>(scores)?;
    together(product_of_each(weights.try_reshape_like(&pairs)?, heads(v)?)?)
}
