//! Convolution on the CPU in three ways: all patches at once and one product, a few images at a time, and directly,
//! without patches.
//!
//! Images have their channels last, filters one output channel in each column, as in chapter 4's `conv`.

use dfdx::prelude::*;
use matmul::{MatMut, MatRef, Options, Threads, sgemm};
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

/// Without patches: the sums of a few neighbouring pixels stay in registers while the filters go by.
///
/// # Errors
/// [`Error::Config`] if the numbers are no whole images and filters, or for a number of filters that has no kernel.
pub fn direct(images: &[f32], filters: &[f32], layer: Layer) -> Result<Vec<f32>> {
    layer.check(images, filters)?;
    let one = match layer.outputs {
        16 => one_image::<16, 4>,
        24 => one_image::<24, 4>,
        32 => one_image::<32, 2>,
        48 => one_image::<48, 2>,
        other => {
            return Err(Error::Config(format!(
                "there is no direct convolution with {other} filters; there is one with 16, 24, 32 and 48"
            )));
        }
    };
    let count = images.len() / layer.image();
    let mut result = vec![0.0; count * layer.result()];
    let each = result.par_chunks_exact_mut(layer.result());
    each.zip(images.par_chunks_exact(layer.image())).for_each(|(result, image)| {
        one(result, &layer.padded(image), filters, layer);
    });
    Ok(result)
}

/// One image, `AT_ONCE` neighbouring pixels at a time, with the widest vectors of this CPU.
fn one_image<const CO: usize, const AT_ONCE: usize>(
    result: &mut [f32],
    padded: &[f32],
    filters: &[f32],
    layer: Layer,
) {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
        // SAFETY: the CPU has just reported both.
        unsafe { with_fma::<CO, AT_ONCE>(result, padded, filters, layer) };
        return;
    }
    rows::<CO, AT_ONCE, false>(result, padded, filters, layer);
}

/// The same loops, compiled for AVX2 and FMA.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn with_fma<const CO: usize, const AT_ONCE: usize>(
    result: &mut [f32],
    padded: &[f32],
    filters: &[f32],
    layer: Layer,
) {
    rows::<CO, AT_ONCE, true>(result, padded, filters, layer);
}

/// Row by row, and what is left of a row pixel by pixel.
#[allow(clippy::inline_always)] // must be compiled with the caller's instructions
#[inline(always)]
fn rows<const CO: usize, const AT_ONCE: usize, const FUSED: bool>(
    result: &mut [f32],
    padded: &[f32],
    filters: &[f32],
    layer: Layer,
) {
    let wide = (layer.side + 2 * layer.pad) * layer.inputs;
    for (y, row) in result.chunks_exact_mut(layer.out() * CO).enumerate() {
        let mut x = 0;
        let mut groups = row.chunks_exact_mut(AT_ONCE * CO);
        for group in &mut groups {
            let start = y * wide + x * layer.inputs;
            let sums = pixels::<CO, AT_ONCE, FUSED>(&padded[start..], wide, filters, layer);
            group.copy_from_slice(sums.as_flattened());
            x += AT_ONCE;
        }
        for pixel in groups.into_remainder().chunks_exact_mut(CO) {
            let start = y * wide + x * layer.inputs;
            let sums = pixels::<CO, 1, FUSED>(&padded[start..], wide, filters, layer);
            pixel.copy_from_slice(sums.as_flattened());
            x += 1;
        }
    }
}

/// `N` neighbouring pixels of the result: the patch begins at `padded`, whose rows
/// are `wide`. Each row of the filters is loaded once and used `N` times.
#[allow(clippy::inline_always)] // must be compiled with the caller's instructions
#[inline(always)]
// ANCHOR: direct
fn pixels<const CO: usize, const N: usize, const FUSED: bool>(
    padded: &[f32],
    wide: usize,
    filters: &[f32],
    layer: Layer,
) -> [[f32; CO]; N] {
    let (row, step) = (layer.k * layer.inputs, layer.inputs);
    let mut sums = [[0.0; CO]; N];
    let lines = filters.chunks_exact(row * CO).zip(padded.chunks(wide));
    for (filters, line) in lines {
        let (filters, _) = filters.as_chunks::<CO>();
        for (at, filters) in filters.iter().enumerate() {
            for (n, sums) in sums.iter_mut().enumerate() {
                let x = line[n * step + at];
                let each = sums.iter_mut().zip(filters);
                each.for_each(|(sum, w)| {
                    *sum = multiply_add::<FUSED>(x, *w, *sum);
                });
            }
        }
    }
    sums
}
// ANCHOR_END: direct

