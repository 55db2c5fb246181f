//! A product in f16 between f32 tensors, on dfdx's tape of f32: what a GPU multiplies where
//! [`operands`](super::autocast::operands) says so. The CPU has products of its own, which read rounded numbers.

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
pub(crate) trait Half: Device<f32> + Device<H> {}

impl<D: Device<f32> + Device<H>> Half for D {}

/// A matrix: (rows, columns).
type Matrix<M, N, D, T> = Tensor<(M, N), f32, D, T>;
/// Matrices: (how many, rows, columns).
pub(crate) type Matrices<D, T = NoneTape> = Tensor<(usize, usize, usize), f32, D, T>;

/// A·B, in f16 where products read that.
///
/// # Errors
/// The device's own.
pub(crate) fn product<K: Dim, N: Dim, D: Half, T: Tape<f32, D> + Merge<T>>(
    a: Matrix<usize, K, D, T>,
    b: Matrix<K, N, D, T>,
) -> Result<Matrix<usize, N, D, T>, D::Err> {
    let Operands::F16 { scale } = operands() else { return a.try_matmul(b) };
    let (&(rows, inner), &(_, columns)) = (a.shape(), b.shape());
    let a = a.try_reshape_like(&(1, rows, inner.size()))?;
    let b = b.try_reshape_like(&(1, inner.size(), columns.size()))?;
    half_product(a, b, scale)?.try_reshape_like(&(rows, columns))
}

/// A·B of each two matrices, in f16 where products read that.
///
/// # Errors
/// The device's own.
pub(crate) fn product_of_each<D: Half, T: Tape<f32, D> + Merge<T>>(
    a: Matrices<D, T>,
    b: Matrices<D, T>,
) -> Result<Matrices<D, T>, D::Err> {
    let Operands::F16 { scale } = operands() else { return a.try_matmul(b) };
    half_product(a, b, scale)
}

/// A·B of each two matrices, in f16: they are rounded, and so is their product. The derivatives are rounded with a factor,
/// which is divided out of what is made of them.
///
/// # Errors
/// The device's own.
fn half_product<D: Half, T: Tape<f32, D> + Merge<T>>(
    a: Matrices<D, T>,
    b: Matrices<D, T>,
    scale: f32,
) -> Result<Matrices<D, T>, D::Err> {
    let ((a, tape), (b, others)) = (a.split_tape(), b.split_tape());
    let mut tape = tape.merge(others);
    let [narrow_a, narrow_b] = [a.clone().try_to_dtype::<H>()?, b.clone().try_to_dtype::<H>()?];
    let c = narrow_a.clone().try_matmul(narrow_b.clone())?.try_to_dtype::<f32>()?;
    let of_c = c.ghost();
    tape.add_backward_op(move |grads| {
        grads.try_alloc_for(&of_c)?;
        let up = grads.get(&of_c).try_mul(scale)?.try_to_dtype::<H>()?;
        let turned_a = narrow_a.try_permute::<_, Axes3<0, 2, 1>>()?;
        let turned_b = narrow_b.try_permute::<_, Axes3<0, 2, 1>>()?;
        let wide = |product: Tensor<(usize, usize, usize), H, D>| {
            product.try_to_dtype::<f32>()?.try_mul(scale.recip())
        };
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

#[cfg(test)]
mod tests {
    use super::*;

    type Three = Tensor<(usize, usize, usize), f32, Cpu>;

    #[test]
    fn it_is_the_product_and_its_gradients_within_a_rounding() {
        let dev = Cpu::seed_from_u64(3);
        let a: Three = dev.sample_normal_like(&(2, 5, 7));
        let b: Three = dev.sample_normal_like(&(2, 7, 3));
        let up: Three = dev.sample_normal_like(&(2, 5, 3)) * 1e-6; // most of it is nothing in f16
        // Each operand is used a second time, as between the layers of a model.
        let taped = || [a.leaky_trace(), b.leaky_trace()];
        let run = |product: Tensor<(usize, usize, usize), f32, Cpu, OwnedTape<f32, Cpu>>| {
            let values = product.as_vec();
            let both = (product * up.clone()).sum::<Rank0, _>();
            let grads = (both + (a.leaky_trace() * 1e-6).sum()).backward();
            [values, grads.get(&a).as_vec(), grads.get(&b).as_vec()]
        };
        let [x, y] = taped();
        let exact = run(x.matmul(y));
        let error = |scale: f32| -> f64 {
            let [x, y] = taped();
            let half = run(half_product(x, y, scale).unwrap());
            let each = exact.iter().zip(&half);
            each.map(|(exact, half)| backprop::check::error_f32(half, exact)).fold(0.0, f64::max)
        };
        let (with, without) = (error(65536.0), error(1.0));
        assert!(with > 0.0 && with < 2e-3, "{with}");
        assert!(without > 0.02, "{without}");
    }
}
