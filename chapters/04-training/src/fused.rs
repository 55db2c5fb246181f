//! Several operations in one: what dfdx would do in many passes over the numbers, done in one on the CPU.
//!
//! dfdx's operations that broadcast walk from number to number on the CPU and look up each one's place. That
//! takes longer than the products between them. The CPU gets operations of its own here, each with
//! its gradient; a GPU gets the same out of dfdx's operations, and tests hold both equal.

use crate::{
    engine::numbers,
    norm::Rows,
    transformer::{WIDTH, attend_by_head},
    windows::{matrix, product},
};
use dfdx::{
    nn::tensor_collection::{ModuleVisitor, TensorCollection, TensorOptions},
    prelude::*,
    tensor_ops::Device,
};
use matmul::{Epilogue, Options, Threads};
use num_traits::Float;
use rand_distr::{Uniform, uniform::SampleUniform};
use rayon::prelude::*;
use std::{mem::take, ops::DerefMut};

/// One row, the same for all: a bias, a scale.
pub type Row<const N: usize, D> = Tensor<Rank1<N>, f32, D>;
/// Layer normalisation adds this to the variance, so that equal numbers are not divided by zero.
pub const EPSILON: f32 = 1e-5;

/// A device with operations on rows. Every error is the device's own.
#[allow(clippy::missing_errors_doc)]
pub trait FusedRows: Device<f32> {
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

    /// Turns each row of scores into probabilities: [`crate::loss::softmax`].
    fn softmax_rows<const N: usize, T: Tape<f32, Self>>(
        rows: Rows<N, Self, T>,
    ) -> Result<Rows<N, Self, T>, Self::Err>;

    /// Deals the rows out: the first part gets row 0 of each `parts` rows, the second one row 1 and so on. The
    /// tape goes on beside them.
    fn deal_rows<const N: usize, T: Tape<f32, Self>>(
        rows: Rows<N, Self, T>,
        parts: usize,
    ) -> Result<(Vec<Rows<N, Self>>, T), Self::Err>;

    /// The state after one more moment of a gated recurrent unit with `H` units, as
    /// [`crate::rnn::step_by_operations`] spells it out. `G` is 3·H: the sums for the gates r and z and for the
    /// proposal n lie side by side, in `input` those of the picture and in `sums` those of `state`.
    fn gated_step<const H: usize, const G: usize, T: Tape<f32, Self> + Merge<T>>(
        input: &Rows<G, Self>,
        sums: Rows<G, Self, T>,
        state: &Rows<H, Self>,
    ) -> Result<Rows<H, Self, T>, Self::Err>;

    /// The attention of the transformer: for the questions, keys and answers of each picture's patches the mixtures of
    /// the answers, head by head; see [`crate::transformer`].
    fn attend<T: Tape<f32, Self> + Merge<T>>(
        questions_keys_answers: [Rows<WIDTH, Self, T>; 3],
    ) -> Result<Rows<WIDTH, Self, T>, Self::Err>;
}

/// Takes a gradient out, so that others can be changed while it is read; it must be put back.
fn taken(gradient: &mut impl DerefMut<Target = Vec<f32>>) -> Vec<f32> {
    take(&mut **gradient)
}

/// Adds `more` to `sum`.
fn accumulate(sum: &mut [f32], more: &[f32]) {
    sum.iter_mut().zip(more).for_each(|(sum, more)| *sum += more);
}

