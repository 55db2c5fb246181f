//! Batch normalisation: each channel gets the mean 0 and the deviation 1 over the batch, then a scale and a bias that
//! are learned. Ioffe and Szegedy 2015, algorithms 1 and 2.
//!
//! dfdx has it, on every device. On the CPU it adds up all rows one after the other in f32, which leaves five digits of ten
//! thousand rows. So the CPU learns with an operation of its own here, which sums in blocks; a test checks that both are equal.

use crate::models::{conv::Maps, cpu::numbers};
use dfdx::{nn::modules::BatchNorm1D, prelude::*, tensor_ops::Device};
use rayon::prelude::*;

/// The parameters of a batch normalisation of `C` channels: `scale` and `bias` are learned, `running_mean` and
/// `running_var` are kept for predictions.
pub type Norm<const C: usize, E, D> = BatchNorm1D<C, E, D>;
/// One row for each pixel: (rows, C).
pub type Rows<const C: usize, D, T = NoneTape> = Tensor<(usize, Const<C>), f32, D, T>;

/// The tape on which a training step notes every operation.
pub type Traced<D> = OwnedTape<f32, D>;

/// A device with batch normalisation. Every error is the device's own.
#[allow(clippy::missing_errors_doc)]
pub trait BatchNorm: Device<f32> {
    /// Each channel with its own mean and variance over all rows, which are noted for later.
    fn normalise_by_batch<const C: usize>(
        rows: Rows<C, Self, Traced<Self>>,
        norm: &mut Norm<C, f32, Self>,
    ) -> Result<Rows<C, Self, Traced<Self>>, Self::Err>;
}

impl BatchNorm for Cpu {
    fn normalise_by_batch<const C: usize>(
        rows: Rows<C, Self, Traced<Self>>,
        norm: &mut Norm<C, f32, Self>,
    ) -> Result<Rows<C, Self, Traced<Self>>, CpuError> {
        by_batch(rows, norm)
    }
}

#[cfg(feature = "cuda")]
impl BatchNorm for Cuda {
    fn normalise_by_batch<const C: usize>(
        rows: Rows<C, Self, Traced<Self>>,
        norm: &mut Norm<C, f32, Self>,
    ) -> Result<Rows<C, Self, Traced<Self>>, CudaError> {
        norm.try_forward_mut(rows)
    }
}

/// Whether a model is in training: it has a tape. Every error is the device's own.
#[allow(clippy::missing_errors_doc)]
pub trait Mode<D: Device<f32>>: Tape<f32, D> + Merge<Self> {
    /// Normalises: while it learns, by the batch's own mean and variance, which are noted; without a tape by those that were.
    fn normalise<const C: usize>(
        rows: Rows<C, D, Self>,
        norm: &mut Norm<C, f32, D>,
    ) -> Result<Rows<C, D, Self>, D::Err>
    where
        D: BatchNorm;

    /// Does `work`: operations of dfdx that are one to the model. A profile shows them as one.
    fn whole<A: Shape, B: Shape, F>(
        x: Tensor<A, f32, D, Self>,
        work: F,
    ) -> Result<Tensor<B, f32, D, Self>, D::Err>
    where
        F: FnOnce(Tensor<A, f32, D, Self>) -> Result<Tensor<B, f32, D, Self>, D::Err>,
    {
        work(x)
    }
}

impl<D: Device<f32>> Mode<D> for Traced<D> {
    fn normalise<const C: usize>(
        rows: Rows<C, D, Self>,
        norm: &mut Norm<C, f32, D>,
    ) -> Result<Rows<C, D, Self>, D::Err>
    where
        D: BatchNorm,
    {
        D::normalise_by_batch(rows, norm)
    }
}

impl<D: Device<f32>> Mode<D> for NoneTape {
    fn normalise<const C: usize>(
        rows: Rows<C, D>,
        norm: &mut Norm<C, f32, D>,
    ) -> Result<Rows<C, D>, D::Err>
    where
        D: BatchNorm,
    {
        norm.try_forward(rows)
    }
}

/// [`Mode::normalise`] for images with their channels last.
///
/// # Errors
/// The device's own.
pub fn normalise<const C: usize, D: BatchNorm, T: Mode<D>>(
    maps: Maps<C, D, T>,
    norm: &mut Norm<C, f32, D>,
) -> Result<Maps<C, D, T>, D::Err> {
    let shape = *maps.shape();
    let rows = maps.try_reshape_like(&(shape.0 * shape.1 * shape.2, Const))?;
    T::normalise(rows, norm)?.try_reshape_like(&shape)
}

/// Rows that one task sums. The sum is the same for any number of threads.
const BLOCK: usize = 1024;

/// For each channel, the sums of two values of each row, in `f64` over blocks.
fn sums<const C: usize>(
    rows: usize,
    of: impl Fn(usize, &mut [[f32; C]; 2]) + Sync,
) -> [[f64; C]; 2] {
    let blocks: Vec<[[f32; C]; 2]> = (0..rows.div_ceil(BLOCK))
        .into_par_iter()
        .map(|block| {
            let mut sums = [[0.0; C]; 2];
            (block * BLOCK..rows.min((block + 1) * BLOCK)).for_each(|row| of(row, &mut sums));
            sums
        })
        .collect();
    let mut all = [[0.0; C]; 2];
    for block in &blocks {
        for (all, block) in all.iter_mut().zip(block) {
            all.iter_mut().zip(block).for_each(|(a, b)| *a += f64::from(*b));
        }
    }
    all
}

