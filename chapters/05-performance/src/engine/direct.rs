//! A convolution without patches. Chapter 4 copies the image into patches, so that a matrix product can read them one after
//! the other. Here the loop of chapter 1's micro-kernel reads the image itself: the sums of some pixels side by side stay in
//! registers, and each term is one number of each pixel's window times a vector of the filters.
//!
//! The gradient of the filters is the same loop with the roles exchanged: the sums are some of the filters' numbers, and the
//! terms are the pixels. The gradient of the image is a convolution again, with the filters turned around (`flipped`). The
//! method is that of Georganas et al. 2018, "Anatomy of high-performance deep learning convolutions on SIMD architectures",
//! for images with their channels last.

#![allow(clippy::inline_always, reason = "what a kernel calls is compiled for the kernel's CPU")]

use crate::engine::rows::Inputs;
use lab::vectors::wide;
use matmul::{
    registers::{Vector, hide},
    simd::Level,
};
use rayon::prelude::*;
use std::{mem::MaybeUninit, ops::Range, slice};

/// The most numbers of a vector: what a gradient of the outputs needs behind its last one.
pub const SLACK: usize = 16;

/// Lines of sums, sums of a line, and vectors of each: what a kernel keeps in registers.
type Tile = (usize, usize, usize);

/// Sums that stay in registers, and where their terms lie: numbers of an image, and vectors that
/// they are multiplied by.
struct Walk {
    /// The first sum's first number in the image.
    x: *const f32,
    /// From one line of the image to the next, for sums and for terms.
    line: usize,
    /// From one sum of a line to the next in the image, and from one term to the next.
    sum: usize,
    term: usize,
    /// Lines of terms, and terms of a line.
    lines: usize,
    terms: usize,
    /// The first term's vector, and how far it is to the next one.
    y: *const f32,
    y_step: usize,
    /// What the sums begin with.
    start: *const f32,
    /// Where they go: the first one, how far to the next line of sums, and to the next sum.
    to: *mut f32,
    to_line: usize,
    to_step: usize,
    /// Numbers of each sum: the last vector may have room for more.
    cols: usize,
    /// Whether the sums are added to what is there.
    add: bool,
}

/// Sums of a line that share a pointer to the image.
const GROUP: usize = 4;

/// Computes `RY` lines of `RX` sums, of `N` vectors each. With `UNIT` the sums of a line are side by side in the image.
///
/// # Safety
/// The CPU has `V`'s instructions, and `walk` stays in memory that may be read and written.
#[inline(always)]
#[allow(clippy::needless_range_loop, reason = "sums and vectors are counted, as in the formula")]
unsafe fn sums<V: Vector, const RY: usize, const RX: usize, const N: usize, const UNIT: bool>(
    walk: &Walk,
) {
    // SAFETY: the caller vouches for the CPU and for the memory.
    unsafe {
        let mut sums = [[[V::splat(0.0); N]; RX]; RY];
        for n in 0..N {
            let start = V::load(walk.start.add(n * V::LANES));
            sums.iter_mut().flatten().for_each(|sum| sum[n] = start);
        }
        let mut y = walk.y;
        for line in 0..walk.lines {
            let at = walk.x.add(line * walk.line);
            let mut x = pointers::<RY, RX, UNIT>(walk, at);
            // ANCHOR: sums
            for _ in 0..walk.terms {
                let mut vectors = [V::splat(0.0); N];
                for n in 0..N {
                    vectors[n] = V::load(y.add(n * V::LANES));
                }
                for i in 0..RY {
                    for j in 0..RX {
                        let number = V::splat(*if UNIT {
                            x[i][0].add(j)
                        } else {
                            x[i][j / GROUP].add(j % GROUP * walk.sum)
                        });
                        for n in 0..N {
                            sums[i][j][n] = number.mul_add(vectors[n], sums[i][j][n]);
                        }
                    }
                }
                x.iter_mut().flatten().for_each(|x| *x = x.wrapping_add(walk.term));
                y = y.add(walk.y_step);
            }
            // ANCHOR_END: sums
        }
        // If they need more than to be stored, they go by a room of their own. It is not made zero: that would cost as much
        // as some of the terms.
        let width = N * V::LANES;
        let whole = walk.cols == width && !walk.add;
        let mut room = MaybeUninit::<[[[V; N]; RX]; RY]>::uninit();
        let (to, line, step) = if whole {
            (walk.to, walk.to_line, walk.to_step)
        } else {
            (room.as_mut_ptr().cast(), RX * width, width)
        };
        for i in 0..RY {
            for j in 0..RX {
                for n in 0..N {
                    sums[i][j][n].store(to.add(i * line + j * step + n * V::LANES));
                }
            }
        }
        if !whole {
            finish(walk, slice::from_raw_parts(to, RY * RX * width), RX, width);
        }
    }
}

