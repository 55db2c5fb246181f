//! A convolution, its `ReLU` and its pool in one operation. Between them lie the largest tensors of a convolutional network,
//! which dfdx writes to memory and reads again, forward and backward. Here one image after the other goes through all three
//! while it is in the cache, and only what the pool leaves is kept: its largest numbers, and which of four each one was.
//!
//! The first layer's inputs are data, so nothing wants their derivatives: half of its backward pass is left out.

#![allow(clippy::inline_always, reason = "what a vector loop calls is compiled for its CPU")]

use crate::engine::{
    direct::{Convolution, add},
    rows::Inputs,
};
use dfdx::prelude::*;
use lab::vectors::wide;
use rayon::prelude::*;
use std::mem::take;
use training::{
    autocast::operands,
    conv::{Filters, Maps},
    cpu::numbers,
};

/// A pooled number came from the first to the fourth of its pixels if this bit is set. Where none is, all were zero or less,
/// and `ReLU` lets no derivative through.
pub(super) const NONE: u8 = 0;

/// The largest of each 2×2 pixels of an image with `C` channels after `ReLU`, and which of the four it was.
#[inline(always)]
pub(super) fn pool<const C: usize>(z: &[f32], width: usize, largest: &mut [f32], which: &mut [u8]) {
    let half = width / 2 * C;
    let pairs = z.chunks_exact(2 * width * C);
    for (pair, (out, which)) in
        pairs.zip(largest.chunks_exact_mut(half).zip(which.chunks_exact_mut(half)))
    {
        let (top, bottom) = pair.split_at(width * C);
        let four = top.chunks_exact(2 * C).zip(bottom.chunks_exact(2 * C));
        let out = out.chunks_exact_mut(C).zip(which.chunks_exact_mut(C));
        for ((top, bottom), (out, which)) in four.zip(out) {
            let ((a, b), (c, d)) = (top.split_at(C), bottom.split_at(C));
            for i in 0..C {
                let (mut value, mut place) = (0.0, NONE);
                for (number, other) in [a[i], b[i], c[i], d[i]].into_iter().enumerate() {
                    let larger = other > value;
                    value = if larger { other } else { value };
                    place = if larger { 1 << number } else { place };
                }
                out[i] = value;
                which[i] = place;
            }
        }
    }
}

/// The backward pass of [`pool`]: each derivative where its number was found, zeros elsewhere.
#[inline(always)]
pub(super) fn unpool<const C: usize>(up: &[f32], which: &[u8], width: usize, dz: &mut [f32]) {
    let half = width / 2 * C;
    let given = up.chunks_exact(half).zip(which.chunks_exact(half));
    for (pair, (up, which)) in dz.chunks_exact_mut(2 * width * C).zip(given) {
        let (top, bottom) = pair.split_at_mut(width * C);
        let four = top.chunks_exact_mut(2 * C).zip(bottom.chunks_exact_mut(2 * C));
        let given = up.chunks_exact(C).zip(which.chunks_exact(C));
        for ((top, bottom), (up, which)) in four.zip(given) {
            let ((a, b), (c, d)) = (top.split_at_mut(C), bottom.split_at_mut(C));
            for i in 0..C {
                // All bits of the number or none of them: four comparisons would become a jump for each number.
                let here = |number: u8| {
                    let mask = u32::from(which[i] >> number & 1).wrapping_neg();
                    f32::from_bits(up[i].to_bits() & mask)
                };
                (a[i], b[i], c[i], d[i]) = (here(0), here(1), here(2), here(3));
            }
        }
    }
}

/// The sum of each channel's derivatives that `ReLU` let through.
#[inline(always)]
fn let_through<const C: usize>(up: &[f32], which: &[u8]) -> [f32; C] {
    let mut sums = [0.0; C];
    for (up, which) in up.as_chunks::<C>().0.iter().zip(which.as_chunks::<C>().0) {
        for c in 0..C {
            sums[c] += if which[c] == NONE { 0.0 } else { up[c] };
        }
    }
    sums
}

/// The sums of every window with every filter, a number added for each filter, `ReLU`, and the largest of each 2×2 pixels:
/// (batch, h, w, CI) becomes (batch, h', w', CO) with h' = (h + 2·pad − K + 1)/2. Height and width before the pool must be
/// even.
///
/// # Errors
/// The device's own.
pub fn convolve_relu_pool<const CI: usize, const CO: usize, const K: usize, T: Tape<f32, Cpu>>(
    maps: Maps<CI, Cpu, T>,
    filters: &Filters<CI, CO, K, Cpu>,
    bias: &Tensor<Rank1<CO>, f32, Cpu>,
    pad: usize,
    inputs: Inputs,
) -> Result<Maps<CO, Cpu, T>, CpuError> {
    let (maps, mut tape) = maps.split_tape();
    let &(batch, h, w, _) = maps.shape();
    let (out_h, out_w) = (h + 2 * pad + 1 - K, w + 2 * pad + 1 - K);
    if out_h % 2 + out_w % 2 > 0 {
        return Err(CpuError::WrongNumElements);
    }
    let convolution = Convolution::new((h, w), (CI, CO), (K, pad), inputs);
    let (mut pixels, mut weight, start) = (numbers(&maps)?, numbers(filters)?, numbers(bias)?);
    let read = operands();
    read.round(&mut pixels);
    read.round(&mut weight);
    let outside = out_h * out_w / 4 * CO;
    let mut largest = vec![0.0; batch * outside];
    let mut which = vec![NONE; batch * outside];
    let places = largest.chunks_exact_mut(outside).zip(which.chunks_exact_mut(outside));
    convolution.forward(
        &pixels,
        (&weight, Some(&start)),
        places.collect(),
        |z, (largest, which)| wide!(|| pool::<CO>(z, out_w, largest, which)),
    );
    let shape = (batch, out_h / 2, out_w / 2, Const::<CO>);
    let largest = maps.device().try_tensor_from_vec(largest, shape)?;

    let (of_maps, of_largest) = (maps.ghost(), largest.ghost());
    let (of_filters, of_bias) = (filters.ghost(), bias.ghost());
    tape.add_backward_op(move |grads| {
        let up = take(&mut **grads.get_or_alloc_mut(&of_largest)?);
        let mut dx = match inputs {
            Inputs::Units => take(&mut **grads.get_or_alloc_mut(&of_maps)?),
            Inputs::Data => Vec::new(),
        };
        let own = |image: usize| image * outside..(image + 1) * outside;
        let gradient = convolution.backward(&pixels, &weight, &mut dx, |image, dz| {
            wide!(|| unpool::<CO>(&up[own(image)], &which[own(image)], out_w, dz));
            read.round_gradient(dz);
        });
        add(grads.get_or_alloc_mut(&of_filters)?, &gradient);
        // A number that ReLU held back adds nothing to its filter's bias.
        let db: Vec<[f32; CO]> = (0..batch)
            .into_par_iter()
            .map(|image| wide!(|| let_through::<CO>(&up[own(image)], &which[own(image)])))
            .collect();
        for db in &db {
            add(grads.get_or_alloc_mut(&of_bias)?, db);
        }
        if inputs == Inputs::Units {
            **grads.get_or_alloc_mut(&of_maps)? = dx;
        }
        **grads.get_or_alloc_mut(&of_largest)? = up;
        Ok(())
    });
    Ok(largest.put_tape(tape))
}
