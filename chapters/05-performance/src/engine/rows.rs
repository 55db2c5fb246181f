//! Operations on dfdx's tensors, each with a backward operation of its own on the tape: a dense layer in one pass, which
//! computes a gradient of its inputs only if it is needed, and softmax with cross-entropy.
//!
//! They read tensors by copying them, for dfdx gives no access to their buffers. [`crate::engine::store`] avoids it.

use crate::engine::{
    layer::{self, Behind, Derivatives, Sides, Team},
    mask::Mask,
};
use backprop::softmax::loss_in_place;
use dfdx::prelude::*;
use std::{mem::take, ops::DerefMut};
use training::{cpu::numbers, fused::Affine, norm::Rows};

/// A dense layer on the CPU.
pub type Dense<const I: usize, const O: usize> = Affine<I, O, f32, Cpu>;

/// Whether a layer's inputs need a gradient.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Inputs {
    /// They are data and are not changed.
    Data,
    /// They are the outputs of another layer.
    Units,
}

fn taken(gradient: &mut impl DerefMut<Target = Vec<f32>>) -> Vec<f32> {
    take(&mut **gradient)
}

/// Chapter 3's errors have one word on this device: lengths that do not fit.
fn fits<T>(result: backprop::Result<T>) -> Result<T, CpuError> {
    result.map_err(|_| CpuError::WrongNumElements)
}

// ANCHOR: dense
/// A dense layer and what follows it, as one operation on the tape.
///
/// # Errors
/// The device's own.
pub fn dense<const I: usize, const O: usize, T: Tape<f32, Cpu>>(
    rows: Rows<I, Cpu, T>,
    layer: &Dense<I, O>,
    inputs: Inputs,
    behind: Behind,
) -> Result<Rows<O, Cpu, T>, CpuError> {
    let (sides, team) = (Sides { inputs: I, outputs: O }, Team::of_products());
    let (rows, mut tape) = rows.split_tape();
    let x = numbers(&rows)?;
    let (w, b) = (numbers(&layer.weight)?, numbers(&layer.bias)?);
    let mut y = vec![0.0; rows.shape().0 * O];
    fits(layer::forward(&mut y, &x, (&w, &b), sides, behind, team))?;
    let kept = if behind == Behind::Nothing { Vec::new() } else { y.clone() };
    let out = rows.device().try_tensor_from_vec(y, (rows.shape().0, Const))?;
    let (of_rows, of_out) = (rows.ghost(), out.ghost());
    let (of_weight, of_bias) = (layer.weight.ghost(), layer.bias.ghost());
    // ANCHOR_END: dense
    // ANCHOR: dense_backward
    tape.add_backward_op(move |grads| {
        let mut up = taken(grads.get_or_alloc_mut(&of_out)?);
        let mut dw = taken(grads.get_or_alloc_mut(&of_weight)?);
        let mut db = taken(grads.get_or_alloc_mut(&of_bias)?);
        let dx: Option<&mut [f32]> = match inputs {
            Inputs::Data => None, // no product, and not even a buffer for it
            Inputs::Units => Some(grads.get_or_alloc_mut(&of_rows)?),
        };
        let parameters = (&mut dw[..], &mut db[..]);
        let to = Derivatives { parameters, inputs: dx, add: true };
        let y = (&mut up[..], &kept[..]);
        fits(layer::backward(to, y, (&x, &w), sides, behind, team))?;
        **grads.get_or_alloc_mut(&of_out)? = up;
        **grads.get_or_alloc_mut(&of_weight)? = dw;
        **grads.get_or_alloc_mut(&of_bias)? = db;
        Ok(())
    });
    Ok(out.put_tape(tape))
    // ANCHOR_END: dense_backward
}

/// One number.
type Loss = Tensor<Rank0, f32, Cpu>;

/// Softmax and cross-entropy as one operation: the mean loss of the rows
/// with these labels. The gradient, (probability − target) / rows, is
/// made in the same pass, so that no exponential is computed twice.
///
/// # Errors
/// [`CpuError::WrongNumElements`] if there is not one label below `N` for
/// each row.
// ANCHOR: loss
pub fn cross_entropy<const N: usize, T: Tape<f32, Cpu>>(
    scores: Rows<N, Cpu, T>,
    labels: &[u8],
) -> Result<Tensor<Rank0, f32, Cpu, T>, CpuError> {
    let known = labels.iter().all(|label| usize::from(*label) < N);
    if labels.len() != scores.shape().0 || !known {
        return Err(CpuError::WrongNumElements);
    }
    let (scores, mut tape) = scores.split_tape();
    let mut gradient = numbers(&scores)?;
    let loss = loss_in_place(&mut gradient, labels, N, N) as f32;
    let loss: Loss = scores.device().try_tensor_from_vec(vec![loss], ())?;
    let (of_scores, of_loss) = (scores.ghost(), loss.ghost());
    tape.add_backward_op(move |grads| {
        let up = grads.get_or_alloc_mut(&of_loss)?[0];
        let sums = grads.get_or_alloc_mut(&of_scores)?.iter_mut();
        sums.zip(&gradient).for_each(|(sum, g)| *sum += up * g);
        Ok(())
    });
    Ok(loss.put_tape(tape))
}
// ANCHOR_END: loss