/// Where the sums of each line begin in the image: a pointer for the line with `UNIT`, else one for [`GROUP`] sums.
/// They are [hidden](hide) from the compiler.
#[inline(always)]
fn pointers<const RY: usize, const RX: usize, const UNIT: bool>(
    walk: &Walk,
    at: *const f32,
) -> [[*const f32; GROUP]; RY] {
    let mut all = [[at; GROUP]; RY];
    let groups = if UNIT { 1 } else { RX.div_ceil(GROUP) };
    for (i, line) in all.iter_mut().enumerate() {
        for (group, to) in line.iter_mut().take(groups).enumerate() {
            *to = hide(at.wrapping_add(i * walk.line + group * GROUP * walk.sum));
        }
    }
    all
}

/// Writes sums of `width` numbers, `line` of them in a line, to where they belong, as far as they have columns.
///
/// # Safety
/// The places of the sums may be written.
#[inline(never)]
unsafe fn finish(walk: &Walk, sums: &[f32], line: usize, width: usize) {
    for (at, sum) in sums.chunks_exact(width).enumerate() {
        let offset = at / line * walk.to_line + at % line * walk.to_step;
        // SAFETY: the caller's.
        let to = unsafe { slice::from_raw_parts_mut(walk.to.add(offset), walk.cols) };
        if walk.add {
            to.iter_mut().zip(sum).for_each(|(to, sum)| *to += sum);
        } else {
            to.copy_from_slice(&sum[..walk.cols]);
        }
    }
}

/// [`sums`] without special instructions.
unsafe fn portable<const RY: usize, const RX: usize, const N: usize, const UNIT: bool>(
    walk: &Walk,
) {
    // SAFETY: the caller's.
    unsafe { sums::<[f32; 4], RY, RX, N, UNIT>(walk) }
}

/// [`sums`] with AVX2.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
unsafe fn avx2<const RY: usize, const RX: usize, const N: usize, const UNIT: bool>(walk: &Walk) {
    // SAFETY: the caller's.
    unsafe { sums::<std::arch::x86_64::__m256, RY, RX, N, UNIT>(walk) }
}

/// [`sums`] with AVX-512.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx2,fma")]
unsafe fn avx512<const RY: usize, const RX: usize, const N: usize, const UNIT: bool>(walk: &Walk) {
    // SAFETY: the caller's.
    unsafe { sums::<std::arch::x86_64::__m512, RY, RX, N, UNIT>(walk) }
}

/// A compiled tile.
type Kernel = unsafe fn(&Walk);

macro_rules! kernels {
    ($kernel:ident, $unit:literal: $(($ry:literal, $rx:literal, $n:literal))*) => {
        &[$((($ry, $rx, $n), $kernel::<$ry, $rx, $n, $unit> as Kernel)),*]
    };
}

