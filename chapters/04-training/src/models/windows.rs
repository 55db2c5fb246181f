//! The CPU's own convolution and pool. The convolution cuts a few images at a time into patches, so that what is cut is still in the cache
//! when chapter 1's product multiplies it, and it cuts them anew in the backward pass instead of keeping them.
//!
//! [`crate::models::conv::convolve_gather`] does the same out of dfdx's operations, on every device; a test checks that the two are
//! equal.

use crate::models::{
    conv::{Convolve, Filters, Maps},
    cpu::{each, matrix, numbers, product},
};
use dfdx::prelude::*;
use matmul::{Epilogue, Options};
use rayon::prelude::*;

impl Convolve for Cpu {
    fn convolve<const CI: usize, const CO: usize, const K: usize, T>(
        maps: Maps<CI, Self, T>,
        filters: &Filters<CI, CO, K, Self>,
        bias: Option<&Tensor<Rank1<CO>, f32, Self>>,
        pad: usize,
    ) -> Result<Maps<CO, Self, T>, CpuError>
    where
        T: Tape<f32, Self> + Merge<T>,
    {
        convolve(maps, filters, bias, pad)
    }

    fn max_pool<const C: usize, T: Tape<f32, Self>>(
        maps: Maps<C, Self, T>,
    ) -> Result<Maps<C, Self, T>, CpuError> {
        max_pool(maps)
    }
}

/// Images of one task. Each task sums its own part of the filters' gradient, and the parts are added in the order
/// of the images: the same bits for any number of threads.
const TASK: usize = 16;
/// Rows that make a product worth its start.
const ROWS: usize = 192;

/// How an image is cut into patches: `k`×`k` pixels of so many channels, with a border of `pad` zeros.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Cut {
    /// Rows of the image.
    h: usize,
    /// Its columns.
    w: usize,
    /// Numbers of a pixel.
    channels: usize,
    /// Pixels of a patch's side.
    k: usize,
    /// Zeros around the image, on each side.
    pad: usize,
}

impl Cut {
    /// Patches of one image.
    fn patches(&self) -> usize {
        (self.h + 2 * self.pad + 1 - self.k) * (self.w + 2 * self.pad + 1 - self.k)
    }

    /// Numbers of one patch.
    fn patch(&self) -> usize {
        self.k * self.k * self.channels
    }

    /// Values of one image.
    fn image(&self) -> usize {
        self.h * self.w * self.channels
    }

    /// Images that are cut and multiplied at once.
    fn group(&self) -> usize {
        ROWS.div_ceil(self.patches()).min(TASK)
    }

    /// Calls `row` for each row of each patch, as far as it lies in the image: where it starts among the
    /// patches, where in the image, and how many values it has.
    fn rows(&self, mut row: impl FnMut(usize, usize, usize)) {
        let Self { h, w, channels, k, pad } = *self;
        let (out_h, out_w) = (h + 2 * pad + 1 - k, w + 2 * pad + 1 - k);
        for y in 0..out_h {
            for x in 0..out_w {
                let (left, right) = (pad.saturating_sub(x), (w + pad - x).min(k));
                for line in pad.saturating_sub(y)..(h + pad - y).min(k) {
                    let patch = ((y * out_w + x) * k + line) * k + left;
                    let pixel = (y + line - pad) * w + x + left - pad;
                    row(patch * channels, pixel * channels, (right - left) * channels);
                }
            }
        }
    }

    /// Copies images into patches. The border's zeros must be there already.
    fn cut(&self, images: &[f32], patches: &mut [f32]) {
        let all = patches.chunks_exact_mut(self.patches() * self.patch());
        for (image, patches) in images.chunks_exact(self.image()).zip(all) {
            self.rows(|patch, pixel, len| {
                patches[patch..patch + len].copy_from_slice(&image[pixel..pixel + len]);
            });
        }
    }

    /// The backward pass: each pixel sums what all of its copies got.
    fn paste(&self, patches: &[f32], images: &mut [f32]) {
        let all = patches.chunks_exact(self.patches() * self.patch());
        for (image, patches) in images.chunks_exact_mut(self.image()).zip(all) {
            self.rows(|patch, pixel, len| {
                let pixels = image[pixel..pixel + len].iter_mut();
                pixels.zip(&patches[patch..patch + len]).for_each(|(sum, g)| *sum += g);
            });
        }
    }
}