impl FusedRows for Cpu {
    fn dense<const I: usize, const O: usize, T: Tape<f32, Self> + Merge<T>>(
        rows: Rows<I, Self, T>,
        weight: &Tensor<Rank2<I, O>, f32, Self>,
        bias: &Row<O, Self>,
    ) -> Result<Rows<O, Self, T>, CpuError> {
        let (rows, mut tape) = rows.try_contiguous()?.split_tape();
        let threads = Threads::Count(rayon::current_num_threads());
        let (x, w, b) = (numbers(&rows)?, numbers(weight)?, numbers(bias)?);
        let mut y = vec![0.0; rows.shape().0 * O];
        let bias_too = Options { epilogue: Epilogue::Bias(&b), threads, ..Options::default() };
        product((&mut y, O), matrix(&x, I)?, matrix(&w, O)?, bias_too)?;
        let y = rows.device().try_tensor_from_vec(y, (rows.shape().0, Const))?;
        let (of_rows, of_y) = (rows.ghost(), y.ghost());
        let (of_weight, of_bias) = (weight.ghost(), bias.ghost());
        tape.add_backward_op(move |grads| {
            let up = taken(grads.get_or_alloc_mut(&of_y)?);
            let add = Options { accumulate: true, threads, ..Options::default() };
            let (x, w, dy) = (matrix(&x, I)?, matrix(&w, O)?, matrix(&up, O)?);
            product((grads.get_or_alloc_mut(&of_rows)?, I), dy, w.t(), add)?; // dX = dY·Wᵀ
            product((grads.get_or_alloc_mut(&of_weight)?, O), x.t(), dy, add)?; // dW = Xᵀ·dY
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
        let count = N as f32;
        // One over each row's standard deviation, and the rows with mean 0 and variance 1.
        let mut spreads = vec![0.0; rows.shape().0];
        let mut plain = numbers(&rows)?;
        plain.par_chunks_exact_mut(N).zip(&mut spreads).for_each(|(row, spread)| {
            let mean = row.iter().sum::<f32>() / count;
            for x in row.iter_mut() {
                *x -= mean;
            }
            let variance = row.iter().map(|x| x * x).sum::<f32>() / count;
            *spread = (variance + EPSILON).sqrt().recip();
            for x in row.iter_mut() {
                *x *= *spread;
            }
        });
        let mut out = plain.clone();
        let (factors, add) = (numbers(scale)?, numbers(shift)?);
        out.par_chunks_exact_mut(N).for_each(|row| {
            let affine = factors.iter().zip(&add);
            row.iter_mut().zip(affine).for_each(|(x, (scale, shift))| *x = *x * scale + shift);
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
            let of_rows = grads.get_or_alloc_mut(&of_rows)?.par_chunks_exact_mut(N);
            let ups = up.par_chunks_exact(N).zip(plain.par_chunks_exact(N));
            of_rows.zip(ups).zip(&spreads).for_each(|((of_row, (up, plain)), spread)| {
                // Mean and variance depend on every number of the row.
                let (mut mean, mut slope) = (0.0, 0.0);
                for ((up, scale), plain) in up.iter().zip(&factors).zip(plain) {
                    mean += up * scale / count;
                    slope += up * scale * plain / count;
                }
                let ups = up.iter().zip(&factors).zip(plain);
                for (sum, ((up, scale), plain)) in of_row.iter_mut().zip(ups) {
                    *sum += spread * (up * scale - mean - plain * slope);
                }
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
        shares.par_chunks_exact_mut(N).for_each(|row| {
            let highest = row.iter().copied().fold(f32::NEG_INFINITY, f32::max);
            for x in row.iter_mut() {
                *x = (*x - highest).exp();
            }
            let sum: f32 = row.iter().sum();
            for x in row.iter_mut() {
                *x /= sum;
            }
        });
        let kept = shares.clone();
        let shares = rows.device().try_tensor_from_vec(shares, *rows.shape())?;
        let (of_rows, of_shares) = (rows.ghost(), shares.ghost());
        tape.add_backward_op(move |grads| {
            let up = taken(grads.get_or_alloc_mut(&of_shares)?);
            let of_rows = grads.get_or_alloc_mut(&of_rows)?.par_chunks_exact_mut(N);
            let ups = up.par_chunks_exact(N).zip(kept.par_chunks_exact(N));
            of_rows.zip(ups).for_each(|(of_row, (up, shares))| {
                // One share can only grow at the cost of the others.
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

    fn deal_rows<const N: usize, T: Tape<f32, Self>>(
        rows: Rows<N, Self, T>,
        parts: usize,
    ) -> Result<(Vec<Rows<N, Self>>, T), CpuError> {
        let (rows, mut tape) = rows.try_contiguous()?.split_tape();
        let (dev, each, all) = (rows.device(), rows.shape().0 / parts, numbers(&rows)?);
        let mut dealt = Vec::with_capacity(parts);
        for part in 0..parts {
            let mut own = Vec::with_capacity(each * N);
            for row in all.chunks_exact(N).skip(part).step_by(parts) {
                own.extend_from_slice(row);
            }
            let own: Rows<N, Self> = dev.try_tensor_from_vec(own, (each, Const))?;
            let (of_rows, of_own) = (rows.ghost(), own.ghost());
            tape.add_backward_op(move |grads| {
                let up = taken(grads.get_or_alloc_mut(&of_own)?);
                let places = grads.get_or_alloc_mut(&of_rows)?.chunks_exact_mut(N);
                let places = places.skip(part).step_by(parts);
                places.zip(up.chunks_exact(N)).for_each(|(sum, up)| accumulate(sum, up));
                **grads.get_or_alloc_mut(&of_own)? = up;
                Ok(())
            });
            dealt.push(own);
        }
        Ok((dealt, tape))
    }

    fn gated_step<const H: usize, const G: usize, T: Tape<f32, Self> + Merge<T>>(
        input: &Rows<G, Self>,
        sums: Rows<G, Self, T>,
        state: &Rows<H, Self>,
    ) -> Result<Rows<H, Self, T>, CpuError> {
        const { assert!(G == 3 * H, "two gates and a proposal for each unit") };
        let (sums, mut tape) = sums.try_contiguous()?.split_tape();
        let (x, s, h) = (numbers(input)?, numbers(&sums)?, numbers(state)?);
        let (mut gates, mut next) = (vec![0.0; x.len()], h.clone());
        let rows = next.par_chunks_exact_mut(H).zip(gates.par_chunks_exact_mut(G));
        let given = x.par_chunks_exact(G).zip(s.par_chunks_exact(G));
        rows.zip(given).for_each(|((h, gates), (x, s))| {
            for (at, h) in h.iter_mut().enumerate() {
                let [i, j, k] = [at, H + at, 2 * H + at];
                let r = sigmoid(x[i] + s[i]);
                let z = sigmoid(x[j] + s[j]);
                // tanh: a sigmoid from -1 to 1. The library's own takes much longer.
                let n = 2.0 * sigmoid(2.0 * (x[k] + r * s[k])) - 1.0;
                *h = n + z * (*h - n);
                [gates[i], gates[j], gates[k]] = [r, z, n];
            }
        });
        let next = state.device().try_tensor_from_vec(next, *state.shape())?;
        let (of_input, of_sums) = (input.ghost(), sums.ghost());
        let (of_state, of_next) = (state.ghost(), next.ghost());
        tape.add_backward_op(move |grads| {
            let up = taken(grads.get_or_alloc_mut(&of_next)?);
            let mut of_x = taken(grads.get_or_alloc_mut(&of_input)?);
            let mut of_s = taken(grads.get_or_alloc_mut(&of_sums)?);
            let of_h = grads.get_or_alloc_mut(&of_state)?.par_chunks_exact_mut(H);
            let slopes = of_x.par_chunks_exact_mut(G).zip(of_s.par_chunks_exact_mut(G)).zip(of_h);
            let given = gates.par_chunks_exact(G).zip(s.par_chunks_exact(G));
            let given = given.zip(h.par_chunks_exact(H)).zip(up.par_chunks_exact(H));
            slopes.zip(given).for_each(|(((of_x, of_s), of_h), (((gates, s), h), up))| {
                for at in 0..H {
                    let [i, j, k] = [at, H + at, 2 * H + at];
                    let [r, z, n] = [gates[i], gates[j], gates[k]];
                    let of_n = up[at] * (1.0 - z) * (1.0 - n * n);
                    let of_r = of_n * s[k] * r * (1.0 - r);
                    let of_z = up[at] * (h[at] - n) * z * (1.0 - z);
                    of_h[at] += up[at] * z;
                    for (place, x, s) in [(i, of_r, of_r), (j, of_z, of_z), (k, of_n, of_n * r)] {
                        of_x[place] += x;
                        of_s[place] += s;
                    }
                }
            });
            **grads.get_or_alloc_mut(&of_input)? = of_x;
            **grads.get_or_alloc_mut(&of_sums)? = of_s;
            **grads.get_or_alloc_mut(&of_next)? = up;
            Ok(())
        });
        Ok(next.put_tape(tape))
    }

    fn attend<T: Tape<f32, Self> + Merge<T>>(
        questions_keys_answers: [Rows<WIDTH, Self, T>; 3],
    ) -> Result<Rows<WIDTH, Self, T>, CpuError> {
        attend_by_head(questions_keys_answers)
    }
}

/// A number between 0 and 1: a gate, closed or open.
fn sigmoid(x: f32) -> f32 {
    1.0 / (1.0 + (-x).exp())
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

    fn deal_rows<const N: usize, T: Tape<f32, Self>>(
        rows: Rows<N, Self, T>,
        parts: usize,
    ) -> Result<(Vec<Rows<N, Self>>, T), CudaError> {
        deal_rows_by_slices(rows, parts)
    }

    fn gated_step<const H: usize, const G: usize, T: Tape<f32, Self> + Merge<T>>(
        input: &Rows<G, Self>,
        sums: Rows<G, Self, T>,
        state: &Rows<H, Self>,
    ) -> Result<Rows<H, Self, T>, CudaError> {
        crate::rnn::step_by_operations(input, sums, state)
    }

    fn attend<T: Tape<f32, Self> + Merge<T>>(
        questions_keys_answers: [Rows<WIDTH, Self, T>; 3],
    ) -> Result<Rows<WIDTH, Self, T>, CudaError> {
        crate::transformer::attend_in_one_batch(questions_keys_answers)
    }
}

/// [`FusedRows::dense`] out of dfdx's operations.
///
/// # Errors
/// The device's own.
#[cfg(any(feature = "cuda", test))]
fn dense_by_matmul<const I: usize, const O: usize, D: Device<f32>, T: Tape<f32, D> + Merge<T>>(
    rows: Rows<I, D, T>,
    weight: &Tensor<Rank2<I, O>, f32, D>,
    bias: &Row<O, D>,
) -> Result<Rows<O, D, T>, D::Err> {
    add_row_by_broadcast(rows.try_matmul(weight.retaped::<T>())?, bias)
}

/// [`FusedRows::add_row`] out of dfdx's operations.
///
/// # Errors
/// The device's own.
#[cfg(any(feature = "cuda", test))]
fn add_row_by_broadcast<const N: usize, D: Device<f32>, T: Tape<f32, D> + Merge<T>>(
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
#[cfg(any(feature = "cuda", test))]
fn normalise_rows_by_broadcast<const N: usize, D: Device<f32>, T: Tape<f32, D> + Merge<T>>(
    rows: Rows<N, D, T>,
    scale: &Row<N, D>,
    shift: &Row<N, D>,
) -> Result<Rows<N, D, T>, D::Err> {
    let scale = scale.retaped::<T>().try_broadcast_like(rows.shape())?;
    add_row_by_broadcast(rows.try_normalize::<Axis<1>>(f64::from(EPSILON))?.try_mul(scale)?, shift)
}

/// [`FusedRows::deal_rows`] out of dfdx's operations.
///
/// # Errors
/// The device's own.
#[cfg(any(feature = "cuda", test))]
fn deal_rows_by_slices<const N: usize, D: Device<f32>, T: Tape<f32, D>>(
    rows: Rows<N, D, T>,
    parts: usize,
) -> Result<(Vec<Rows<N, D>>, T), D::Err> {
    let each = rows.shape().0 / parts;
    let (rows, mut tape) = rows.try_reshape_like(&(each, parts, Const::<N>))?.split_tape();
    let mut dealt = Vec::with_capacity(parts);
    for part in 0..parts {
        let own = rows.clone().put_tape(tape).try_slice((.., part..=part, ..))?;
        let (own, rest) = own.try_reshape_like(&(each, Const))?.split_tape();
        dealt.push(own);
        tape = rest;
    }
    Ok((dealt, tape))
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
    /// Rows of `I` numbers become rows of `O` numbers.
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

impl<const I: usize, const O: usize, E: Dtype + Float + SampleUniform, D: Device<E>>
    TensorCollection<E, D> for Affine<I, O, E, D>
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

/// As dfdx and PyTorch start dense layers with `I` inputs.
fn fill<const I: usize, S: Shape, E: Dtype + Float + SampleUniform, D: Device<E>>(
    tensor: &mut Tensor<S, E, D>,
) -> Result<(), D::Err> {
    let bound = E::from_usize(I).unwrap_or(E::one()).sqrt().recip();
    tensor.try_fill_with_distr(Uniform::new(-bound, bound))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::model::{
        CLASSES, Images, Logits, Network, build, gradients, parameters, set_parameters, tensors,
    };

    /// A model's parameters as a plain implementation reads them, one tensor after the other.
    pub(crate) struct Plain<'a>(&'a [f64]);

    impl<'a> Plain<'a> {
        pub(crate) fn take(&mut self, count: usize) -> &'a [f64] {
            let (mine, rest) = self.0.split_at(count);
            self.0 = rest;
            mine
        }

        /// The outputs of a dense layer, which [`Affine`] must equal.
        pub(crate) fn affine(&mut self, rows: &[Vec<f64>], outputs: usize) -> Vec<Vec<f64>> {
            let weight = self.take(rows[0].len() * outputs);
            let bias = self.take(outputs);
            let sum = |row: &[f64], o: usize| -> f64 {
                row.iter().enumerate().map(|(i, x)| x * weight[i * outputs + o]).sum()
            };
            rows.iter().map(|row| (0..outputs).map(|o| sum(row, o) + bias[o]).collect()).collect()
        }
    }

    /// Holds a model's scores to those of a `plain` implementation in f64, from parameters and one picture,
    /// and its gradients to the slopes of the same.
    pub(crate) fn equals_plain<M: Network<Cpu>>(plain: impl Fn(&mut Plain, &[f64]) -> Vec<f64>) {
        let dev = Cpu::seed_from_u64(11);
        let mut model: M = build(&dev).unwrap();
        // Nothing may stay at one or zero, where a mistake would not show.
        let mut values = parameters(&model).unwrap();
        for (at, value) in values.iter_mut().enumerate() {
            *value += (at % 13) as f32 * 0.005 - 0.03;
        }
        set_parameters(&mut model, &values).unwrap();
        let images: Images<Cpu> = dev.sample_uniform_like(&(3, Const));
        let pixels: Vec<f64> = images.as_vec().into_iter().map(f64::from).collect();
        let weights: Logits<Cpu> = dev.sample_normal_like(&(3, Const));
        let factors: Vec<f64> = weights.as_vec().into_iter().map(f64::from).collect();

        let all = |values: &[f64]| -> Vec<f64> {
            pixels.chunks_exact(784).flat_map(|image| plain(&mut Plain(values), image)).collect()
        };
        let mut exact: Vec<f64> = values.iter().copied().map(f64::from).collect();
        let wanted = all(&exact);
        assert_eq!(wanted.len(), 3 * CLASSES);
        let got = model.predict(images.clone()).unwrap().as_vec();
        for (got, wanted) in got.iter().zip(&wanted) {
            let error = (f64::from(*got) - wanted).abs();
            assert!(error <= 1e-5 * wanted.abs().max(1.0), "{got} is not {wanted}");
        }

        let scores = model.learn(images.leaky_trace()).unwrap();
        assert_eq!(scores.as_vec(), got);
        let grads = (scores * weights).sum().backward();
        let (slopes, mut start) = (gradients(&model, &grads).unwrap(), 0);
        assert_eq!(slopes.len(), exact.len());
        for (name, shape) in tensors(&model).unwrap() {
            let gradient = &slopes[start..start + shape.iter().product::<usize>()];
            for at in [gradient.len() / 7, gradient.len() * 5 / 6] {
                let value = exact[start + at];
                let mut loss = |by: f64| -> f64 {
                    exact[start + at] = value + by;
                    all(&exact).iter().zip(&factors).map(|(score, factor)| score * factor).sum()
                };
                let wanted = (loss(1e-5) - loss(-1e-5)) / 2e-5;
                exact[start + at] = value;
                let error = (f64::from(gradient[at]) - wanted).abs();
                assert!(
                    error <= 1e-3 * wanted.abs() + 1e-5,
                    "{name}[{at}]: {} is not {wanted}",
                    gradient[at]
                );
            }
            start += gradient.len();
        }
    }

    type Taped<const N: usize> = Rows<N, Cpu, OwnedTape<f32, Cpu>>;

    fn close(one: &[f32], two: &[f32]) {
        assert_eq!(one.len(), two.len());
        assert!(one.iter().any(|v| v.abs() > 1e-3), "{one:?}");
        for (a, b) in one.iter().zip(two) {
            assert!((a - b).abs() < 1e-5, "{a} is not {b}");
        }
    }

    /// Holds two results equal, and the gradients of `inputs` that they lead to.
    pub(crate) fn both_equal<const N: usize>(
        both: [Taped<N>; 2],
        inputs: impl Fn(&Gradients<f32, Cpu>) -> Vec<Vec<f32>>,
    ) {
        close(&both[0].as_vec(), &both[1].as_vec());
        let weight: Rows<N, Cpu> = both[0].device().sample_normal_like(both[0].shape());
        let [one, two] = both.map(|out| inputs(&(out * weight.clone()).sum().backward()));
        one.iter().zip(&two).for_each(|(one, two)| close(one, two));
    }

    #[test]
    fn rows_are_treated_as_dfdx_would_backward_too() {
        let dev = Cpu::seed_from_u64(3);
        for count in [1, 6] {
            let rows: Rows<5, Cpu> = dev.sample_normal_like(&(count, Const));
            let (scale, shift): (Row<5, Cpu>, Row<5, Cpu>) =
                (dev.sample_normal(), dev.sample_normal());
            let weight: Tensor<Rank2<5, 3>, f32, _> = dev.sample_normal();
            let bias: Row<3, Cpu> = dev.sample_normal();
            both_equal(
                [
                    Cpu::dense(rows.leaky_trace(), &weight, &bias).unwrap(),
                    dense_by_matmul(rows.leaky_trace(), &weight, &bias).unwrap(),
                ],
                |grads| {
                    let rows = grads.get(&rows).as_vec();
                    vec![rows, grads.get(&weight).as_vec(), grads.get(&bias).as_vec()]
                },
            );
            both_equal(
                [
                    Cpu::add_row(rows.leaky_trace(), &shift).unwrap(),
                    add_row_by_broadcast(rows.leaky_trace(), &shift).unwrap(),
                ],
                |grads| vec![grads.get(&rows).as_vec(), grads.get(&shift).as_vec()],
            );
            both_equal(
                [
                    Cpu::normalise_rows(rows.leaky_trace(), &scale, &shift).unwrap(),
                    normalise_rows_by_broadcast(rows.leaky_trace(), &scale, &shift).unwrap(),
                ],
                |grads| {
                    let rows = grads.get(&rows).as_vec();
                    vec![rows, grads.get(&scale).as_vec(), grads.get(&shift).as_vec()]
                },
            );
            both_equal(
                [
                    Cpu::softmax_rows(rows.leaky_trace()).unwrap(),
                    rows.leaky_trace().softmax::<Axis<1>>(),
                ],
                |grads| vec![grads.get(&rows).as_vec()],
            );
        }
    }

    #[test]
    fn scores_that_are_large_become_probabilities() {
        let dev = Cpu::default();
        let rows: Rows<3, Cpu> = dev.tensor_from_vec(vec![1000.0, 1000.0, -1000.0], (1, Const));
        assert_eq!(Cpu::softmax_rows(rows).unwrap().as_vec(), [0.5, 0.5, 0.0]);
    }

    #[test]
    fn rows_are_dealt_out_in_turn() {
        let dev = Cpu::seed_from_u64(4);
        let rows: Rows<2, Cpu> = dev.sample_normal_like(&(6, Const));
        let all = rows.as_vec();
        let (parts, _) = Cpu::deal_rows(rows.clone(), 3).unwrap();
        assert_eq!(parts[1].as_vec(), [&all[2..4], &all[8..10]].concat());
        let product = |(parts, tape): (Vec<Rows<2, Cpu>>, OwnedTape<f32, Cpu>)| {
            let [a, b, c] = [0, 1, 2].map(|part: usize| parts[part].clone());
            a.put_tape(tape) * b - c
        };
        both_equal(
            [
                product(Cpu::deal_rows(rows.leaky_trace(), 3).unwrap()),
                product(deal_rows_by_slices(rows.leaky_trace(), 3).unwrap()),
            ],
            |grads| vec![grads.get(&rows).as_vec()],
        );
    }

    #[test]
    fn a_gated_step_is_the_one_of_the_page_backward_too() {
        let dev = Cpu::seed_from_u64(5);
        let (input, sums): (Rows<9, Cpu>, Rows<9, Cpu>) =
            (dev.sample_normal_like(&(4, Const)), dev.sample_normal_like(&(4, Const)));
        let state: Rows<3, Cpu> = dev.sample_normal_like(&(4, Const));
        both_equal(
            [
                Cpu::gated_step(&input, sums.leaky_trace(), &state).unwrap(),
                crate::rnn::step_by_operations(&input, sums.leaky_trace(), &state).unwrap(),
            ],
            |grads| {
                let sums = grads.get(&sums).as_vec();
                vec![sums, grads.get(&input).as_vec(), grads.get(&state).as_vec()]
            },
        );
    }
}
