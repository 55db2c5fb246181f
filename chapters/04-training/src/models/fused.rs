//! Several operations in one: what dfdx would do in many passes over the values, done in one on the CPU.
//!
//! dfdx's operations that broadcast loop over single values on the CPU and look up each one's offset. That
//! takes longer than the products between them. The CPU gets operations of its own here, each with
//! its gradient; a GPU gets the same out of dfdx's operations, and tests check that both are equal.

#![allow(clippy::inline_always, reason = "what a vector loop calls is compiled for its CPU")]

use crate::models::half_product::{self, Half};
use crate::models::{
    autocast::{Operands, operands},
    cpu::{accumulate, matrix, numbers, product, taken},
    layers::Number,
    norm::Rows,
    ready::Addressable,
};
use dfdx::{
    nn::{
        modules,
        tensor_collection::{ModuleVisitor, TensorCollection, TensorOptions},
    },
    prelude::*,
    tensor_ops::Device,
};
use lab::vectors::{exp, wide};
use matmul::{Epilogue, Options, Threads};
use rand_distr::Uniform;
use rayon::prelude::*;

/// One row, the same for all: a bias, a scale.
pub type Row<const N: usize, D> = Tensor<Rank1<N>, f32, D>;
/// Layer normalisation adds this to the variance, so that equal values are not divided by zero.
pub const EPSILON: f32 = 1e-5;

/// Rows of one task.
const TASK: usize = 32;

/// The sum of a row's numbers, each changed, in eight partial sums: one vector.
#[inline(always)]
fn sum<const N: usize>(row: &[f32; N], of: impl Fn(f32) -> f32) -> f32 {
    let (eights, rest) = row.as_chunks::<8>();
    let mut sums = [0.0; 8];
    for eight in eights {
        sums.iter_mut().zip(eight).for_each(|(sum, x)| *sum += of(*x));
    }
    sums.iter().sum::<f32>() + rest.iter().map(|x| of(*x)).sum::<f32>()
}

/// Shifts and scales each row to mean 0 and variance 1, and notes one over its standard deviation; `out` is that row times
/// the factors, with the last numbers added.
#[inline(always)]
pub fn normalise<const N: usize>(
    rows: &mut [f32],
    spreads: &mut [f32],
    [factors, add]: [&[f32; N]; 2],
    out: &mut [f32],
) {
    let rows = rows.as_chunks_mut::<N>().0.iter_mut().zip(spreads);
    for ((row, spread), out) in rows.zip(out.as_chunks_mut::<N>().0) {
        let mean = sum(row, |x| x) / N as f32;
        for x in row.iter_mut() {
            *x -= mean;
        }
        let variance = sum(row, |x| x * x) / N as f32;
        *spread = (variance + EPSILON).sqrt().recip();
        for x in row.iter_mut() {
            *x *= *spread;
        }
        for at in 0..N {
            out[at] = row[at] * factors[at] + add[at];
        }
    }
}

/// Adds to the rows' gradients, from those of what [`normalise`] gave, the rows that it normalised and their spreads.
#[inline(always)]
pub fn normalise_backward<const N: usize>(
    up: &[f32],
    plain: &[f32],
    spreads: &[f32],
    factors: &[f32; N],
    of_rows: &mut [f32],
) {
    let given = up.as_chunks::<N>().0.iter().zip(plain.as_chunks::<N>().0);
    let rows = of_rows.as_chunks_mut::<N>().0.iter_mut().zip(given);
    for ((of_row, (up, plain)), spread) in rows.zip(spreads) {
        let mut scaled = *up;
        scaled.iter_mut().zip(factors).for_each(|(up, scale)| *up *= scale);
        // Mean and variance depend on every number of the row.
        let mean = sum(&scaled, |up| up) / N as f32;
        let mut along = scaled;
        along.iter_mut().zip(plain).for_each(|(up, plain)| *up *= plain);
        let slope = sum(&along, |up| up) / N as f32;
        for at in 0..N {
            of_row[at] += spread * (scaled[at] - mean - plain[at] * slope);
        }
    }
}

/// A device with operations on rows. Every error is the device's own.
#[allow(clippy::missing_errors_doc)]
pub trait FusedRows: Addressable {
    /// A dense layer: the product of the rows and `weight`, and `bias` added to each row.
    fn dense<const I: usize, const O: usize, T: Tape<f32, Self> + Merge<T>>(
        rows: Rows<I, Self, T>,
        weight: &Tensor<Rank2<I, O>, f32, Self>,
        bias: &Row<O, Self>,
    ) -> Result<Rows<O, Self, T>, Self::Err>;

    /// Adds `row` to each of the rows.
    fn add_row<const N: usize, T: Tape<f32, Self> + Merge<T>>(
        rows: Rows<N, Self, T>,
        row: &Row<N, Self>,
    ) -> Result<Rows<N, Self, T>, Self::Err>;

