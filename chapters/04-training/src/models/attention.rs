//! Attention: every patch of a picture asks all patches and gets a mixture of their answers.

use crate::models::{fused::FusedRows, norm::Rows};
use dfdx::prelude::*;
#[cfg(any(feature = "cuda", test))]
use dfdx::tensor_ops::Device;

/// Patches of a picture: 4 rows of 4.
pub const PATCHES: usize = 16;
/// Numbers that stand for a patch.
pub const WIDTH: usize = 64;
/// Heads: independent questions that a patch asks the others.
pub const HEADS: usize = 4;
/// Numbers of a question.
pub const HEAD: usize = WIDTH / HEADS;

/// A device with attention. Every error is the device's own.
#[allow(clippy::missing_errors_doc)]
pub trait Attend: FusedRows {
    /// The attention of the transformer: for the questions, keys and answers of each picture's patches the mixtures of
    /// the answers, head by head.
    fn attend<T: Tape<f32, Self> + Merge<T>>(
        questions_keys_answers: [Rows<WIDTH, Self, T>; 3],
    ) -> Result<Rows<WIDTH, Self, T>, Self::Err>;
}

impl Attend for Cpu {
    fn attend<T: Tape<f32, Self> + Merge<T>>(
        questions_keys_answers: [Rows<WIDTH, Self, T>; 3],
    ) -> Result<Rows<WIDTH, Self, T>, CpuError> {
        attend_by_head(questions_keys_answers)
    }
}

#[cfg(feature = "cuda")]
impl Attend for Cuda {
    fn attend<T: Tape<f32, Self> + Merge<T>>(
        questions_keys_answers: [Rows<WIDTH, Self, T>; 3],
    ) -> Result<Rows<WIDTH, Self, T>, CudaError> {
        attend_in_one_batch(questions_keys_answers)
    }
}

// ANCHOR: attention
/// A mixture of a picture's answers for each question, in each head.
fn attend_by_head<D: FusedRows, T: Tape<f32, D> + Merge<T>>(
    [q, k, v]: [Rows<WIDTH, D, T>; 3],
) -> Result<Rows<WIDTH, D, T>, D::Err> {
    let (rows, batch) = (q.shape().0, q.shape().0 / PATCHES);
    let split = (batch, Const::<PATCHES>, Const::<HEADS>, Const::<HEAD>);
    let [q, k, v] = [q, k, v].map(|rows| rows.try_reshape_like(&split));
    // Heads first: (batch, heads, patches, numbers of a head).
    let q = q?.try_permute::<_, Axes4<0, 2, 1, 3>>()?;
    let k = k?.try_permute::<_, Axes4<0, 2, 3, 1>>()?; // transposed
    let v = v?.try_permute::<_, Axes4<0, 2, 1, 3>>()?;
    // Question times key: a score for each pair of patches.
    let scores = q.try_matmul(k)?.try_mul(1.0 / (HEAD as f32).sqrt())?;
    let pairs = *scores.shape();
    let scores = scores.try_reshape_like(&(rows * HEADS, Const))?;
    let shares = D::softmax_rows::<PATCHES, T>(scores)?;
    // Of each answer as much as its share.
    let mixed = shares.try_reshape_like(&pairs)?.try_matmul(v)?;
    let mixed = mixed.try_permute::<_, Axes4<0, 2, 1, 3>>()?;
    mixed.try_reshape_like(&(rows, Const))
}
// ANCHOR_END: attention

/// Each head's part of the numbers of each patch: (batch · heads, patches, numbers of a head).
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

/// The way back.
#[cfg(any(feature = "cuda", test))]
fn together<D: Device<f32>, T: Tape<f32, D>>(
    heads: Heads<D, T>,
) -> Result<Rows<WIDTH, D, T>, D::Err> {
    let batch = heads.shape().0 / HEADS;
    let split = (batch, Const::<HEADS>, Const::<PATCHES>, Const::<HEAD>);
    let split = heads.try_reshape_like(&split)?.try_permute::<_, Axes4<0, 2, 1, 3>>()?;
    split.try_reshape_like(&(batch * PATCHES, Const))
}

/// [`attend_by_head`] for a GPU: it multiplies all heads of all pictures in one call of its library. The copies that
/// this takes cost a CPU more than the products.
#[cfg(any(feature = "cuda", test))]
fn attend_in_one_batch<D: FusedRows, T: Tape<f32, D> + Merge<T>>(
    [q, k, v]: [Rows<WIDTH, D, T>; 3],
) -> Result<Rows<WIDTH, D, T>, D::Err> {
    let (rows, k) = (q.shape().0, heads(k)?.try_permute::<_, Axes3<0, 2, 1>>()?);
    let scores = heads(q)?.try_matmul(k)?.try_mul(1.0 / (HEAD as f32).sqrt())?;
    let pairs = *scores.shape();
    let scores = scores.try_reshape_like(&(rows * HEADS, Const))?;
    let shares = D::softmax_rows::<PATCHES, T>(scores)?;
    together(shares.try_reshape_like(&pairs)?.try_matmul(heads(v)?)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::models::fused::tests::both_equal;

    #[test]
    fn heads_one_by_one_equal_heads_in_one_batch_backward_too() {
        for pictures in [1, 5] {
            let dev = Cpu::seed_from_u64(7);
            let given = [(); 3].map(|()| {
                let rows: Rows<WIDTH, Cpu> = dev.sample_normal_like(&(pictures * PATCHES, Const));
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