/// Each row, changed where it lies.
fn each_row<const C: usize>(rows: &mut [f32], change: impl Fn(usize, &mut [f32; C]) + Sync) {
    rows.par_chunks_mut(BLOCK * C).enumerate().for_each(|(block, rows)| {
        let (rows, _) = rows.as_chunks_mut::<C>();
        rows.iter_mut().enumerate().for_each(|(row, v)| change(block * BLOCK + row, v));
    });
}

/// Row `at` of `rows`.
fn row<const C: usize>(rows: &[f32], at: usize) -> &[f32; C] {
    &rows.as_chunks::<C>().0[at]
}

/// Mixes a batch's mean and variance over so many rows into those that predictions take.
fn note<const C: usize>(
    norm: &mut Norm<C, f32, Cpu>,
    mean: &[f32; C],
    var: &[f32; C],
    rows: usize,
) {
    let (keep, n) = (norm.momentum as f32, rows as f32);
    let mix = |old: &mut Tensor<Rank1<C>, f32, Cpu>, new: &[f32; C], times: f32| {
        let mixed: Vec<f32> = (old.as_vec().iter().zip(new))
            .map(|(old, new)| (1.0 - keep) * old + keep * times * new)
            .collect();
        old.copy_from(&mixed);
    };
    mix(&mut norm.running_mean, mean, 1.0);
    mix(&mut norm.running_var, var, n / (n - 1.0).max(1.0));
}

/// The CPU's own [`BatchNorm::normalise_by_batch`].
///
/// # Errors
/// The device's own.
pub fn by_batch<const C: usize, T: Tape<f32, Cpu>>(
    x: Rows<C, Cpu, T>,
    norm: &mut Norm<C, f32, Cpu>,
) -> Result<Rows<C, Cpu, T>, CpuError> {
    let (x, mut tape) = x.split_tape();
    let (dev, count) = (x.device().clone(), x.shape().0);
    let n = count as f64;
    let input = numbers(&x)?;
    // Around the first row's value the squares lose no digits to a large mean.
    let first: [f32; C] = *row(&input, 0);
    let [shifted, squares] = sums::<C>(count, |at, [sum, square]| {
        for ((sum, square), (v, first)) in
            sum.iter_mut().zip(square).zip(row::<C>(&input, at).iter().zip(&first))
        {
            let v = v - first;
            *sum += v;
            *square += v * v;
        }
    });
    let (mut mean, mut var) = ([0.0f32; C], [0.0f32; C]);
    for c in 0..C {
        let shift = shifted[c] / n;
        mean[c] = (f64::from(first[c]) + shift) as f32;
        var[c] = (squares[c] / n - shift * shift).max(0.0) as f32;
    }
    note(norm, &mean, &var, count);

    let (scale, bias) = (norm.scale.clone(), norm.bias.clone());
    let inverse = var.map(|var| 1.0 / (var + norm.epsilon as f32).sqrt());
    // What becomes of the input: (x − mean) / deviation, kept for the backward pass.
    let mut hat = input;
    each_row::<C>(&mut hat, |_, row| {
        for (v, (mean, inverse)) in row.iter_mut().zip(mean.iter().zip(&inverse)) {
            *v = (*v - mean) * inverse;
        }
    });
    let mut out = hat.clone();
    let (s, b) = (scale.array(), bias.array());
    each_row::<C>(&mut out, |_, row| {
        row.iter_mut().zip(s.iter().zip(&b)).for_each(|(v, (s, b))| *v = *v * s + b);
    });
    let out = dev.try_tensor_from_vec(out, (count, Const::<C>))?;

    let (of_x, of_out, of_scale, of_bias) = (x.ghost(), out.ghost(), scale.ghost(), bias.ghost());
    tape.add_backward_op(move |grads| {
        let up = std::mem::take(&mut **grads.get_or_alloc_mut(&of_out)?);
        let [down, along] = sums::<C>(count, |at, [sum, along]| {
            let pairs = row::<C>(&up, at).iter().zip(row::<C>(&hat, at));
            for ((sum, along), (up, hat)) in sum.iter_mut().zip(along).zip(pairs) {
                *sum += up;
                *along += up * hat;
            }
        });
        let add = |grad: &mut [f32], sums: &[f64; C]| {
            grad.iter_mut().zip(sums).for_each(|(g, sum)| *g += *sum as f32);
        };
        add(grads.get_or_alloc_mut(&of_bias)?, &down);
        add(grads.get_or_alloc_mut(&of_scale)?, &along);
        let [down, along] = [down, along].map(|sums| sums.map(|sum| (sum / n) as f32));
        let mut factor = s;
        factor.iter_mut().zip(&inverse).for_each(|(s, inverse)| *s *= inverse);
        each_row::<C>(grads.get_or_alloc_mut(&of_x)?, |at, grad| {
            let (up, hat) = (row::<C>(&up, at), row::<C>(&hat, at));
            for c in 0..C {
                grad[c] += factor[c] * (up[c] - down[c] - hat[c] * along[c]);
            }
        });
        **grads.get_or_alloc_mut(&of_out)? = up;
        Ok(())
    });
    Ok(out.put_tape(tape))
}