/// A mask with a key that the device draws: one number for each layer and step, as dfdx's own dropout takes.
///
/// # Errors
/// [`CpuError::WrongNumElements`] for an impossible fraction.
pub fn drawn(dev: &Cpu, share: f64) -> Result<Mask, CpuError> {
    fits(Mask::new(share, dev.random_u64()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use backprop::check;
    use dfdx::losses::cross_entropy_with_logits_loss;

    type Grads = Gradients<f32, Cpu>;

    fn affine<const I: usize, const O: usize>(dev: &Cpu) -> Dense<I, O> {
        Affine { weight: dev.sample_normal(), bias: dev.sample_normal() }
    }

    fn close<S: Shape>(one: &Tensor<S, f32, Cpu>, two: &Tensor<S, f32, Cpu>, what: &str) {
        let error = check::error_f32(&one.as_vec(), &two.as_vec());
        assert!(error < 1e-5, "{what}: {error}");
    }

    /// Both ways, and the gradients of a loss that depends on each output differently.
    fn both<const I: usize, const O: usize>(rows: usize, relu: bool) {
        let dev = Cpu::seed_from_u64(rows as u64);
        let layer: Dense<I, O> = affine(&dev);
        let x: Rows<I, Cpu> = dev.sample_normal_like(&(rows, Const));
        let up: Rows<O, Cpu> = dev.sample_normal_like(&(rows, Const));
        let behind = if relu { Behind::Relu(Mask::new(0.0, 0).unwrap()) } else { Behind::Nothing };
        let ours = dense(x.leaky_trace(), &layer, Inputs::Units, behind).unwrap();
        let bias = layer.bias.retaped::<OwnedTape<f32, Cpu>>().broadcast_like(&(rows, Const::<O>));
        let theirs = x.leaky_trace().matmul(layer.weight.retaped::<OwnedTape<f32, Cpu>>()) + bias;
        let theirs = if relu { theirs.relu() } else { theirs };
        let (ours, mine) = ours.split_tape();
        let (theirs, tape) = theirs.split_tape();
        close(&ours, &theirs, "y");
        let (ours, theirs) = (ours.put_tape(mine), theirs.put_tape(tape));
        let [a, b]: [Grads; 2] = [ours, theirs].map(|y| (y * up.clone()).sum().backward());
        close(&a.get(&x), &b.get(&x), "dx");
        close(&a.get(&layer.weight), &b.get(&layer.weight), "dw");
        close(&a.get(&layer.bias), &b.get(&layer.bias), "db");
        let data = dense(x.leaky_trace(), &layer, Inputs::Data, behind).unwrap();
        let mut data = (data * up).sum().backward();
        close(&data.get(&layer.weight), &b.get(&layer.weight), "dw of data");
        // Nothing was allocated for the data: what is asked for now is new, and zero.
        assert!(data.get_or_alloc_mut(&x).unwrap().iter().all(|g| *g == 0.0));
    }

    #[test]
    fn a_layer_is_dfdxs() {
        for relu in [false, true] {
            both::<7, 5>(3, relu);
            both::<33, 17>(1, relu);
            both::<64, 130>(65, relu);
        }
    }

    #[test]
    fn the_loss_is_dfdxs_and_so_is_its_gradient() {
        let dev = Cpu::seed_from_u64(1);
        for rows in [1, 7, 130] {
            let scores: Rows<10, Cpu> = dev.sample_normal_like(&(rows, Const)) * 5.0;
            let labels: Vec<u8> = (0..rows).map(|i| (i * 7 % 10) as u8).collect();
            let mut truth = vec![0.0; rows * 10];
            for (row, label) in truth.chunks_exact_mut(10).zip(&labels) {
                row[usize::from(*label)] = 1.0;
            }
            let truth = dev.tensor_from_vec(truth, (rows, Const::<10>));
            let ours = cross_entropy(scores.leaky_trace(), &labels).unwrap();
            let theirs = cross_entropy_with_logits_loss(scores.leaky_trace(), truth);
            assert!((ours.array() - theirs.array()).abs() < 1e-5 * theirs.array());
            // Half of the loss: what comes from above counts.
            let [a, b] = [ours, theirs].map(|loss| (loss * 0.5).backward());
            close(&a.get(&scores), &b.get(&scores), "scores");
        }
    }

    #[test]
    fn scores_of_a_thousand_do_not_overflow() {
        let dev = Cpu::default();
        let scores: Rows<2, Cpu> = dev.tensor_from_vec(vec![1000.0, -1000.0], (1, Const));
        let loss = cross_entropy(scores.leaky_trace(), &[1]).unwrap();
        assert!((loss.array() - 2000.0).abs() < 1e-3);
        assert_eq!(loss.backward().get(&scores).as_vec(), [1.0, -1.0]);
    }

    #[test]
    fn labels_that_do_not_fit_are_refused() {
        let scores: Rows<3, Cpu> = Cpu::default().zeros_like(&(2, Const));
        for labels in [&[0_u8][..], &[0, 3], &[]] {
            assert!(cross_entropy(scores.leaky_trace(), labels).is_err(), "{labels:?}");
        }
    }
}
