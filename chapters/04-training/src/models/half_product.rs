//! A product of numbers in 16 bits between f32 tensors, on dfdx's tape of f32: what a GPU multiplies where
//! [`operands`] says so. In f16 it is the device's own; bf16, which dfdx has not, are f32 that were rounded.
//! The CPU has products of its own, which read rounded numbers.

use crate::models::autocast::{Operands, operands};
use dfdx::{
    dtypes::{AMP, f16},
    prelude::*,
    tensor_ops::Device,
};
use std::mem::{replace, swap};

/// Stored in f16, summed in f32.
type H = AMP<f16>;

/// A device that multiplies in f16 too.
pub trait Half: Device<f32> + Device<H> {}

impl<D: Device<f32> + Device<H>> Half for D {}

/// A matrix: (rows, columns).
type Matrix<M, N, D, T> = Tensor<(M, N), f32, D, T>;
/// Matrices: (how many, rows, columns).
pub type Matrices<D, T = NoneTape> = Tensor<(usize, usize, usize), f32, D, T>;
/// From numbers of one type to those of another.
type Change<A, B, D> = fn(Stack<A, D>) -> Result<Stack<B, D>, <D as HasErr>::Err>;
/// Matrices of numbers of a type.
type Stack<E, D> = Tensor<(usize, usize, usize), E, D>;

/// A·B, of numbers in 16 bits where products read those.
///
/// # Errors
/// The device's own.
pub fn product<K: Dim, N: Dim, D: Half, T: Tape<f32, D> + Merge<T>>(
    a: Matrix<usize, K, D, T>,
    b: Matrix<K, N, D, T>,
) -> Result<Matrix<usize, N, D, T>, D::Err> {
    if operands() == Operands::F32 {
        return a.try_matmul(b);
    }
    let (&(rows, inner), &(_, columns)) = (a.shape(), b.shape());
    let a = a.try_reshape_like(&(1, rows, inner.size()))?;
    let b = b.try_reshape_like(&(1, inner.size(), columns.size()))?;
    product_of_each(a, b)?.try_reshape_like(&(rows, columns))
}

/// A·B of each two matrices, of numbers in 16 bits where products read those.
///
/// # Errors
/// The device's own.
pub fn product_of_each<D: Half, T: Tape<f32, D> + Merge<T>>(
    a: Matrices<D, T>,
    b: Matrices<D, T>,
) -> Result<Matrices<D, T>, D::Err> {
    match operands() {
        Operands::F32 => a.try_matmul(b),
        Operands::F16 { scale } => {
            narrow_product::<H, _, _>(a, b, scale, Tensor::try_to_dtype, Tensor::try_to_dtype)
        }
        Operands::Bf16 => narrow_product(a, b, 1.0, to_bf16, Ok),
    }
}

/// The numbers that bf16 has, in f32: a number minus what a large multiple of it loses (Veltkamp 1968; Dekker, T. J. (1971), "A
/// floating-point technique for extending the available precision", section 5). A device without bf16 rounds by it. Beyond 2¹¹⁰
/// the multiple is infinite.
///
/// # Errors
/// The device's own.
pub fn to_bf16<S: Shape, D: Device<f32>>(
    x: Tensor<S, f32, D>,
) -> Result<Tensor<S, f32, D>, D::Err> {
    let large = x.clone().try_mul(65537.0)?; // 2¹⁶ + 1: sixteen of 24 bits go
    let lost = large.clone().try_sub(x)?;
    large.try_sub(lost)
}

/// A·B of each two matrices that were made narrow, and widened. The derivatives are narrowed with a factor, which is divided out
/// of what is made of them.
///
/// # Errors
/// The device's own.
fn narrow_product<E: Dtype, D: Device<f32> + Device<E>, T: Tape<f32, D> + Merge<T>>(
    a: Matrices<D, T>,
    b: Matrices<D, T>,
    scale: f32,
    narrow: Change<f32, E, D>,
    widen: Change<E, f32, D>,
) -> Result<Matrices<D, T>, D::Err> {
    let ((a, tape), (b, others)) = (a.split_tape(), b.split_tape());
    let mut tape = tape.merge(others);
    let [narrow_a, narrow_b] = [narrow(a.clone())?, narrow(b.clone())?];
    let c = widen(narrow_a.clone().try_matmul(narrow_b.clone())?)?;
    let of_c = c.ghost();
    tape.add_backward_op(move |grads| {
        grads.try_alloc_for(&of_c)?;
        let up = narrow(grads.get(&of_c).try_mul(scale)?)?;
        let turned_a = narrow_a.try_permute::<_, Axes3<0, 2, 1>>()?;
        let turned_b = narrow_b.try_permute::<_, Axes3<0, 2, 1>>()?;
        let wide = |product| widen(product)?.try_mul(scale.recip());
        add(grads, &a, wide(up.clone().try_matmul(turned_b)?)?)?; // dA = dC·Bᵀ
        add(grads, &b, wide(turned_a.try_matmul(up)?)?) // dB = Aᵀ·dC
    });
    Ok(c.put_tape(tape))
}

/// Adds to a gradient in the middle of a backward pass, by a derivative, as
/// [`add_gradient`](crate::models::model::add_gradient) does. On a store of its own: the end of that pass drops what is no
/// parameter's.
fn add<S: Shape, D: Device<f32>>(
    grads: &mut Gradients<f32, D>,
    to: &Tensor<S, f32, D>,
    values: Tensor<S, f32, D>,
) -> Result<(), D::Err> {
    let mut alone = Gradients::leaky();
    swap(alone.get_or_alloc_mut(to)?, grads.get_or_alloc_mut(to)?);
    let sum = to.clone().traced(alone).try_mul(values)?.try_sum::<Rank0, _>()?;
    let mut alone = sum.try_backward()?;
    let empty = Storage::<f32>::try_alloc_len(to.device(), 0)?;
    *grads.get_or_alloc_mut(to)? = replace(alone.get_or_alloc_mut(to)?, empty);
    Ok(())
}
