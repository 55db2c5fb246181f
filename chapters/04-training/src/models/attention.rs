//! Attention: every patch of an image attends to all patches and gets a weighted sum of their values.

use crate::models::norm::{Mode, Rows};
use dfdx::{prelude::*, tensor_ops::Device};

/// Patches of an image: 4 rows of 4.
pub const PATCHES: usize = 16;
/// Values that represent a patch.
pub const WIDTH: usize = 64;
/// Heads: independent queries of a patch.
pub const HEADS: usize = 4;
/// Values of a query.
pub const HEAD: usize = WIDTH / HEADS;

/// A row of each patch's values for each head of each image.
type Heads<D, T> = Tensor<(usize, Const<PATCHES>, Const<HEAD>), f32, D, T>;

/// Each head's part of the values of each patch: (batch · heads, patches, values of a head).
fn heads<D: Device<f32>, T: Tape<f32, D>>(rows: Rows<WIDTH, D, T>) -> Result<Heads<D, T>, D::Err> {
    let batch = rows.shape().0 / PATCHES;
    let split = (batch, Const::<PATCHES>, Const::<HEADS>, Const::<HEAD>);
    let split = rows.try_reshape_like(&split)?.try_permute::<_, Axes4<0, 2, 1, 3>>()?;
    split.try_reshape_like(&(batch * HEADS, Const, Const))
}

/// The backward pass of [`heads`].
fn together<D: Device<f32>, T: Tape<f32, D>>(
    heads: Heads<D, T>,
) -> Result<Rows<WIDTH, D, T>, D::Err> {
    let batch = heads.shape().0 / HEADS;
    let split = (batch, Const::<HEADS>, Const::<PATCHES>, Const::<HEAD>);
    let split = heads.try_reshape_like(&split)?.try_permute::<_, Axes4<0, 2, 1, 3>>()?;
    split.try_reshape_like(&(batch * PATCHES, Const))
}

/// Turns each row of scores into probabilities: [`crate::learning::loss::softmax`].
fn softmax_rows<const N: usize, D: Device<f32>, T: Mode<D>>(
    rows: Rows<N, D, T>,
) -> Result<Rows<N, D, T>, D::Err> {
    T::whole(rows, Tensor::try_softmax::<Axis<1>>)
}

// ANCHOR: attention
/// A weighted sum of an image's values for each query, in each head.
///
/// # Errors
/// The device's own.
pub fn attend<D: Device<f32>, T: Mode<D>>(
    [q, k, v]: [Rows<WIDTH, D, T>; 3],
) -> Result<Rows<WIDTH, D, T>, D::Err> {
    let rows = q.shape().0;
    let k = heads(k)?.try_permute::<_, Axes3<0, 2, 1>>()?; // transposed
    // Query times key: a score for each pair of patches.
    let scores = heads(q)?.try_matmul(k)?;
    let scores = scores.try_mul(1.0 / (HEAD as f32).sqrt())?;
    let pairs = *scores.shape();
    let scores = scores.try_reshape_like(&(rows * HEADS, Const::<PATCHES>))?;
    let weights = softmax_rows(scores)?.try_reshape_like(&pairs)?;
    // Of each value as much as its weight.
    together(weights.try_matmul(heads(v)?)?)
}
// ANCHOR_END: attention