/// The tiles of a level: those that fit its registers, with one left for a number and `N` for the vectors. With `unit` for
/// sums that are side by side in the image.
fn kernels(level: Level, unit: bool) -> &'static [(Tile, Kernel)] {
    match (level, unit) {
        #[cfg(target_arch = "x86_64")]
        (Level::Avx512, false) => kernels!(avx512, false:
            (1, 14, 1) (1, 10, 1) (1, 7, 1) (1, 4, 1) (1, 1, 1)
            (1, 14, 2) (1, 10, 2) (1, 7, 2) (1, 4, 2) (1, 1, 2)
            (1, 9, 3) (1, 7, 3) (1, 4, 3) (1, 1, 3)),
        #[cfg(target_arch = "x86_64")]
        (Level::Avx512, true) => kernels!(avx512, true:
            (5, 5, 1) (3, 3, 2) (3, 3, 1)
            (1, 14, 1) (1, 7, 1) (1, 4, 1) (1, 1, 1)
            (1, 12, 2) (1, 10, 2) (1, 4, 2) (1, 1, 2)
            (1, 8, 3) (1, 4, 3) (1, 1, 3)),
        #[cfg(target_arch = "x86_64")]
        (Level::Avx2, false) => kernels!(avx2, false:
            (1, 10, 1) (1, 7, 1) (1, 5, 1) (1, 4, 1) (1, 1, 1)
            (1, 6, 2) (1, 5, 2) (1, 4, 2) (1, 1, 2)
            (1, 3, 3) (1, 2, 3) (1, 1, 3)),
        #[cfg(target_arch = "x86_64")]
        (Level::Avx2, true) => kernels!(avx2, true:
            (3, 3, 1)
            (1, 10, 1) (1, 5, 1) (1, 1, 1)
            (1, 6, 2) (1, 5, 2) (1, 1, 2)
            (1, 3, 3) (1, 1, 3)),
        (_, false) => kernels!(portable, false:
            (1, 7, 1) (1, 1, 1) (1, 5, 2) (1, 1, 2) (1, 3, 3) (1, 1, 3)),
        (_, true) => kernels!(portable, true:
            (3, 3, 1) (1, 7, 1) (1, 1, 1) (1, 5, 2) (1, 1, 2) (1, 3, 3) (1, 1, 3)),
    }
}

/// A tile in its place: the first sum of a line, the first column, and what computes it.
#[derive(Clone, Copy, Debug)]
pub struct Placed {
    /// Its first sum of a line.
    pub sum: usize,
    /// Its first column.
    pub col: usize,
    /// Lines of sums, sums of a line, and vectors of each.
    pub tile: Tile,
    kernel: Kernel,
}

/// What a tile costs for each term of its sums: its multiply-adds, of which a CPU begins two at a time. They take as long as
/// eight if there are fewer, because each sum waits four times for the one before, and no less than the loads of the numbers
/// and vectors; one more is for what is around the loop.
fn cost((ry, rx, n): Tile) -> usize {
    (ry * rx * n).max(8).max(ry * rx + n) + 1
}

/// The cheapest tiles for `rx` sums of each of `lines` lines, one after the other over so many vectors.
fn strip(
    kernels: &[(Tile, Kernel)],
    lines: usize,
    rx: usize,
    vectors: usize,
) -> Option<(usize, Vec<(Tile, Kernel)>)> {
    let fits = |&&((ry, sums, n), _): &&(Tile, Kernel)| {
        (ry == 1 || ry == lines) && sums == rx && n <= vectors
    };
    let with = |&(tile, kernel): &(Tile, Kernel)| {
        let rest = vectors - tile.2;
        let (more, mut behind) =
            if rest == 0 { (0, vec![]) } else { strip(kernels, lines, rx, rest)? };
        behind.insert(0, (tile, kernel));
        Some((cost(tile) * lines / tile.0 + more, behind))
    };
    kernels.iter().filter(fits).filter_map(with).min_by_key(|(cost, _)| *cost)
}

/// Cuts lines of so many sums and columns into tiles, as cheap as can be. Without `unit` a sum may be computed twice: a tile
/// may begin before the one before it ends.
pub fn placed(level: Level, lines: usize, line: usize, cols: usize, unit: bool) -> Vec<Placed> {
    let (lanes, kernels) = (lanes(level), kernels(level, unit));
    let mut widths: Vec<usize> = kernels.iter().map(|((_, rx, _), _)| *rx).collect();
    widths.sort_unstable();
    widths.dedup();
    let strips = widths.iter().filter_map(|&rx| {
        strip(kernels, lines, rx, cols.div_ceil(lanes)).map(|(cost, tiles)| (rx, cost, tiles))
    });
    let strips: Vec<_> = strips.collect();
    // For the first sums of a line: what they cost at least, their last strip, and the sums before it.
    let mut best = vec![(0, 0, 0)];
    for end in 1..=line {
        let with = |(at, (rx, cost, _)): (usize, &(usize, usize, _))| {
            let first = end.checked_sub(*rx)?;
            let before = first..if unit { first + 1 } else { end };
            before.map(|before| (best[before].0 + cost, at, before)).min()
        };
        let cheapest = strips.iter().enumerate().filter_map(with).min();
        best.push(cheapest.unwrap_or_default());
    }
    let (mut all, mut end) = (Vec::new(), line);
    while end > 0 {
        let (_, at, before) = best[end];
        let (rx, _, tiles) = &strips[at];
        let mut col = 0;
        for &(tile, kernel) in tiles {
            all.push(Placed { sum: end - rx, col, tile, kernel });
            col += tile.2 * lanes;
        }
        end = before;
    }
    all.sort_by_key(|placed| (placed.sum, placed.col));
    all
}