/// x·w + sum, in one instruction where the CPU has it: without, `mul_add` is a call.
#[allow(clippy::inline_always)] // must be compiled with the caller's instructions
#[inline(always)]
fn multiply_add<const FUSED: bool>(x: f32, w: f32, sum: f32) -> f32 {
    if FUSED { x.mul_add(w, sum) } else { sum + x * w }
}

#[cfg(test)]
mod tests {
    use super::*;
    use backprop::random::SplitMix64;

    /// A convolution by its definition.
    fn naive(images: &[f32], filters: &[f32], layer: Layer) -> Vec<f64> {
        let Layer { side, inputs, outputs, k, pad, .. } = layer;
        let mut result = Vec::new();
        for image in images.chunks_exact(layer.image()) {
            for (y, x) in (0..layer.out()).flat_map(|y| (0..layer.out()).map(move |x| (y, x))) {
                for o in 0..outputs {
                    let mut sum = 0.0;
                    for (dy, dx) in (0..k).flat_map(|dy| (0..k).map(move |dx| (dy, dx))) {
                        let (py, px) = ((y + dy).wrapping_sub(pad), (x + dx).wrapping_sub(pad));
                        if py < side && px < side {
                            for c in 0..inputs {
                                let value = image[(py * side + px) * inputs + c];
                                let weight = filters[((dy * k + dx) * inputs + c) * outputs + o];
                                sum += f64::from(value) * f64::from(weight);
                            }
                        }
                    }
                    result.push(sum);
                }
            }
        }
        result
    }

    fn random(len: usize, seed: u64) -> Vec<f32> {
        let mut random = SplitMix64::new(seed);
        (0..len).map(|_| random.normal() as f32).collect()
    }

    fn close(found: &[f32], wanted: &[f64]) {
        assert_eq!(found.len(), wanted.len());
        for (found, wanted) in found.iter().zip(wanted) {
            let error = (f64::from(*found) - wanted).abs();
            assert!(error < 1e-5 * wanted.abs().max(10.0), "{found} is not {wanted}");
        }
    }

    #[test]
    fn all_ways_are_the_definition() {
        let dev = Cpu::default();
        for layer in [
            Layer { name: "", side: 9, inputs: 1, outputs: 16, k: 5, pad: 2 },
            Layer { name: "", side: 7, inputs: 16, outputs: 32, k: 5, pad: 0 },
            Layer { name: "", side: 5, inputs: 24, outputs: 24, k: 3, pad: 1 },
            Layer { name: "", side: 1, inputs: 48, outputs: 48, k: 3, pad: 1 },
        ] {
            let images = random(3 * layer.image(), 1);
            let filters = random(layer.patch() * layer.outputs, 2);
            let wanted = naive(&images, &filters, layer);
            close(&all_patches(&images, &filters, layer).unwrap(), &wanted);
            close(&few_at_a_time(&images, &filters, layer, &dev).unwrap(), &wanted);
            close(&direct(&images, &filters, layer).unwrap(), &wanted);
            let operations = 2.0 * (wanted.len() / 3 * layer.patch()) as f64;
            assert!((layer.operations() - operations).abs() < 0.5);
        }
    }

    #[test]
    fn without_fma_it_is_the_same() {
        let layer = Layer { name: "", side: 6, inputs: 3, outputs: 16, k: 3, pad: 1 };
        let (image, filters) = (random(layer.image(), 3), random(layer.patch() * 16, 4));
        let mut result = vec![0.0; layer.result()];
        rows::<16, 4, false>(&mut result, &layer.padded(&image), &filters, layer);
        close(&result, &naive(&image, &filters, layer));
    }

    #[test]
    fn what_does_not_fit_is_said() {
        let layer = Layer { name: "", side: 6, inputs: 3, outputs: 17, k: 3, pad: 1 };
        let (image, filters) = (random(layer.image(), 3), random(layer.patch() * 17, 4));
        let said = direct(&image, &filters, layer).unwrap_err().to_string();
        assert!(said.contains("17 filters"), "{said}");
        let said = few_at_a_time(&image, &filters, layer, &Cpu::default()).unwrap_err();
        assert!(said.to_string().contains("no layer"), "{said}");
        for way in [direct, all_patches] {
            let said = way(&image[1..], &filters, layer).unwrap_err().to_string();
            assert!(said.contains("no images"), "{said}");
        }
        assert!(all_patches(&[], &filters, layer).unwrap().is_empty());
    }
}
