//! A layer of the residual network in one operation: a convolution, its batch normalisation, the way around if there is one,
//! `ReLU`, and a pool if one follows. The normalisation needs the sums of the whole batch, so a batch cannot go through in
//! pieces. But each image's sums are made while its outputs are in the cache, and what the normalisation does to it is done
//! where it is needed, forward and backward: what is kept in memory is what the convolution found, once.

#![allow(clippy::inline_always, reason = "what a vector loop calls is compiled for its CPU")]

use crate::engine::{
    direct::{Convolution, add},
    maps::{NONE, pool, unpool},
    rows::Inputs,
};
use dfdx::prelude::*;
use lab::vectors::wide;
use rayon::prelude::*;
use std::mem::take;
use training::{
    autocast::{Operands, operands},
    conv::Maps,
    cpu::numbers,
    norm::note,
    resnet::Layer,
};

/// The mean of each channel over one image's pixels, and the sum of the squares around it.
#[inline(always)]
pub fn spread<const C: usize>(z: &[f32]) -> [[f32; C]; 2] {
    let (rows, _) = z.as_chunks::<C>();
    let (mut mean, mut squares) = ([0.0; C], [0.0; C]);
    for row in rows {
        for c in 0..C {
            mean[c] += row[c];
        }
    }
    for mean in &mut mean {
        *mean /= rows.len() as f32;
    }
    for row in rows {
        for c in 0..C {
            let apart = row[c] - mean[c];
            squares[c] += apart * apart;
        }
    }
    [mean, squares]
}

/// Mean and variance of a batch from those of its images, each of `pixels` rows. Chan, Golub and `LeVeque` 1983, section 2.
pub fn joined<const C: usize>(images: &[[[f32; C]; 2]], pixels: usize) -> [[f32; C]; 2] {
    let (count, pixels) = (images.len() as f64, pixels as f64);
    let mut all = [[0.0; C]; 2];
    for c in 0..C {
        let of = |which: usize| images.iter().map(move |image| f64::from(image[which][c]));
        let mean = of(0).sum::<f64>() / count;
        let between: f64 = of(0).map(|own| (own - mean) * (own - mean)).sum();
        all[0][c] = mean as f32;
        all[1][c] = ((of(1).sum::<f64>() / pixels + between) / count) as f32;
    }
    all
}

/// A number for each channel, again and again for all pixels of a line: the compiler makes vectors of a loop over a line, and
/// not of one over 24 channels.
fn line<const C: usize>(of: [f32; C], w: usize) -> Vec<f32> {
    of.repeat(w)
}

/// Each number less its channel's mean, times its channel's factor, and its channel's bias added, and another image's number
/// if there is one. The three are whole lines of the image.
#[inline(always)]
fn scaled(z: &[f32], [mean, times, plus]: [&[f32]; 3], around: Option<&[f32]>, to: &mut [f32]) {
    for (z, to) in z.chunks_exact(mean.len()).zip(to.chunks_exact_mut(mean.len())) {
        let of_channels = mean.iter().zip(times).zip(plus);
        for ((z, to), ((mean, times), plus)) in z.iter().zip(to).zip(of_channels) {
            *to = (z - mean) * times + plus;
        }
    }
    if let Some(around) = around {
        to.iter_mut().zip(around).for_each(|(to, more)| *to += more);
    }
}

/// dz = t·(g − mean of g − ẑ·mean of g·ẑ) for each number, where g is: t·g, less (z − mean)·steep and flat, which have the
/// rest. All four are whole lines of the image.
#[inline(always)]
fn scaled_backward(dz: &mut [f32], z: &[f32], [mean, times, steep, flat]: [&[f32]; 4]) {
    for (dz, z) in dz.chunks_exact_mut(mean.len()).zip(z.chunks_exact(mean.len())) {
        let of_channels = mean.iter().zip(times).zip(steep.iter().zip(flat));
        for ((dz, z), ((mean, times), (steep, flat))) in dz.iter_mut().zip(z).zip(of_channels) {
            *dz = *dz * times - (z - mean) * steep - flat;
        }
    }
}

/// `ReLU`, and which numbers it let through.
#[inline(always)]
fn relu(values: &[f32], to: &mut [f32], which: &mut [u8]) {
    for ((value, to), which) in values.iter().zip(to).zip(which) {
        let through = *value > 0.0;
        *to = if through { *value } else { 0.0 };
        *which = u8::from(through);
    }
}

/// The backward pass of [`relu`].
#[inline(always)]
fn relu_backward(up: &[f32], which: &[u8], to: &mut [f32]) {
    for ((up, which), to) in up.iter().zip(which).zip(to) {
        *to = if *which == NONE { 0.0 } else { *up };
    }
}

