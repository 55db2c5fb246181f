//! Packing for the vector kernels: a panel holds, for each p, its rows of column p of A side by side (or its
//! columns of row p of B), so that the kernel reads both of its operands in order.

#![allow(
    clippy::inline_always,
    reason = "what a kernel calls must be compiled for the kernel's CPU"
)]

use crate::{bf16::Input, level::Level};

/// What a product reads: an f32, or something that is rounded to bf16 on the way.
pub(crate) trait Element: Copy + Send + Sync {
    /// Whether it is an f32 in memory that the kernels may read unpacked.
    const PLAIN: bool;
    /// Its value in the product.
    fn value(self) -> f32;
}

impl Element for f32 {
    const PLAIN: bool = true;

    #[inline(always)]
    fn value(self) -> f32 {
        self
    }
}

/// A type that takes part with the value of its nearest bf16.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(crate) struct Rounded<T>(T);

impl<T: Input> Element for Rounded<T> {
    const PLAIN: bool = false;

    #[inline(always)]
    fn value(self) -> f32 {
        self.0.rounded()
    }
}

/// Lines of a matrix to be packed: rows of A, or columns of B. Strips of them, one after the other, become
/// panels.
#[derive(Clone, Copy)]
pub(crate) struct Lines<T> {
    /// Element 0 of line 0.
    pub from: *const T,
    /// How many lines.
    pub count: usize,
    /// Elements in a line.
    pub k: usize,
    /// From one line to the next.
    pub stride: usize,
    /// From one element of a line to the next.
    pub step: usize,
}

impl<T> Lines<T> {
    /// Up to `count` lines, beginning with `first`.
    fn strip(&self, first: usize, count: usize) -> Self {
        Self {
            from: self.from.wrapping_add(first * self.stride),
            count: count.min(self.count - first),
            ..*self
        }
    }

    /// The elements, beginning with `first`.
    #[cfg(target_arch = "x86_64")]
    fn after(&self, first: usize) -> Self {
        let from = self.from.wrapping_add(first * self.step);
        Self { from, k: self.k - first, ..*self }
    }
}

/// How lines are cut into strips: the first `more` have one line more than the `height` of the others.
#[derive(Clone, Copy)]
pub(crate) struct Cut {
    /// Lines in a strip.
    pub height: usize,
    /// How many strips have a line more.
    pub more: usize,
    /// Lines of the last strip are filled up with zeros to a multiple of this.
    pub round: usize,
}

impl Cut {
    /// The strips, as their first line and their height.
    fn strips(self, count: usize) -> impl Iterator<Item = (usize, usize)> {
        let mut first = 0;
        (0..).map_while(move |strip| {
            if first >= count {
                return None;
            }
            let height = self.height + usize::from(strip < self.more);
            let height = height.min((count - first).next_multiple_of(self.round));
            first += height;
            Some((first - height, height))
        })
    }
}

/// Values that the panels may be followed by: the vector code writes whole vectors.
pub(crate) const SLACK: usize = 16;

/// Writes the strips' panels, one after the other: for each p, element p of the strip's lines side by side.
///
/// # Safety
/// The lines can be read, `to` holds k values for each line (rounded up as the cut says) and [`SLACK`] more, and
/// the level is available.
pub(crate) unsafe fn pack<T: Element>(level: Level, to: *mut f32, lines: Lines<T>, cut: Cut) {
    #[cfg(target_arch = "x86_64")]
    if T::PLAIN && level != Level::Portable && (lines.stride == 1 || lines.step == 1) {
        let Lines { from, count, k, stride, step } = lines;
        let plain = Lines { from: from.cast(), count, k, stride, step };
        // SAFETY: both levels have AVX2, `T` is an f32, and the caller vouches for the rest.
        return unsafe { x86::pack(to, plain, cut) };
    }
    let _ = level;
    for (first, height) in cut.strips(lines.count) {
        // SAFETY: the caller's.
        unsafe { pack_strip(to.add(first * lines.k), height, lines.strip(first, height)) }
    }
}

