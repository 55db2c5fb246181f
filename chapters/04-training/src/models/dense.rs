//! Dense layers out of dfdx's operations, on every device.

use crate::models::{
    layers::Number,
    norm::{Mode, Rows},
};
use dfdx::{nn::tensor_collection::TensorOptions, prelude::*, tensor_ops::Device};
use rand_distr::Uniform;

/// One row, the same for all: a bias, a scale.
pub type Row<const N: usize, D> = Tensor<Rank1<N>, f32, D>;

/// A dense layer: the product of the rows and `weight`, and `bias` added to each row.
///
/// # Errors
/// The device's own.
pub fn dense<const I: usize, const O: usize, D: Device<f32>, T: Mode<D>>(
    rows: Rows<I, D, T>,
    weight: Tensor<Rank2<I, O>, f32, D, T>,
    bias: &Row<O, D>,
) -> Result<Rows<O, D, T>, D::Err> {
    T::whole(rows, |rows| add_row(rows.try_matmul(weight)?, bias))
}

/// Adds `row` to each of the rows.
///
/// # Errors
/// The device's own.
pub fn add_row<const N: usize, D: Device<f32>, T: Mode<D>>(
    rows: Rows<N, D, T>,
    row: &Row<N, D>,
) -> Result<Rows<N, D, T>, D::Err> {
    T::whole(rows, |rows| {
        let row = row.retaped::<T>().try_broadcast_like(rows.shape())?;
        rows.try_add(row)
    })
}

/// A dense layer: every output is a weighted sum of all inputs, plus a bias.
#[derive(Clone, Debug)]
pub struct Affine<const I: usize, const O: usize, E: Dtype, D: Device<E>> {
    /// One output in each column.
    pub weight: Tensor<Rank2<I, O>, E, D>,
    /// A number for each output.
    pub bias: Tensor<Rank1<O>, E, D>,
}

impl<const I: usize, const O: usize, D: Device<f32>> Affine<I, O, f32, D> {
    /// Rows of `I` values become rows of `O` values.
    ///
    /// # Errors
    /// The device's own.
    pub fn forward<T: Mode<D>>(&self, rows: Rows<I, D, T>) -> Result<Rows<O, D, T>, D::Err> {
        dense(rows, self.weight.retaped(), &self.bias)
    }
}

crate::made_of!(
    Affine<const I, const O>: weight = usual::<I, _, E, D>(), bias = usual::<I, _, E, D>()
);

/// As dfdx and PyTorch start dense layers with `I` inputs.
fn usual<const I: usize, S: ConstShape, E: Number, D: Device<E>>() -> TensorOptions<S, E, D> {
    TensorOptions::reset_with(|t| {
        let bound = E::from_usize(I).unwrap_or(E::one()).sqrt().recip();
        t.try_fill_with_distr(Uniform::new(-bound, bound))
    })
}
