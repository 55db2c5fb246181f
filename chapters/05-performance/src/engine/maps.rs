//! A convolution, its `ReLU` and its pool in one operation. Between them lie the largest tensors of a convolutional network,
//! which dfdx writes to memory and reads again, forward and backward. Here a few images at a time go through all three while
//! they are in the cache, and only what the pool leaves is kept: its largest numbers, and which of four each one was.
//!
//! The first layer's inputs are data, so nothing wants their derivatives: half of its backward pass is left out.

#![allow(clippy::inline_always, reason = "what a vector loop calls is compiled for its CPU")]

use crate::engine::rows::Inputs;
use dfdx::prelude::*;
use lab::vectors::wide;
use matmul::{Epilogue, Options};
use rayon::prelude::*;
use std::{mem::take, ops::Range};
use training::{
    conv::{Filters, Maps},
    cpu::{matrix, numbers, product},
    models::windows::{Cut, TASK},
};

/// What stands for "none of the four": all were zero, and `ReLU` lets no derivative through.
const NONE: u8 = 4;

/// The largest of each 2×2 pixels of an image with `C` channels after `ReLU`, and which of the four it was.
#[inline(always)]
fn pool<const C: usize>(z: &[f32], width: usize, largest: &mut [f32], which: &mut [u8]) {
    let (z, _) = z.as_chunks::<C>();
    let (out, _) = largest.as_chunks_mut::<C>();
    let (which, _) = which.as_chunks_mut::<C>();
    let pairs = z.chunks_exact(2 * width);
    for (pair, (out, which)) in
        pairs.zip(out.chunks_exact_mut(width / 2).zip(which.chunks_exact_mut(width / 2)))
    {
        let (top, bottom) = pair.split_at(width);
        for (at, (out, which)) in out.iter_mut().zip(which).enumerate() {
            let four = [&top[2 * at], &top[2 * at + 1], &bottom[2 * at], &bottom[2 * at + 1]];
            let mut place = [u32::from(NONE); C];
            *out = [0.0; C];
            for (number, pixel) in four.into_iter().enumerate() {
                for c in 0..C {
                    let larger = pixel[c] > out[c];
                    place[c] = if larger { number as u32 } else { place[c] };
                    out[c] = if larger { pixel[c] } else { out[c] };
                }
            }
            which.iter_mut().zip(place).for_each(|(which, place)| *which = place as u8);
        }
    }
}

/// The backward pass of [`pool`]: each derivative where its number was found, zeros elsewhere.
#[inline(always)]
fn unpool<const C: usize>(up: &[f32], which: &[u8], width: usize, dz: &mut [f32]) {
    let (up, _) = up.as_chunks::<C>();
    let (which, _) = which.as_chunks::<C>();
    let (dz, _) = dz.as_chunks_mut::<C>();
    let given = up.chunks_exact(width / 2).zip(which.chunks_exact(width / 2));
    for (pair, (up, which)) in dz.chunks_exact_mut(2 * width).zip(given) {
        let (top, bottom) = pair.split_at_mut(width);
        for (at, (up, which)) in up.iter().zip(which).enumerate() {
            let (left, right) = top[2 * at..].split_at_mut(1);
            let (below, last) = bottom[2 * at..].split_at_mut(1);
            let four = [&mut left[0], &mut right[0], &mut below[0], &mut last[0]];
            for (number, pixel) in four.into_iter().enumerate() {
                for c in 0..C {
                    pixel[c] = if which[c] == number as u8 { up[c] } else { 0.0 };
                }
            }
        }
    }
}

/// The images that a task holds, as a range.
fn images_of(task: usize, batch: usize) -> Range<usize> {
    task * TASK..batch.min((task + 1) * TASK)
}