/// For each channel, the sum of an image's gradients, and their sum times the normalised numbers.
#[inline(always)]
fn along<const C: usize>(
    g: &[f32],
    z: &[f32],
    mean: &[f32; C],
    inverse: &[f32; C],
) -> [[f32; C]; 2] {
    let mut sums = [[0.0; C]; 2];
    for (g, z) in g.as_chunks::<C>().0.iter().zip(z.as_chunks::<C>().0) {
        for c in 0..C {
            sums[0][c] += g[c];
            sums[1][c] += g[c] * ((z[c] - mean[c]) * inverse[c]);
        }
    }
    sums
}

/// What the forward pass of a layer keeps for the backward one.
struct Pass<const CO: usize> {
    convolution: Convolution,
    pixels: Vec<f32>,
    weight: Vec<f32>,
    read: Operands,
    /// What the convolution found: (batch, h, w, CO).
    z: Vec<f32>,
    /// Which numbers `ReLU` or the pool let through.
    which: Vec<u8>,
    mean: [f32; CO],
    /// One over the standard deviation, and that times the layer's own factor.
    inverse: [f32; CO],
    times: [f32; CO],
    w: usize,
    /// Numbers of an image behind the convolution, and of the layer's output.
    between: usize,
    outside: usize,
    pooled: bool,
}

impl<const CO: usize> Pass<CO> {
    /// The convolution, and each image's sums while its outputs are in the cache.
    fn convolve<const CI: usize, const K: usize>(
        maps: &Maps<CI, Cpu>,
        layer: &mut Layer<CI, CO, K, f32, Cpu>,
        pooled: bool,
        inputs: Inputs,
    ) -> Result<Self, CpuError> {
        let &(batch, h, w, _) = maps.shape();
        let convolution = Convolution::new((h, w), (CI, CO), (K, K / 2), inputs);
        let (mut pixels, mut weight, read) = (numbers(maps)?, numbers(&layer.weight)?, operands());
        read.round(&mut pixels);
        read.round(&mut weight);
        let between = h * w * CO;
        let outside = if pooled { between / 4 } else { between };
        let mut z = vec![0.0; batch * between];
        let places = z.chunks_exact_mut(between).collect();
        let images = convolution.forward(&pixels, (&weight, None), places, |found, z| {
            z.copy_from_slice(found);
            wide!(|| spread::<CO>(found))
        });
        let [mean, var] = joined(&images, h * w);
        note(&mut layer.norm, &mean, &var, batch * h * w);
        let inverse = var.map(|var| 1.0 / (var + layer.norm.epsilon as f32).sqrt());
        let scale = layer.norm.scale.array();
        let times = std::array::from_fn(|c| scale[c] * inverse[c]);
        let which = vec![NONE; batch * outside];
        Ok(Self {
            convolution,
            pixels,
            weight,
            read,
            z,
            which,
            mean,
            inverse,
            times,
            w,
            between,
            outside,
            pooled,
        })
    }

    /// Normalised, with what goes around added, through `ReLU`, and pooled if that follows.
    fn outputs(&mut self, bias: [f32; CO], around: Option<&[f32]>) -> Vec<f32> {
        let Self { w, between, outside, pooled, .. } = *self;
        let lines = [self.mean, self.times, bias].map(|of| line(of, w));
        let of_channels = [&lines[0][..], &lines[1], &lines[2]];
        let mut out = vec![0.0; self.which.len()];
        out.par_chunks_exact_mut(outside)
            .zip(self.which.par_chunks_exact_mut(outside))
            .zip(self.z.par_chunks_exact(between))
            .enumerate()
            .for_each_init(
                || vec![0.0; between],
                |values, (image, ((out, which), z))| {
                    let around = around.map(|around| &around[image * between..][..between]);
                    wide!(|| {
                        scaled(z, of_channels, around, values);
                        if pooled {
                            pool::<CO>(values, w, out, which);
                        } else {
                            relu(values, out, which);
                        }
                    });
                },
            );
        out
    }

    /// What comes to each number of an image behind the normalisation.
    fn back(&self, up: &[f32], image: usize, g: &mut [f32]) {
        let here = image * self.outside..(image + 1) * self.outside;
        let (up, which) = (&up[here.clone()], &self.which[here]);
        wide!(|| {
            if self.pooled {
                unpool::<CO>(up, which, self.w, g);
            } else {
                relu_backward(up, which, g);
            }
        });
    }