/// Numbers in a vector of a level.
pub fn lanes(level: Level) -> usize {
    match level {
        Level::Portable => 4,
        Level::Avx2 => 8,
        Level::Avx512 => 16,
    }
}

/// A convolution of images of one size: outputs of `h`×`w` pixels and `co` channels, filters of `k`×`k` pixels and `ci`
/// channels, and images of (h+k−1)×(w+k−1) pixels, their border of zeros included.
#[derive(Clone, Debug)]
pub struct Direct {
    level: Level,
    /// Lines of an output.
    pub h: usize,
    /// Pixels of its lines.
    pub w: usize,
    /// Channels of an image.
    pub ci: usize,
    /// Channels of an output.
    pub co: usize,
    /// The side of a filter.
    pub k: usize,
    /// Lines of zeros above and below the image: their terms are left out.
    border: usize,
    /// The tiles of a line of the output, and of the filters.
    outputs: Vec<Placed>,
    filters: Vec<Placed>,
}

impl Direct {
    /// For outputs of these sides, with this CPU's widest vectors. `channels` are those of the image and the outputs, and
    /// `filter` is its side and the border of zeros.
    pub fn new(sides: (usize, usize), channels: (usize, usize), filter: (usize, usize)) -> Self {
        Self::on(Level::best(), sides, channels, filter)
    }

    /// The same with the vectors of a level.
    ///
    /// # Panics
    /// If this CPU does not have it.
    pub fn on(
        level: Level,
        (h, w): (usize, usize),
        (ci, co): (usize, usize),
        (k, border): (usize, usize),
    ) -> Self {
        assert!(level.available(), "this CPU has no {}", level.name());
        let outputs = placed(level, 1, w, co, false);
        let filters = placed(level, k, k * ci, co, true);
        Self { level, h, w, ci, co, k, border: border.min(k - 1), outputs, filters }
    }

    /// Numbers of an image with its border.
    pub fn image(&self) -> usize {
        (self.h + self.k - 1) * self.line()
    }

    /// Numbers of its outputs.
    pub fn output(&self) -> usize {
        self.h * self.w * self.co
    }

    /// Numbers of the filters: (k, k, ci, co).
    pub fn numbers(&self) -> usize {
        self.k * self.k * self.ci * self.co
    }

    /// Numbers of a line of the image.
    pub fn line(&self) -> usize {
        (self.w + self.k - 1) * self.ci
    }

    /// A row's length among packed filters: whole vectors.
    fn columns(&self) -> usize {
        self.co.next_multiple_of(lanes(self.level))
    }

    /// What is added for each filter, if anything, and the filters, in whole vectors.
    pub fn pack(&self, filters: &[f32], bias: Option<&[f32]>) -> Vec<f32> {
        assert_eq!(filters.len(), self.numbers(), "filters of another size");
        let columns = self.columns();
        let mut packed = vec![0.0; (1 + self.k * self.k * self.ci) * columns];
        let rows = bias.unwrap_or(&[]).chunks(self.co);
        packed
            .chunks_mut(columns)
            .zip(rows)
            .for_each(|(to, row)| to[..self.co].copy_from_slice(row));
        let rows = filters.chunks(self.co);
        packed[columns..]
            .chunks_mut(columns)
            .zip(rows)
            .for_each(|(to, row)| to[..self.co].copy_from_slice(row));
        packed
    }

