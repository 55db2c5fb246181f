//! A product of numbers in 16 bits between f32 tensors, on dfdx's tape of f32: what is multiplied where [`operands`] says so.
//! In f16 it is a GPU's own; elsewhere, and in bf16, which dfdx has not, it is that of f32 that were rounded.

use crate::models::autocast::{Operands, operands};
use dfdx::{
    dtypes::{AMP, f16},
    prelude::*,
    tensor_ops::Device,
};
use std::mem::{replace, swap};

/// Stored in f16, summed in f32.
type H = AMP<f16>;

/// A device that has numbers in f16 too.
pub trait Half: Device<f32> + Device<H> {
    /// Whether it multiplies them faster than f32. Else products of numbers that were rounded to f16 are f32.
    const FAST: bool;
}

impl Half for Cpu {
    const FAST: bool = false;
}

#[cfg(feature = "cuda")]
impl Half for Cuda {
    const FAST: bool = true;
}

/// A matrix: (rows, columns).
type Matrix<M, N, D, T> = Tensor<(M, N), f32, D, T>;
/// Matrices: (how many, rows, columns).
pub type Matrices<M, N, D, T = NoneTape> = Tensor<(usize, M, N), f32, D, T>;
/// From numbers of one type to those of another.
type Change<A, B, D> = fn(Stack<A, D>) -> Result<Stack<B, D>, <D as HasErr>::Err>;
/// Matrices of numbers of a type.
type Stack<E, D, T = NoneTape> = Tensor<(usize, usize, usize), E, D, T>;

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
    let a = a.try_reshape_like(&(1, rows, inner))?;
    let b = b.try_reshape_like(&(1, inner, columns))?;
    product_of_each(a, b)?.try_reshape_like(&(rows, columns))
}

/// A·B of each two matrices, of numbers in 16 bits where products read those.
///
/// # Errors
/// The device's own.
pub fn product_of_each<M: Dim, K: Dim, N: Dim, D: Half, T: Tape<f32, D> + Merge<T>>(
    a: Matrices<M, K, D, T>,
    b: Matrices<K, N, D, T>,
) -> Result<Matrices<M, N, D, T>, D::Err> {
    let read = operands();
    if read == Operands::F32 {
        return a.try_matmul(b);
    }
    let (&(count, rows, inner), &(_, _, columns)) = (a.shape(), b.shape());
    let a = a.try_reshape_like(&(count, rows.size(), inner.size()))?;
    let b = b.try_reshape_like(&(count, inner.size(), columns.size()))?;
    let product = match read {
        Operands::F16 { scale } if D::FAST => {
            narrow_product::<H, _, _>(a, b, scale, Tensor::try_to_dtype, Tensor::try_to_dtype)?
        }
        Operands::F16 { scale } => narrow_product(a, b, scale, to_f16, Ok)?,
        _ => narrow_product(a, b, 1.0, to_bf16, Ok)?,
    };
    product.try_reshape_like(&(count, rows, columns))
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

/// The numbers that f16 has, in f32.
fn to_f16<S: Shape, D: Half>(x: Tensor<S, f32, D>) -> Result<Tensor<S, f32, D>, D::Err> {
    x.try_to_dtype::<H>()?.try_to_dtype()
}

/// A·B of each two matrices that were made narrow, and widened. The derivatives are narrowed with a factor, which is divided out
/// of what is made of them.
///
/// # Errors
/// The device's own.
fn narrow_product<E: Dtype, D: Device<f32> + Device<E>, T: Tape<f32, D> + Merge<T>>(
    a: Stack<f32, D, T>,
    b: Stack<f32, D, T>,
    scale: f32,
    narrow: Change<f32, E, D>,
    widen: Change<E, f32, D>,
) -> Result<Stack<f32, D, T>, D::Err> {
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