    /// The gradients of the normalisation's bias and factor; what comes to an image is added to its part of `beside`, if
    /// something went around.
    fn sums(&self, up: &[f32], beside: &mut [f32]) -> [[f32; CO]; 2] {
        let between = self.between;
        let mut places: Vec<&mut [f32]> = beside.chunks_mut(between).collect();
        places.resize_with(self.z.len() / between, Default::default);
        let sums: Vec<[[f32; CO]; 2]> = places
            .into_par_iter()
            .enumerate()
            .map_init(
                || vec![0.0; between],
                |g, (image, beside)| {
                    self.back(up, image, g);
                    let z = &self.z[image * between..][..between];
                    wide!(|| {
                        beside.iter_mut().zip(&*g).for_each(|(sum, g)| *sum += g);
                        along::<CO>(g, z, &self.mean, &self.inverse)
                    })
                },
            )
            .collect();
        [0, 1].map(|part: usize| {
            std::array::from_fn(|c| {
                sums.iter().map(|sums| f64::from(sums[part][c])).sum::<f64>() as f32
            })
        })
    }

    /// The gradient of the filters; that of the inputs is added to `dx`. Both come from dz, image by image.
    fn gradients(&self, up: &[f32], [down, along]: [[f32; CO]; 2], dx: &mut [f32]) -> Vec<f32> {
        let n = (self.z.len() / CO) as f32;
        let steep = std::array::from_fn(|c| self.times[c] * self.inverse[c] * along[c] / n);
        let flat = std::array::from_fn(|c| self.times[c] * down[c] / n);
        let lines = [self.mean, self.times, steep, flat].map(|of| line(of, self.w));
        let of_channels = [&lines[0][..], &lines[1], &lines[2], &lines[3]];
        self.convolution.backward(&self.pixels, &self.weight, dx, |image, dz| {
            self.back(up, image, dz);
            let z = &self.z[image * self.between..][..self.between];
            wide!(|| scaled_backward(dz, z, of_channels));
            self.read.round_gradient(dz);
        })
    }
}

/// The layer's outputs for a batch, after `ReLU`: (batch, h, w, CI) becomes (batch, h, w, CO), or half of h and w if
/// `pooled`. The filters' border is K/2 zeros, and the normalisation's own mean and variance move towards the batch's. With
/// `around`, it is added before `ReLU`.
///
/// # Errors
/// The device's own; [`CpuError::WrongNumElements`] if `around` has another shape, or a pool meets an odd side.
pub fn normed<const CI: usize, const CO: usize, const K: usize, T: Tape<f32, Cpu>>(
    maps: Maps<CI, Cpu, T>,
    layer: &mut Layer<CI, CO, K, f32, Cpu>,
    around: Option<&Maps<CO, Cpu>>,
    pooled: bool,
    inputs: Inputs,
) -> Result<Maps<CO, Cpu, T>, CpuError> {
    let (maps, mut tape) = maps.split_tape();
    let &(batch, h, w, _) = maps.shape();
    let fits = around.is_none_or(|around| *around.shape() == (batch, h, w, Const));
    if !fits || pooled && (h % 2 + w % 2 > 0) {
        return Err(CpuError::WrongNumElements);
    }
    let mut pass = Pass::convolve(&maps, layer, pooled, inputs)?;
    let side = around.map(numbers).transpose()?;
    let out = pass.outputs(layer.norm.bias.array(), side.as_deref());
    let sides = if pooled { (h / 2, w / 2) } else { (h, w) };
    let out = maps.device().try_tensor_from_vec(out, (batch, sides.0, sides.1, Const::<CO>))?;

    let (of_maps, of_out) = (maps.ghost(), out.ghost());
    let (of_weight, of_around) = (layer.weight.ghost(), around.map(Tensor::ghost));
    let (of_scale, of_bias) = (layer.norm.scale.ghost(), layer.norm.bias.ghost());
    tape.add_backward_op(move |grads| {
        let up = take(&mut **grads.get_or_alloc_mut(&of_out)?);
        let mut beside = match &of_around {
            Some(around) => take(&mut **grads.get_or_alloc_mut(around)?),
            None => Vec::new(),
        };
        let sums = pass.sums(&up, &mut beside);
        if let Some(around) = &of_around {
            **grads.get_or_alloc_mut(around)? = beside;
        }
        add(grads.get_or_alloc_mut(&of_bias)?, &sums[0]);
        add(grads.get_or_alloc_mut(&of_scale)?, &sums[1]);
        let mut dx = match inputs {
            Inputs::Units => take(&mut **grads.get_or_alloc_mut(&of_maps)?),
            Inputs::Data => Vec::new(),
        };
        let gradient = pass.gradients(&up, sums, &mut dx);
        add(grads.get_or_alloc_mut(&of_weight)?, &gradient);
        if inputs == Inputs::Units {
            **grads.get_or_alloc_mut(&of_maps)? = dx;
        }
        **grads.get_or_alloc_mut(&of_out)? = up;
        Ok(())
    });
    Ok(out.put_tape(tape))
}