    /// The outputs of one image, whose border is there, and filters from [`Direct::pack`].
    ///
    /// # Panics
    /// If a length is not the convolution's.
    pub fn forward(&self, outputs: &mut [f32], image: &[f32], packed: &[f32]) {
        let columns = self.columns();
        assert!(outputs.len() == self.output() && image.len() == self.image());
        assert_eq!(packed.len(), (1 + self.k * self.k * self.ci) * columns);
        for y in 0..self.h {
            let above = self.border.saturating_sub(y);
            let below = (y + 1 + self.border).saturating_sub(self.h).min(self.k - above);
            let skipped = above * self.k * self.ci;
            for placed in &self.outputs {
                let (_, sums, vectors) = placed.tile;
                let wide = vectors * lanes(self.level);
                let first = (y * self.w + placed.sum) * self.co;
                // What a last vector writes beyond a pixel's channels is the next pixel's, which is computed later.
                let beyond = first + (sums - 1) * self.co + wide <= outputs.len();
                let all = placed.col == 0 && wide >= self.co && beyond;
                let walk = Walk {
                    x: image[(y + above) * self.line() + placed.sum * self.ci..].as_ptr(),
                    line: self.line(),
                    sum: self.ci,
                    term: 1,
                    lines: self.k - above - below,
                    terms: self.k * self.ci,
                    y: packed[(1 + skipped) * columns + placed.col..].as_ptr(),
                    y_step: columns,
                    start: packed[placed.col..].as_ptr(),
                    to: outputs[first + placed.col..].as_mut_ptr(),
                    to_line: 0,
                    to_step: self.co,
                    cols: if all { wide } else { wide.min(self.co - placed.col) },
                    add: false,
                };
                // SAFETY: the level is available. The windows of the tile's pixels lie in the image, whose length was
                // checked, as the filters' whole vectors were, and the sums lie in the outputs.
                unsafe { (placed.kernel)(&walk) };
            }
        }
    }

    /// Adds one image's part to the gradient of the filters. `up`, the gradient of the outputs, has [`SLACK`] more numbers,
    /// which are read and do not count.
    ///
    /// # Panics
    /// If a length is not the convolution's.
    pub fn filters_backward(&self, gradient: &mut [f32], image: &[f32], up: &[f32]) {
        assert!(gradient.len() == self.numbers() && image.len() == self.image());
        // A tile's last vector may begin at the last column.
        assert_eq!(up.len(), self.output() + SLACK);
        let zeros = [0.0_f32; 3 * SLACK];
        for placed in &self.filters {
            let (lines, _, vectors) = placed.tile;
            for first in (0..self.k).step_by(lines) {
                let at = first * self.k * self.ci + placed.sum;
                let walk = Walk {
                    x: image[first * self.line() + placed.sum..].as_ptr(),
                    line: self.line(),
                    sum: 1,
                    term: self.ci,
                    lines: self.h,
                    terms: self.w,
                    y: up[placed.col..].as_ptr(),
                    y_step: self.co,
                    start: zeros.as_ptr(),
                    to: gradient[at * self.co + placed.col..].as_mut_ptr(),
                    to_line: self.k * self.ci * self.co,
                    to_step: self.co,
                    cols: (self.co - placed.col).min(vectors * lanes(self.level)),
                    add: true,
                };
                // SAFETY: as in `forward`; what a last vector reads beyond a pixel is the next one's, or the slack.
                unsafe { (placed.kernel)(&walk) };
            }
        }
    }
}

/// Filters for the gradient of the image: turned by half a circle, with their inputs and outputs exchanged.
pub fn flipped(filters: &[f32], (ci, co): (usize, usize)) -> Vec<f32> {
    let mut flipped = vec![0.0; filters.len()];
    let places = flipped.chunks_exact_mut(ci * co);
    for (to, from) in places.zip(filters.chunks_exact(ci * co).rev()) {
        for (at, to) in to.iter_mut().enumerate() {
            *to = from[at % ci * co + at / ci];
        }
    }
    flipped
}

/// Copies an image of rows of `line` numbers into the middle of one with `pad` more rows above and below, and `side` more
/// numbers left and right. The border stays as it is. Without one, the image itself is returned.
pub fn bordered<'a>(
    room: &'a mut [f32],
    image: &'a [f32],
    line: usize,
    (pad, side): (usize, usize),
) -> &'a [f32] {
    if pad == 0 {
        return image;
    }
    let wide = line + 2 * side;
    let rows = room[pad * wide..].chunks_mut(wide);
    for (to, from) in rows.zip(image.chunks_exact(line)) {
        to[side..side + line].copy_from_slice(from);
    }
    room
}

/// Adds `more` to `sum`.
pub(crate) fn add(sum: &mut [f32], more: &[f32]) {
    wide!(|| sum.iter_mut().zip(more).for_each(|(sum, more)| *sum += more));
}

/// Images of one task of the backward pass, which keeps a gradient of the filters for itself. They are added in the order of
/// the images: the same bits for any number of threads.
const TASK: usize = 8;