    /// Shifts and scales each row to mean 0 and variance 1, then multiplies with `scale` and adds `shift`:
    /// layer normalisation (Ba, Kiros and Hinton 2016).
    fn normalise_rows<const N: usize, T: Tape<f32, Self> + Merge<T>>(
        rows: Rows<N, Self, T>,
        scale: &Row<N, Self>,
        shift: &Row<N, Self>,
    ) -> Result<Rows<N, Self, T>, Self::Err>;

    /// Turns each row of scores into probabilities: [`crate::learning::loss::softmax`].
    fn softmax_rows<const N: usize, T: Tape<f32, Self>>(
        rows: Rows<N, Self, T>,
    ) -> Result<Rows<N, Self, T>, Self::Err>;
}

impl FusedRows for Cpu {
    fn dense<const I: usize, const O: usize, T: Tape<f32, Self> + Merge<T>>(
        rows: Rows<I, Self, T>,
        weight: &Tensor<Rank2<I, O>, f32, Self>,
        bias: &Row<O, Self>,
    ) -> Result<Rows<O, Self, T>, CpuError> {
        let (rows, mut tape) = rows.try_contiguous()?.split_tape();
        let threads = Threads::Count(rayon::current_num_threads());
        let (mut x, mut w, b) = (numbers(&rows)?, numbers(weight)?, numbers(bias)?);
        let read = operands();
        read.operand(&mut x);
        read.operand(&mut w);
        let mut y = vec![0.0; rows.shape().0 * O];
        let bias_too = Options { epilogue: Epilogue::Bias(&b), threads, ..Options::default() };
        product(read, (&mut y, O), matrix(&x, I)?, matrix(&w, O)?, bias_too)?;
        let y = rows.device().try_tensor_from_vec(y, (rows.shape().0, Const))?;
        let (of_rows, of_y) = (rows.ghost(), y.ghost());
        let (of_weight, of_bias) = (weight.ghost(), bias.ghost());
        tape.add_backward_op(move |grads| {
            let mut up = taken(grads.get_or_alloc_mut(&of_y)?);
            read.operand_gradient(&mut up);
            let add = Options { accumulate: true, threads, ..Options::default() };
            let (x, w, dy) = (matrix(&x, I)?, matrix(&w, O)?, matrix(&up, O)?);
            product(read, (grads.get_or_alloc_mut(&of_rows)?, I), dy, w.t(), add)?; // dX = dY·Wᵀ
            product(read, (grads.get_or_alloc_mut(&of_weight)?, O), x.t(), dy, add)?; // dW = Xᵀ·dY
            let of_bias = grads.get_or_alloc_mut(&of_bias)?;
            up.chunks_exact(O).for_each(|up| accumulate(of_bias, up));
            **grads.get_or_alloc_mut(&of_y)? = up;
            Ok(())
        });
        Ok(y.put_tape(tape))
    }

    fn add_row<const N: usize, T: Tape<f32, Self> + Merge<T>>(
        rows: Rows<N, Self, T>,
        row: &Row<N, Self>,
    ) -> Result<Rows<N, Self, T>, CpuError> {
        let (rows, mut tape) = rows.try_contiguous()?.split_tape();
        let (mut sums, add) = (numbers(&rows)?, numbers(row)?);
        sums.par_chunks_exact_mut(N).for_each(|sums| accumulate(sums, &add));
        let sums = rows.device().try_tensor_from_vec(sums, *rows.shape())?;
        let (of_rows, of_row, of_sums) = (rows.ghost(), row.ghost(), sums.ghost());
        tape.add_backward_op(move |grads| {
            let up = taken(grads.get_or_alloc_mut(&of_sums)?);
            accumulate(grads.get_or_alloc_mut(&of_rows)?, &up);
            let of_row = grads.get_or_alloc_mut(&of_row)?;
            up.chunks_exact(N).for_each(|up| accumulate(of_row, up));
            **grads.get_or_alloc_mut(&of_sums)? = up;
            Ok(())
        });
        Ok(sums.put_tape(tape))
    }

