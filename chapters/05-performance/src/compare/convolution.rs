//! Convolution on the CPU in three ways: all patches at once and one product, a few images at a time, and directly,
//! without patches.
//!
//! Images have their channels last, filters one output channel in each column, as in chapter 4's `conv`.

use crate::engine::ops::direct::Direct;
use dfdx::prelude::*;
use matmul::{MatMut, MatRef, Options, Threads, sgemm, simd::Level};
use rayon::prelude::*;
use training::{Error, Result, conv::Convolve as _};

/// What is convolved: square images, `k`×`k` filters, a border of zeros.
#[derive(Clone, Copy, Debug)]
pub struct Layer {
    /// Where in chapter 4 it is.
    pub name: &'static str,
    /// Height and width of an image.
    pub side: usize,
    /// Channels of an image.
    pub inputs: usize,
    /// Filters.
    pub outputs: usize,
    /// Height and width of a filter.
    pub k: usize,
    /// Zeros around the image.
    pub pad: usize,
}

impl Layer {
    /// Height and width of the result.
    pub fn out(&self) -> usize {
        self.side + 2 * self.pad + 1 - self.k
    }

    /// Numbers of one patch, which are the rows of the filters.
    pub fn patch(&self) -> usize {
        self.k * self.k * self.inputs
    }

    /// Numbers of one image of the result.
    pub fn result(&self) -> usize {
        self.out() * self.out() * self.outputs
    }

    /// Numbers of one image.
    pub fn image(&self) -> usize {
        self.side * self.side * self.inputs
    }

    /// Operations for one image: a product and a sum for each number of each patch and each filter.
    pub fn operations(&self) -> f64 {
        2.0 * (self.result() * self.patch()) as f64
    }

    /// Each image with its border: (side + 2 pad)² pixels.
    fn padded(&self, image: &[f32]) -> Vec<f32> {
        let wide = self.side + 2 * self.pad;
        let mut padded = vec![0.0; wide * wide * self.inputs];
        let row = self.side * self.inputs;
        for (y, line) in image.chunks_exact(row).enumerate() {
            let start = ((y + self.pad) * wide + self.pad) * self.inputs;
            padded[start..start + row].copy_from_slice(line);
        }
        padded
    }

    /// Fails unless there are whole images, and as many filters as there should be.
    fn check(&self, images: &[f32], filters: &[f32]) -> Result<()> {
        let fits = images.len().is_multiple_of(self.image())
            && filters.len() == self.patch() * self.outputs
            && self.k <= self.side + 2 * self.pad;
        if fits {
            return Ok(());
        }
        Err(Error::Config(format!(
            "{} numbers are no images of {}, or {} no filters of {}",
            images.len(),
            self.image(),
            filters.len(),
            self.patch() * self.outputs
        )))
    }
}

/// Numbers of images, or the sentence why there are none.
pub type Numbers = Result<Vec<f32>>;

/// Writes every patch of every image to memory, then multiplies them all with
/// the filters.
///
/// # Errors
/// [`Error::Config`] if the numbers are no whole images and filters.
pub fn all_patches(images: &[f32], filters: &[f32], layer: Layer) -> Numbers {
    layer.check(images, filters)?;
    let (out, row) = (layer.out(), layer.k * layer.inputs);
    let count = images.len() / layer.image();
    let mut patches = vec![0.0; count * out * out * layer.patch()];
    let all = patches.par_chunks_exact_mut(out * out * layer.patch());
    let each = images.par_chunks_exact(layer.image());
    all.zip(each).for_each(|(patches, image)| {
        let padded = layer.padded(image);
        let wide = layer.side + 2 * layer.pad;
        for (at, patch) in patches.chunks_exact_mut(layer.patch()).enumerate() {
            let (y, x) = (at / out, at % out);
            for (down, line) in patch.chunks_exact_mut(row).enumerate() {
                let start = ((y + down) * wide + x) * layer.inputs;
                line.copy_from_slice(&padded[start..start + row]);
            }
        }
    });
    product(&patches, filters, layer)
}

/// Patches times filters.
fn product(patches: &[f32], filters: &[f32], layer: Layer) -> Result<Vec<f32>> {
    let rows = patches.len() / layer.patch();
    let mut result = vec![0.0; rows * layer.outputs];
    let options = Options { threads: Threads::All, ..Options::default() };
    MatRef::new(patches, rows, layer.patch())
        .and_then(|a| Ok((a, MatRef::new(filters, layer.patch(), layer.outputs)?)))
        .and_then(|(a, b)| sgemm(MatMut::new(&mut result, rows, layer.outputs)?, a, b, options))
        .map_err(|e| Error::Config(e.to_string()))?;
    Ok(result)
}

/// Chapter 4's way on the CPU: a few images at a time, multiplied while their patches are in the cache.
///
/// # Errors
/// [`Error::Config`] if chapter 4 has no such layer, [`Error::Device`].
pub fn few_at_a_time(maps: &[f32], filters: &[f32], layer: Layer, dev: &Cpu) -> Result<Vec<f32>> {
    match (layer.inputs, layer.outputs, layer.k) {
        (1, 16, 5) => by_engine::<1, 16, 5>(maps, filters, layer, dev),
        (16, 32, 5) => by_engine::<16, 32, 5>(maps, filters, layer, dev),
        (24, 24, 3) => by_engine::<24, 24, 3>(maps, filters, layer, dev),
        (48, 48, 3) => by_engine::<48, 48, 3>(maps, filters, layer, dev),
        _ => Err(Error::Config(format!("chapter 4 has no layer {layer:?}"))),
    }
}

fn by_engine<const CI: usize, const CO: usize, const K: usize>(
    maps: &[f32],
    filters: &[f32],
    layer: Layer,
    dev: &Cpu,
) -> Result<Vec<f32>> {
    layer.check(maps, filters)?;
    let shape = (maps.len() / layer.image(), layer.side, layer.side, Const::<CI>);
    let maps = dev.try_tensor_from_vec(maps.to_vec(), shape).map_err(Error::device)?;
    let filters: Tensor<Rank4<K, K, CI, CO>, f32, Cpu> = dev
        .try_tensor_from_vec(filters.to_vec(), (Const, Const, Const, Const))
        .map_err(Error::device)?;
    Ok(Cpu::convolve(maps, &filters, None, layer.pad).map_err(Error::device)?.as_vec())
}

/// Without patches, as the [engine](crate::engine::ops::direct) computes.
///
/// # Errors
/// [`Error::Config`] if the numbers are no whole images and filters, or there are other than whole vectors of filters.
pub fn direct(images: &[f32], filters: &[f32], layer: Layer) -> Numbers {
    layer.check(images, filters)?;
    let Layer { side, inputs, outputs, k, pad, .. } = layer;
    if !outputs.is_multiple_of(8) {
        return Err(Error::Config(format!(
            "the direct way takes 8, 16, 24 … filters, not {outputs}"
        )));
    }
    // A border as wide as the filters is part of the image: there is no line without a term.
    let (h, pad) = if pad < k { (side, pad) } else { (side + 2 * pad, 0) };
    let direct = Direct { h, w: h, ci: inputs, co: outputs, k, pad, level: Level::best() };
    let (mut result, bias) =
        (vec![0.0; images.len() / layer.image() * layer.result()], vec![0.0; outputs]);
    let places = result.par_chunks_exact_mut(layer.result());
    places.zip(images.par_chunks_exact(layer.image())).for_each(|(place, image)| {
        direct.forward(place, &layer.padded(image), filters, &bias);
    });
    Ok(result)
}
