//! The operation itself, with dfdx's own version of `cudarc`.

use super::{Scores, doubled};
use crate::{Error, Result, gpu::kernels::SOFTMAX};
use cudarc_of_dfdx::{
    driver::{LaunchAsync, LaunchConfig},
    nvrtc::compile_ptx,
};
use dfdx::prelude::*;
use std::fmt::Debug;

/// The module under which dfdx's device keeps the kernels.
const MODULE: &str = "throughput_softmax";
/// What is needed besides the kernel: half of what [`doubled`] gives, and a gradient times the loss' own.
const BESIDE: &str = r#"
extern "C" __global__ void halve(float *x, uint count)
{
    uint i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) x[i] *= 0.5f;
}
extern "C" __global__ void add_scaled(float *sum, const float *x, const float *factor, uint count)
{
    uint i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) sum[i] += x[i] * factor[0];
}
"#;
const NAMES: [&str; 3] = ["halve", "softmax_cross_entropy", "add_scaled"];

/// The error of dfdx, the driver or the compiler, as this course's.
fn said(error: impl Debug) -> Error {
    Error::Device(format!("{error:?}"))
}

/// The mean loss of a batch, as dfdx's `cross_entropy_with_logits_loss` gives it, by a kernel that computes the gradient in
/// the same pass. `labels` has a class for each row.
///
/// # Errors
/// [`Error::Config`] for an empty batch or labels that do not fit it; [`Error::Device`] with the compiler's or the
/// driver's message.
pub fn softmax_cross_entropy<const N: usize, T: Tape<f32, Cuda>>(
    scores: Scores<N, Cuda, T>,
    labels: &[u8],
) -> Result<Tensor<Rank0, f32, Cuda, T>> {
    let rows = scores.shape().0;
    if rows == 0 || labels.len() != rows || labels.iter().any(|l| usize::from(*l) >= N) {
        return Err(Error::Config(format!(
            "{rows} rows of scores want a label below {N} each, and at least one row; look at the batch"
        )));
    }
    let (scores, mut tape) = scores.split_tape();
    let device = scores.device().clone();
    let mut kept = doubled(&scores).map_err(said)?;
    let place = kept.get_or_alloc_mut(&scores).map_err(said)?;
    let driver = place.device();
    if !driver.has_func(MODULE, NAMES[0]) {
        let ptx = compile_ptx(format!("{SOFTMAX}{BESIDE}")).map_err(said)?;
        driver.load_ptx(ptx, MODULE, &NAMES).map_err(said)?;
    }
    let of = |name: &'static str| driver.get_func(MODULE, name).ok_or_else(|| said(name));
    let [halve, loss, add] = [of(NAMES[0])?, of(NAMES[1])?, of(NAMES[2])?];
    let labels: Vec<u32> = labels.iter().map(|label| u32::from(*label)).collect();
    let labels = driver.htod_copy(labels).map_err(said)?;
    let of_rows: Tensor<(usize,), f32, Cuda> = device.try_zeros_like(&(rows,)).map_err(said)?;
    let mut losses = Gradients::leaky();
    let each = losses.get_or_alloc_mut(&of_rows).map_err(said)?;

    let count = (rows * N) as u32;
    let all = LaunchConfig::for_num_elems(count);
    // SAFETY: the arguments are the kernel's, and `place` has `count` numbers.
    unsafe { halve.launch(all, (&mut **place, count)) }.map_err(said)?;
    let blocks = ((rows as u32).div_ceil(8), 1, 1);
    let of_rows_each =
        LaunchConfig { grid_dim: blocks, block_dim: (32, 8, 1), shared_mem_bytes: 0 };
    let (m, n, mean) = (rows as u32, N as u32, 1.0 / rows as f32);
    // SAFETY: as above; labels and losses have a number for each row.
    unsafe { loss.launch(of_rows_each, (&mut **place, &labels, &mut **each, m, n, mean)) }
        .map_err(said)?;

    let mean = losses.get(&of_rows).try_mean::<Rank0, _>().map_err(said)?;
    let (of_scores, of_mean) = (scores.ghost(), mean.ghost());
    // ANCHOR: backward
    tape.add_backward_op(move |grads| {
        let up = grads.get_or_alloc_mut(&of_mean)?.clone();
        let gradient = kept.get_or_alloc_mut(&of_scores)?;
        let sum = grads.get_or_alloc_mut(&of_scores)?;
        // SAFETY: sum and gradient have `count` numbers, up has one.
        unsafe { add.launch(all, (&mut **sum, &**gradient, &*up, count)) }?;
        Ok(())
    });
    // ANCHOR_END: backward
    Ok(mean.put_tape(tape))
}