/// The sums of every patch with every filter, a number added for each filter, `ReLU`, and the largest of each 2×2 pixels:
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
    let cut = Cut { h, w, channels: CI, k: K, pad };
    let (out_h, out_w) = (h + 2 * pad + 1 - K, w + 2 * pad + 1 - K);
    if out_h % 2 + out_w % 2 > 0 {
        return Err(CpuError::WrongNumElements);
    }
    let (pixels, weight, add) = (numbers(&maps)?, numbers(filters)?, numbers(bias)?);
    let (inside, between, outside) = (cut.image(), cut.patches() * CO, cut.patches() / 4 * CO);
    let group = cut.group();

    let mut largest = vec![0.0; batch * outside];
    let mut which = vec![NONE; batch * outside];
    let options = Options { epilogue: Epilogue::BiasRelu(&add), ..Options::default() };
    largest
        .par_chunks_mut(group * outside)
        .zip(which.par_chunks_mut(group * outside))
        .zip(pixels.par_chunks(group * inside))
        .try_for_each_init(
            || (vec![0.0; group * cut.patches() * cut.patch()], vec![0.0; group * between]),
            |(patches, z), ((largest, which), images)| {
                let count = images.len() / inside;
                let patches = &mut patches[..count * cut.patches() * cut.patch()];
                let z = &mut z[..count * between];
                cut.cut(images, patches);
                product((z, CO), matrix(patches, cut.patch())?, matrix(&weight, CO)?, options)?;
                wide!(|| {
                    let results = largest.chunks_exact_mut(outside);
                    let results = results.zip(which.chunks_exact_mut(outside));
                    for (z, (largest, which)) in z.chunks_exact(between).zip(results) {
                        pool::<CO>(z, out_w, largest, which);
                    }
                });
                Ok::<_, CpuError>(())
            },
        )?;
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
        let tasks = batch.div_ceil(TASK);
        let mut places: Vec<&mut [f32]> = dx.chunks_mut(TASK * inside).collect();
        places.resize_with(tasks, Default::default);
        // dW and db of each task, added in their order: the same bits for any number of threads.
        let parts: Vec<(Vec<f32>, [f32; CO])> = places
            .into_par_iter()
            .enumerate()
            .map_init(
                || {
                    let patches = || vec![0.0; group * cut.patches() * cut.patch()];
                    (patches(), patches(), vec![0.0; group * between])
                },
                |(patches, down, dz), (task, dx)| {
                    let (mut dw, mut db) = (vec![0.0; cut.patch() * CO], [0.0; CO]);
                    let own = images_of(task, batch);
                    for first in own.clone().step_by(group) {
                        let images = first..own.end.min(first + group);
                        let len = images.len() * cut.patches() * cut.patch();
                        let (patches, dz) =
                            (&mut patches[..len], &mut dz[..images.len() * between]);
                        cut.cut(&pixels[images.start * inside..images.end * inside], patches);
                        let results = images.start * outside..images.end * outside;
                        let (up, which) = (&up[results.clone()], &which[results]);
                        wide!(|| {
                            let given = up.chunks_exact(outside).zip(which.chunks_exact(outside));
                            for (dz, (up, which)) in dz.chunks_exact_mut(between).zip(given) {
                                unpool::<CO>(up, which, out_w, dz);
                            }
                            for (up, which) in
                                up.as_chunks::<CO>().0.iter().zip(which.as_chunks::<CO>().0)
                            {
                                for c in 0..CO {
                                    db[c] += if which[c] == NONE { 0.0 } else { up[c] };
                                }
                            }
                        });
                        let dz = matrix(dz, CO)?;
                        let adding = Options { accumulate: true, ..Options::default() };
                        let turned = matrix(patches, cut.patch())?.t();
                        product((&mut dw, CO), turned, dz, adding)?; // dW = Xᵀ·dZ
                        if dx.is_empty() {
                            continue;
                        }
                        let down = &mut down[..len];
                        let weight = matrix(&weight, CO)?.t();
                        product((down, cut.patch()), dz, weight, Options::default())?; // dX = dZ·Wᵀ
                        let at = (images.start - own.start) * inside;
                        cut.paste(down, &mut dx[at..at + images.len() * inside]);
                    }
                    Ok((dw, db))
                },
            )
            .collect::<Result<_, CpuError>>()?;
        let sum =
            |sum: &mut [f32], part: &[f32]| sum.iter_mut().zip(part).for_each(|(s, p)| *s += p);
        for (dw, db) in &parts {
            sum(grads.get_or_alloc_mut(&of_filters)?, dw);
            sum(grads.get_or_alloc_mut(&of_bias)?, db);
        }
        if inputs == Inputs::Units {
            **grads.get_or_alloc_mut(&of_maps)? = dx;
        }
        **grads.get_or_alloc_mut(&of_largest)? = up;
        Ok(())
    });
    Ok(largest.put_tape(tape))
}

#[cfg(test)]
mod tests {
    use super::*;
    use backprop::check::error_f32;
    use training::conv::Convolve as _;

    fn equal<const CI: usize, const CO: usize, const K: usize>(
        (batch, h, w): (usize, usize, usize),
        pad: usize,
    ) {
        let dev = Cpu::seed_from_u64((batch * 10 + K) as u64);
        let maps: Maps<CI, Cpu> = dev.sample_normal_like(&(batch, h, w, Const));
        let filters: Filters<CI, CO, K, Cpu> = dev.sample_normal();
        let bias: Tensor<Rank1<CO>, f32, _> = dev.sample_normal();
        let plain = Cpu::convolve(maps.leaky_trace(), &filters, Some(&bias), pad).unwrap();
        let plain = Cpu::max_pool(plain.relu()).unwrap();
        let weight: Maps<CO, Cpu> = dev.sample_normal_like(plain.shape());
        let values = plain.as_vec();
        let plain = (plain * weight.clone()).sum().backward();
        for inputs in [Inputs::Units, Inputs::Data] {
            let fused =
                convolve_relu_pool(maps.leaky_trace(), &filters, &bias, pad, inputs).unwrap();
            assert!(error_f32(&fused.as_vec(), &values) < 1e-5);
            let fused = (fused * weight.clone()).sum().backward();
            let both = |of: &dyn Fn(&Gradients<f32, Cpu>) -> Vec<f32>| {
                let error = error_f32(&of(&fused), &of(&plain));
                assert!(error < 1e-5, "{CI}→{CO}, {K}×{K}, {batch} of {h}×{w}: {error}");
            };
            both(&|grads| grads.get(&filters).as_vec());
            both(&|grads| grads.get(&bias).as_vec());
            if inputs == Inputs::Units {
                both(&|grads| grads.get(&maps).as_vec());
            }
        }
    }

    #[test]
    fn is_the_three_operations_backward_too() {
        equal::<1, 16, 5>((3, 28, 28), 2);
        equal::<16, 32, 5>((17, 14, 14), 0);
        equal::<2, 3, 3>((1, 4, 6), 1);
        equal::<3, 5, 1>((33, 2, 2), 0);
        equal::<2, 8, 3>((5, 20, 14), 1);
    }

    #[test]
    fn an_odd_side_is_refused() {
        let dev = Cpu::seed_from_u64(1);
        let maps: Maps<1, Cpu> = dev.zeros_like(&(1, 5, 4, Const));
        let filters: Filters<1, 2, 1, Cpu> = dev.zeros();
        let bias: Tensor<Rank1<2>, f32, _> = dev.zeros();
        assert!(convolve_relu_pool(maps, &filters, &bias, 0, Inputs::Units).is_err());
    }
}