    fn normalise_rows<const N: usize, T: Tape<f32, Self> + Merge<T>>(
        rows: Rows<N, Self, T>,
        scale: &Row<N, Self>,
        shift: &Row<N, Self>,
    ) -> Result<Rows<N, Self, T>, CpuError> {
        let (rows, mut tape) = rows.try_contiguous()?.split_tape();
        let mut spreads = vec![0.0; rows.shape().0];
        let mut plain = numbers(&rows)?;
        let mut out = vec![0.0; plain.len()];
        let (factors, add) = (scale.array(), shift.array());
        let rows_of = plain.par_chunks_mut(TASK * N).zip(spreads.par_chunks_mut(TASK));
        rows_of.zip(out.par_chunks_mut(TASK * N)).for_each(|((rows, spreads), out)| {
            wide!(|| normalise(rows, spreads, [&factors, &add], out));
        });
        let out = rows.device().try_tensor_from_vec(out, *rows.shape())?;
        let (of_rows, of_out) = (rows.ghost(), out.ghost());
        let (of_scale, of_shift) = (scale.ghost(), shift.ghost());
        tape.add_backward_op(move |grads| {
            let up = taken(grads.get_or_alloc_mut(&of_out)?);
            let of_scale = grads.get_or_alloc_mut(&of_scale)?;
            for (up, plain) in up.chunks_exact(N).zip(plain.chunks_exact(N)) {
                let products = up.iter().zip(plain).map(|(up, plain)| up * plain);
                of_scale.iter_mut().zip(products).for_each(|(sum, more)| *sum += more);
            }
            let of_shift = grads.get_or_alloc_mut(&of_shift)?;
            up.chunks_exact(N).for_each(|up| accumulate(of_shift, up));
            let of_rows = grads.get_or_alloc_mut(&of_rows)?.par_chunks_mut(TASK * N);
            let ups = up.par_chunks(TASK * N).zip(plain.par_chunks(TASK * N));
            let ups = ups.zip(spreads.par_chunks(TASK));
            of_rows.zip(ups).for_each(|(of_rows, ((up, plain), spreads))| {
                wide!(|| normalise_backward(up, plain, spreads, &factors, of_rows));
            });
            **grads.get_or_alloc_mut(&of_out)? = up;
            Ok(())
        });
        Ok(out.put_tape(tape))
    }

    fn softmax_rows<const N: usize, T: Tape<f32, Self>>(
        rows: Rows<N, Self, T>,
    ) -> Result<Rows<N, Self, T>, CpuError> {
        let (rows, mut tape) = rows.try_contiguous()?.split_tape();
        let mut shares = numbers(&rows)?;
        shares.par_chunks_mut(TASK * N).for_each(|rows| {
            wide!(|| {
                for row in rows.as_chunks_mut::<N>().0 {
                    let highest = row.iter().copied().fold(f32::NEG_INFINITY, f32::max);
                    for x in row.iter_mut() {
                        *x = exp(*x - highest);
                    }
                    let sum: f32 = row.iter().sum();
                    for x in row.iter_mut() {
                        *x /= sum;
                    }
                }
            });
        });
        let kept = shares.clone();
        let shares = rows.device().try_tensor_from_vec(shares, *rows.shape())?;
        let (of_rows, of_shares) = (rows.ghost(), shares.ghost());
        tape.add_backward_op(move |grads| {
            let up = taken(grads.get_or_alloc_mut(&of_shares)?);
            let of_rows = grads.get_or_alloc_mut(&of_rows)?.par_chunks_exact_mut(N);
            let ups = up.par_chunks_exact(N).zip(kept.par_chunks_exact(N));
            of_rows.zip(ups).for_each(|(of_row, (up, shares))| {
                // One probability can only grow at the cost of the others.
                let mean: f32 = up.iter().zip(shares).map(|(up, share)| up * share).sum();
                for (sum, (up, share)) in of_row.iter_mut().zip(up.iter().zip(shares)) {
                    *sum += share * (up - mean);
                }
            });
            **grads.get_or_alloc_mut(&of_shares)? = up;
            Ok(())
        });
        Ok(shares.put_tape(tape))
    }
}

#[cfg(feature = "cuda")]
impl FusedRows for Cuda {
    fn dense<const I: usize, const O: usize, T: Tape<f32, Self> + Merge<T>>(
        rows: Rows<I, Self, T>,
        weight: &Tensor<Rank2<I, O>, f32, Self>,
        bias: &Row<O, Self>,
    ) -> Result<Rows<O, Self, T>, CudaError> {
        dense_by_matmul(rows, weight, bias)
    }

    fn add_row<const N: usize, T: Tape<f32, Self> + Merge<T>>(
        rows: Rows<N, Self, T>,
        row: &Row<N, Self>,
    ) -> Result<Rows<N, Self, T>, CudaError> {
        add_row_by_broadcast(rows, row)
    }

    fn normalise_rows<const N: usize, T: Tape<f32, Self> + Merge<T>>(
        rows: Rows<N, Self, T>,
        scale: &Row<N, Self>,
        shift: &Row<N, Self>,
    ) -> Result<Rows<N, Self, T>, CudaError> {
        normalise_rows_by_broadcast(rows, scale, shift)
    }

    fn softmax_rows<const N: usize, T: Tape<f32, Self>>(
        rows: Rows<N, Self, T>,
    ) -> Result<Rows<N, Self, T>, CudaError> {
        rows.try_softmax::<Axis<1>>()
    }
}