/// Packs one strip, whatever it is: with plain loops.
#[inline]
unsafe fn pack_strip<T: Element>(to: *mut f32, height: usize, strip: Lines<T>) {
    for p in 0..strip.k {
        for i in 0..height {
            let value = if i < strip.count {
                let at = i * strip.stride + p * strip.step;
                // SAFETY: line i and element p are inside the strip.
                unsafe { *strip.from.add(at) }.value()
            } else {
                0.0
            };
            // SAFETY: `to` holds k times height values.
            unsafe { *to.add(p * height + i) = value };
        }
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::{Cut, Lines, pack_strip};
    use std::arch::x86_64::{
        __m256, __m256i, _mm256_cmpgt_epi32, _mm256_loadu_ps, _mm256_maskload_ps,
        _mm256_maskstore_ps, _mm256_permute2f128_ps, _mm256_set1_epi32, _mm256_setr_epi32,
        _mm256_shuffle_ps, _mm256_storeu_ps, _mm256_unpackhi_ps, _mm256_unpacklo_ps,
    };

    /// Lines that are read together: a few cache lines side by side, so that no page is visited for each strip anew.
    const TOGETHER: usize = 128;

    /// As [`super::pack`], for lines or elements that are adjacent in memory.
    #[target_feature(enable = "avx2")]
    pub unsafe fn pack(to: *mut f32, lines: Lines<f32>, cut: Cut) {
        let group = if lines.stride == 1 { TOGETHER / (cut.height + 1) } else { 1 };
        let mut strips = cut.strips(lines.count).peekable();
        while let Some(&(start, _)) = strips.peek() {
            let mut heights = [0; TOGETHER];
            let mut end = start;
            let mut count = 0;
            while count < group.max(1)
                && let Some((_, height)) = strips.next()
            {
                heights[count] = height;
                count += 1;
                end += height;
            }
            let (to, heights) = (to.wrapping_add(start * lines.k), &heights[..count]);
            let lines = lines.strip(start, end - start);
            // SAFETY: the caller's.
            unsafe {
                match (lines.stride == 1, heights[0]) {
                    (true, 16) if lines.count == 16 * count => copy::<2>(to, count, lines),
                    (true, 32) if lines.count == 32 * count => copy::<4>(to, count, lines),
                    (true, 0..=8) => copy_parts::<1>(to, heights, lines),
                    (true, 9..=16) => copy_parts::<2>(to, heights, lines),
                    (true, _) => copy_parts::<4>(to, heights, lines),
                    (false, height) if lines.count < height => pack_strip(to, height, lines),
                    (false, height @ 0..=8) => turn::<1>(to, height, lines),
                    (false, height @ 9..=16) => turn::<2>(to, height, lines),
                    (false, height) => turn::<4>(to, height, lines),
                }
            }
        }
    }

    /// Adjacent lines, panels of `VECTORS` whole vectors: each p is a copy.
    #[target_feature(enable = "avx2")]
    #[inline]
    unsafe fn copy<const VECTORS: usize>(to: *mut f32, panels: usize, lines: Lines<f32>) {
        let height = 8 * VECTORS;
        for p in 0..lines.k {
            for panel in 0..panels {
                for v in 0..VECTORS {
                    // SAFETY: there are `height` lines for each panel.
                    unsafe {
                        let from = lines.from.add(p * lines.step + panel * height + 8 * v);
                        let to = to.add((panel * lines.k + p) * height + 8 * v);
                        _mm256_storeu_ps(to, _mm256_loadu_ps(from));
                    }
                }
            }
        }
    }

    /// The first `count` lanes.
    #[target_feature(enable = "avx2")]
    #[inline]
    fn first(count: usize) -> __m256i {
        let lanes = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
        _mm256_cmpgt_epi32(_mm256_set1_epi32(count.min(8) as i32), lanes)
    }

    /// Adjacent lines, panels of any height up to `CHUNKS` vectors: each p is a copy of whole vectors. What they
    /// write beyond their slot, the next p's overwrite. The last panels, from which a vector would reach past
    /// the lines, and the last p, behind which the next panel lies, are left to masks.
    #[target_feature(enable = "avx2")]
    #[inline]
    unsafe fn copy_parts<const CHUNKS: usize>(to: *mut f32, heights: &[usize], lines: Lines<f32>) {
        for p in 0..lines.k {
            let from = lines.from.wrapping_add(p * lines.step);
            let mut start = 0;
            for &height in heights {
                let to = to.wrapping_add(start * lines.k + p * height);
                let from = from.wrapping_add(start);
                if start + 8 * CHUNKS <= lines.count && p + 1 < lines.k {
                    for i in 0..CHUNKS {
                        // SAFETY: the vectors end inside the lines, and inside the panel's next p.
                        unsafe { _mm256_storeu_ps(to.add(8 * i), _mm256_loadu_ps(from.add(8 * i))) }
                    }
                } else {
                    for i in (0..height).step_by(8) {
                        let there = lines.count.saturating_sub(start + i).min(height - i);
                        // SAFETY: the masks keep the load inside the lines and the store inside the panel.
                        unsafe {
                            let values = _mm256_maskload_ps(from.wrapping_add(i), first(there));
                            _mm256_maskstore_ps(to.add(i), first(height - i), values);
                        }
                    }
                }
                start += height;
            }
        }
    }

    /// Adjacent elements: blocks of 8×8 are transposed in registers. The last lines go first, so that what a
    /// store writes beyond its slot is overwritten by a later one.
    #[target_feature(enable = "avx2")]
    #[inline]
    unsafe fn turn<const CHUNKS: usize>(to: *mut f32, height: usize, strip: Lines<f32>) {
        let whole = strip.k / 8 * 8;
        for p in (0..whole).step_by(8) {
            for chunk in (0..CHUNKS).rev() {
                let line = |i: usize| (8 * chunk + i).min(height - 1) * strip.stride + p;
                // SAFETY: the lines are there, and the slack takes the end of the last store.
                unsafe {
                    let load = |i| _mm256_loadu_ps(strip.from.add(line(i)));
                    let lines = [0, 1, 2, 3, 4, 5, 6, 7].map(load);
                    for (q, column) in transpose(lines).into_iter().enumerate() {
                        _mm256_storeu_ps(to.add((p + q) * height + 8 * chunk), column);
                    }
                }
            }
        }
        // SAFETY: the caller's.
        unsafe { pack_strip(to.add(whole * height), height, strip.after(whole)) }
    }

    /// The transpose of 8×8 values.
    #[target_feature(enable = "avx2")]
    #[inline]
    fn transpose(r: [__m256; 8]) -> [__m256; 8] {
        let pairs = |a, b| (_mm256_unpacklo_ps(a, b), _mm256_unpackhi_ps(a, b));
        let (a0, a1) = pairs(r[0], r[1]);
        let (a2, a3) = pairs(r[2], r[3]);
        let (a4, a5) = pairs(r[4], r[5]);
        let (a6, a7) = pairs(r[6], r[7]);
        let fours = |a, b| (_mm256_shuffle_ps::<0x44>(a, b), _mm256_shuffle_ps::<0xee>(a, b));
        let (b0, b1) = fours(a0, a2);
        let (b2, b3) = fours(a1, a3);
        let (b4, b5) = fours(a4, a6);
        let (b6, b7) = fours(a5, a7);
        let low = |a, b| _mm256_permute2f128_ps::<0x20>(a, b);
        let high = |a, b| _mm256_permute2f128_ps::<0x31>(a, b);
        [
            low(b0, b4),
            low(b1, b5),
            low(b2, b6),
            low(b3, b7),
            high(b0, b4),
            high(b1, b5),
            high(b2, b6),
            high(b3, b7),
        ]
    }
}
