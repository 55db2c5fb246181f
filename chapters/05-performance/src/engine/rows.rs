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