/// A convolution of a batch, forward and backward: images of (h, w, ci) with a border of `pad` zeros.
pub struct Convolution {
    direct: Direct,
    /// The gradient of the images as a convolution of the outputs' gradient, if it is wanted.
    back: Option<Direct>,
    pad: usize,
    w: usize,
}

impl Convolution {
    /// For images of `h`×`w` pixels, `channels` of the images and the outputs, and filters of `k`×`k` pixels.
    ///
    /// # Panics
    /// If the border is as wide as the filters.
    pub fn new(
        (h, w): (usize, usize),
        (ci, co): (usize, usize),
        (k, pad): (usize, usize),
        inputs: Inputs,
    ) -> Self {
        let direct = Direct::new((h + 2 * pad + 1 - k, w + 2 * pad + 1 - k), (ci, co), (k, pad));
        let back =
            (inputs == Inputs::Units).then(|| Direct::new((h, w), (co, ci), (k, k - 1 - pad)));
        Self { direct, back, pad, w }
    }

    /// Numbers of an image, and of its outputs.
    pub fn sizes(&self) -> (usize, usize) {
        let Direct { h, k, ci, .. } = self.direct;
        ((h + k - 1 - 2 * self.pad) * self.w * ci, self.direct.output())
    }

    fn with_border<'a>(&self, image: &'a [f32], room: &'a mut [f32]) -> &'a [f32] {
        let ci = self.direct.ci;
        bordered(room, image, self.w * ci, (self.pad, self.pad * ci))
    }

    /// The convolution of each image with the filters (k, k, ci, co), and a number added for each filter. `take` gets an
    /// image's outputs while they are in the cache, and the image's place among what is kept of them.
    pub fn forward<P: Send, R: Send>(
        &self,
        images: &[f32],
        filters: (&[f32], Option<&[f32]>),
        places: Vec<P>,
        take: impl Fn(&[f32], P) -> R + Sync,
    ) -> Vec<R> {
        let (inside, outside) = self.sizes();
        let packed = self.direct.pack(filters.0, filters.1);
        images
            .par_chunks_exact(inside)
            .zip(places)
            .map_init(
                || (vec![0.0; self.direct.image()], vec![0.0; outside]),
                |(room, out), (image, place)| {
                    self.direct.forward(out, self.with_border(image, room), &packed);
                    take(out, place)
                },
            )
            .collect()
    }

    /// The gradient of the filters, and that of the images added to `dx`, if it is wanted. `up` fills in the gradient of an
    /// image's outputs.
    pub fn backward(
        &self,
        images: &[f32],
        filters: &[f32],
        dx: &mut [f32],
        up: impl Fn(usize, &mut [f32]) + Sync,
    ) -> Vec<f32> {
        let Direct { ci, co, k, .. } = self.direct;
        let (inside, outside) = self.sizes();
        let count = images.len() / inside;
        let back = self.back.as_ref().map(|back| {
            let packed = back.pack(&flipped(filters, (ci, co)), None);
            (back, packed, vec![0.0; back.image()], vec![0.0; inside])
        });
        let mut places: Vec<&mut [f32]> = dx.chunks_mut(TASK * inside).collect();
        places.resize_with(count.div_ceil(TASK), Default::default);
        let parts: Vec<Vec<f32>> = places
            .into_par_iter()
            .enumerate()
            .map_init(
                || (vec![0.0; self.direct.image()], vec![0.0; outside + SLACK], back.clone()),
                |(room, dz, back), (task, dx)| {
                    let mut gradient = vec![0.0; self.direct.numbers()];
                    let own: Range<usize> = task * TASK..count.min((task + 1) * TASK);
                    for (at, image) in own.enumerate() {
                        up(image, &mut dz[..outside]);
                        let pixels = &images[image * inside..][..inside];
                        let pixels = self.with_border(pixels, room);
                        self.direct.filters_backward(&mut gradient, pixels, dz);
                        let Some((back, packed, room, out)) = back else { continue };
                        let (pad, line) = (k - 1 - self.pad, self.direct.w * co);
                        let wide = bordered(room, &dz[..outside], line, (pad, pad * co));
                        back.forward(out, wide, packed);
                        add(&mut dx[at * inside..][..inside], out);
                    }
                    gradient
                },
            )
            .collect();
        let mut sum = vec![0.0; self.direct.numbers()];
        for part in &parts {
            add(&mut sum, part);
        }
        sum
    }
}