/// The convolution of images with filters, and a number added for each filter if there are any.
fn convolve<const CI: usize, const CO: usize, const K: usize, T: Tape<f32, Cpu>>(
    maps: Maps<CI, Cpu, T>,
    filters: &Tensor<Rank4<K, K, CI, CO>, f32, Cpu>,
    bias: Option<&Tensor<Rank1<CO>, f32, Cpu>>,
    pad: usize,
) -> Result<Maps<CO, Cpu, T>, CpuError> {
    let (maps, mut tape) = maps.split_tape();
    let &(batch, h, w, _) = maps.shape();
    let cut = Cut { h, w, channels: CI, k: K, pad };
    let (pixels, weight) = (numbers(&maps)?, numbers(filters)?);
    let (inside, outside, group) = (cut.image(), cut.patches() * CO, cut.group());

    let mut out = vec![0.0; batch * outside];
    let start = bias.map(numbers).transpose()?;
    let epilogue = start.as_deref().map_or(Epilogue::None, Epilogue::Bias);
    out.par_chunks_mut(group * outside).zip(pixels.par_chunks(group * inside)).try_for_each_init(
        || vec![0.0; group * cut.patches() * cut.patch()],
        |patches, (out, images)| {
            let patches = &mut patches[..out.len() / CO * cut.patch()];
            cut.cut(images, patches);
            let options = Options { epilogue, ..Options::default() };
            product((out, CO), matrix(patches, cut.patch())?, matrix(&weight, CO)?, options)
        },
    )?;
    let shape = (batch, h + 2 * pad + 1 - K, w + 2 * pad + 1 - K, Const::<CO>);
    let out = maps.device().try_tensor_from_vec(out, shape)?;

    let (of_maps, of_out, of_filters) = (maps.ghost(), out.ghost(), filters.ghost());
    let of_bias = bias.map(Tensor::ghost);
    tape.add_backward_op(move |grads| {
        let up = std::mem::take(&mut **grads.get_or_alloc_mut(&of_out)?);
        // dW and db of each task; dX where it belongs.
        let parts: Vec<(Vec<f32>, [f32; CO])> = grads
            .get_or_alloc_mut(&of_maps)?
            .par_chunks_mut(TASK * inside)
            .zip(pixels.par_chunks(TASK * inside))
            .zip(up.par_chunks(TASK * outside))
            .map_init(
                || [0, 1].map(|_| vec![0.0; group * cut.patches() * cut.patch()]),
                |[patches, down], ((dx, images), up)| {
                    let mut dw = vec![0.0; cut.patch() * CO];
                    let mut db = [0.0; CO];
                    let groups = dx.chunks_mut(group * inside);
                    let groups = groups.zip(images.chunks(group * inside));
                    for ((dx, images), up) in groups.zip(up.chunks(group * outside)) {
                        let len = up.len() / CO * cut.patch();
                        let (patches, down) = (&mut patches[..len], &mut down[..len]);
                        cut.cut(images, patches);
                        let (dy, patches) = (matrix(up, CO)?, matrix(patches, cut.patch())?);
                        let add = Options { accumulate: true, ..Options::default() };
                        product((&mut dw, CO), patches.t(), dy, add)?; // dW = Xᵀ·dY
                        let weight = matrix(&weight, CO)?.t();
                        product((down, cut.patch()), dy, weight, Options::default())?; // dX = dY·Wᵀ
                        cut.paste(down, dx);
                        for row in up.as_chunks::<CO>().0 {
                            db.iter_mut().zip(row).for_each(|(sum, g)| *sum += g);
                        }
                    }
                    Ok((dw, db))
                },
            )
            .collect::<Result<_, CpuError>>()?;
        let add =
            |sum: &mut [f32], part: &[f32]| sum.iter_mut().zip(part).for_each(|(s, p)| *s += p);
        for (dw, db) in &parts {
            add(grads.get_or_alloc_mut(&of_filters)?, dw);
            if let Some(of_bias) = &of_bias {
                add(grads.get_or_alloc_mut(of_bias)?, db);
            }
        }
        **grads.get_or_alloc_mut(&of_out)? = up;
        Ok(())
    });
    Ok(out.put_tape(tape))
}

/// The largest of each 2×2 pixels, and the backward pass to where each was found.
fn max_pool<const C: usize, T: Tape<f32, Cpu>>(
    maps: Maps<C, Cpu, T>,
) -> Result<Maps<C, Cpu, T>, CpuError> {
    let (maps, mut tape) = maps.split_tape();
    let &(batch, h, w, _) = maps.shape();
    let (out_h, out_w) = (h / 2, w / 2);
    let (inside, outside) = (h * w * C, out_h * out_w * C);
    let pixels = numbers(&maps)?;
    // Where in its image each maximum was found.
    let mut places = vec![0_u32; batch * outside];
    each(&mut places, outside, |image, places| {
        let pixels = &pixels[image * inside..][..inside];
        let (places, _) = places.as_chunks_mut::<C>();
        for (at, places) in places.iter_mut().enumerate() {
            let first = (2 * (at / out_w) * w + 2 * (at % out_w)) * C;
            for (c, place) in places.iter_mut().enumerate() {
                let mut best = first + c;
                for other in [C, w * C, (w + 1) * C].map(|far| first + c + far) {
                    if pixels[other] > pixels[best] {
                        best = other;
                    }
                }
                *place = best as u32;
            }
        }
    });
    let mut largest = vec![0.0; batch * outside];
    each(&mut largest, outside, |image, largest| {
        let pixels = &pixels[image * inside..][..inside];
        let places = &places[image * outside..][..outside];
        largest.iter_mut().zip(places).for_each(|(v, place)| *v = pixels[*place as usize]);
    });
    let shape = (batch, out_h, out_w, Const);
    let largest = maps.device().try_tensor_from_vec(largest, shape)?;
    let (of_maps, of_largest) = (maps.ghost(), largest.ghost());
    tape.add_backward_op(move |grads| {
        let up = std::mem::take(&mut **grads.get_or_alloc_mut(&of_largest)?);
        each(grads.get_or_alloc_mut(&of_maps)?, inside, |image, sum| {
            let up = up[image * outside..][..outside].iter();
            let places = &places[image * outside..][..outside];
            up.zip(places).for_each(|(g, place)| sum[*place as usize] += g);
        });
        **grads.get_or_alloc_mut(&of_largest)? = up;
        Ok(())
    });
    Ok(largest.put_tape(tape))
}