/// [`FusedRows::dense`] out of dfdx's operations.
///
/// # Errors
/// The device's own.
pub fn dense_by_matmul<const I: usize, const O: usize, D: Half, T: Tape<f32, D> + Merge<T>>(
    rows: Rows<I, D, T>,
    weight: &Tensor<Rank2<I, O>, f32, D>,
    bias: &Row<O, D>,
) -> Result<Rows<O, D, T>, D::Err> {
    add_row_by_broadcast(half_product::product(rows, weight.retaped::<T>())?, bias)
}

/// [`FusedRows::add_row`] out of dfdx's operations.
///
/// # Errors
/// The device's own.
pub fn add_row_by_broadcast<const N: usize, D: Device<f32>, T: Tape<f32, D> + Merge<T>>(
    rows: Rows<N, D, T>,
    row: &Row<N, D>,
) -> Result<Rows<N, D, T>, D::Err> {
    let row = row.retaped::<T>().try_broadcast_like(rows.shape())?;
    rows.try_add(row)
}

/// [`FusedRows::normalise_rows`] out of dfdx's operations.
///
/// # Errors
/// The device's own.
pub fn normalise_rows_by_broadcast<const N: usize, D: Device<f32>, T: Tape<f32, D> + Merge<T>>(
    rows: Rows<N, D, T>,
    scale: &Row<N, D>,
    shift: &Row<N, D>,
) -> Result<Rows<N, D, T>, D::Err> {
    let scale = scale.retaped::<T>().try_broadcast_like(rows.shape())?;
    add_row_by_broadcast(rows.try_normalize::<Axis<1>>(f64::from(EPSILON))?.try_mul(scale)?, shift)
}

/// A dense layer: every output is a weighted sum of all inputs, plus a bias.
#[derive(Clone, Debug)]
pub struct Affine<const I: usize, const O: usize, E: Dtype, D: Device<E>> {
    /// One output in each column.
    pub weight: Tensor<Rank2<I, O>, E, D>,
    /// A number for each output.
    pub bias: Tensor<Rank1<O>, E, D>,
}

impl<const I: usize, const O: usize, D: FusedRows> Affine<I, O, f32, D> {
    /// Rows of `I` values become rows of `O` values.
    ///
    /// # Errors
    /// The device's own.
    pub fn forward<T: Tape<f32, D> + Merge<T>>(
        &self,
        rows: Rows<I, D, T>,
    ) -> Result<Rows<O, D, T>, D::Err> {
        D::dense(rows, &self.weight, &self.bias)
    }
}

impl<const I: usize, const O: usize, E: Number, D: Device<E>> TensorCollection<E, D>
    for Affine<I, O, E, D>
{
    type To<E2: Dtype, D2: Device<E2>> = Affine<I, O, E2, D2>;

    fn iter_tensors<V: ModuleVisitor<Self, E, D>>(
        visitor: &mut V,
    ) -> Result<Option<Self::To<V::E2, V::D2>>, V::Err> {
        visitor.visit_fields(
            (
                Self::tensor(
                    "weight",
                    |s| &s.weight,
                    |s| &mut s.weight,
                    TensorOptions::reset_with(fill::<I, _, E, D>),
                ),
                Self::tensor(
                    "bias",
                    |s| &s.bias,
                    |s| &mut s.bias,
                    TensorOptions::reset_with(fill::<I, _, E, D>),
                ),
            ),
            |(weight, bias)| Affine { weight, bias },
        )
    }
}

/// dfdx's dense layer. Where products read rounded numbers, it is this chapter's.
///
/// # Errors
/// The device's own.
pub fn linear<const I: usize, const O: usize, D: FusedRows, T: Tape<f32, D> + Merge<T>>(
    layer: &modules::Linear<I, O, f32, D>,
    rows: Rows<I, D, T>,
) -> Result<Rows<O, D, T>, D::Err> {
    if operands() == Operands::F32 {
        return layer.try_forward(rows);
    }
    // dfdx keeps outputs×inputs, and a gradient lies as its tensor does.
    let turned = layer.weight.retaped::<T>().try_permute::<Rank2<I, O>, Axes2<1, 0>>()?;
    let turned = turned.try_contiguous()?;
    let ((turned, of_turned), (rows, tape)) = (turned.split_tape(), rows.split_tape());
    D::dense(rows.put_tape(tape.merge(of_turned)), &turned, &layer.bias)
}

/// As dfdx and PyTorch start dense layers with `I` inputs.
fn fill<const I: usize, S: Shape, E: Number, D: Device<E>>(
    tensor: &mut Tensor<S, E, D>,
) -> Result<(), D::Err> {
    let bound = E::from_usize(I).unwrap_or(E::one()).sqrt().recip();
    tensor.try_fill_with_distr(Uniform::new(-bound, bound))
}
