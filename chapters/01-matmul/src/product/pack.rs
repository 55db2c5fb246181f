//! Packing for the vector kernels: a panel holds, for each p, its rows of column p of A side by side (or its
//! columns of row p of B), so that the kernel reads both of its operands in order.

use crate::{bf16::Input, level::Level};
#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::{
    __m256, _mm256_castsi256_ps, _mm256_loadu_ps, _mm256_maskload_ps, _mm256_or_si256,
    _mm256_packus_epi32, _mm256_permute4x64_epi64, _mm256_slli_epi32,
};

/// What a product reads: an f32, or something that is rounded to bf16 on the way. The kernels take it in words of 32
/// bits, which are moved as f32.
pub(crate) trait Element: Copy + Send + Sync {
    /// Terms of a sum in a word.
    const TERMS: usize = 1;
    /// Whether it is an f32 in memory that the kernels may read unpacked.
    const PLAIN: bool = false;

    /// The word of the `there` terms (1 to [`Element::TERMS`]) that lie `step` apart from `at`.
    ///
    /// # Safety
    /// They can be read.
    unsafe fn word(at: *const Self, step: usize, there: usize) -> f32;

    /// A word for each of eight lines that are adjacent.
    ///
    /// # Safety
    /// As for [`Element::word`], with all terms, for eight lines; the CPU has AVX2.
    #[cfg(target_arch = "x86_64")]
    unsafe fn down(at: *const Self, step: usize) -> __m256;

    /// A word for each of `count` lines that are adjacent, up to eight.
    ///
    /// # Safety
    /// As for [`Element::word`], for the lines; the CPU has AVX2.
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    unsafe fn some_down(at: *const Self, step: usize, there: usize, count: usize) -> __m256 {
        let mut words = [0.0_f32; 8];
        for (line, to) in words.iter_mut().enumerate().take(count) {
            // SAFETY: the caller's.
            *to = unsafe { Self::word(at.add(line), step, there) };
        }
        // SAFETY: eight words.
        unsafe { _mm256_loadu_ps(words.as_ptr()) }
    }

    /// Eight words of a line whose terms are adjacent: as [`Element::down`], where a word is one term.
    ///
    /// # Safety
    /// Its terms can be read; the CPU has AVX2.
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    unsafe fn across(at: *const Self) -> __m256 {
        // SAFETY: the caller's.
        unsafe { Self::down(at, 1) }
    }
}

impl Element for f32 {
    const PLAIN: bool = true;

    #[inline(always)]
    unsafe fn word(at: *const Self, _: usize, _: usize) -> f32 {
        // SAFETY: the caller's.
        unsafe { *at }
    }

    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    unsafe fn down(at: *const Self, _: usize) -> __m256 {
        // SAFETY: the caller's.
        unsafe { _mm256_loadu_ps(at) }
    }

    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    unsafe fn some_down(at: *const Self, _: usize, _: usize, count: usize) -> __m256 {
        // SAFETY: the caller's; the mask keeps the load inside the lines.
        unsafe { _mm256_maskload_ps(at, x86::first(count)) }
    }
}

/// A type that takes part with the value of its nearest bf16, as an f32.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(crate) struct Rounded<T>(T);

impl<T: Input> Element for Rounded<T> {
    #[inline(always)]
    unsafe fn word(at: *const Self, _: usize, _: usize) -> f32 {
        // SAFETY: the caller's.
        unsafe { (*at).0.rounded() }
    }

    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    unsafe fn down(at: *const Self, _: usize) -> __m256 {
        // SAFETY: the caller's; `Rounded<T>` is a `T` in memory.
        unsafe { _mm256_castsi256_ps(_mm256_slli_epi32::<16>(T::eight(at.cast()))) }
    }
}

/// A type that takes part with its nearest bf16, two terms in a word.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(crate) struct Paired<T>(T);

impl<T: Input> Element for Paired<T> {
    const TERMS: usize = 2;

    #[inline(always)]
    unsafe fn word(at: *const Self, step: usize, there: usize) -> f32 {
        // SAFETY: the caller's; where there is no second term, a product with zero is added.
        unsafe {
            let first = (*at).0.bits();
            let second = if there > 1 { (*at.add(step)).0.bits() } else { 0 };
            f32::from_bits(u32::from(first) | u32::from(second) << 16)
        }
    }

    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    unsafe fn down(at: *const Self, step: usize) -> __m256 {
        // SAFETY: the caller's; `Paired<T>` is a `T` in memory.
        unsafe {
            let (first, second) = (T::eight(at.cast()), T::eight(at.add(step).cast()));
            _mm256_castsi256_ps(_mm256_or_si256(first, _mm256_slli_epi32::<16>(second)))
        }
    }

    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    unsafe fn across(at: *const Self) -> __m256 {
        // SAFETY: the caller's.
        unsafe {
            let (left, right) = (T::eight(at.cast()), T::eight(at.add(8).cast()));
            // Both halves of the register are packed apart: four of the left, four of the right.
            let mixed = _mm256_packus_epi32(left, right);
            _mm256_castsi256_ps(_mm256_permute4x64_epi64::<0b11_01_10_00>(mixed))
        }
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
    pub terms: usize,
    /// From one line to the next.
    pub stride: usize,
    /// From one element of a line to the next.
    pub step: usize,
}

impl<T: Element> Lines<T> {
    /// Words in a line.
    pub fn k(&self) -> usize {
        self.terms.div_ceil(T::TERMS)
    }

    /// Up to `count` lines, beginning with `first`.
    fn strip(&self, first: usize, count: usize) -> Self {
        Self {
            from: self.from.wrapping_add(first * self.stride),
            count: count.min(self.count - first),
            ..*self
        }
    }

    /// The words, beginning with `first`.
    #[cfg(target_arch = "x86_64")]
    fn after(&self, first: usize) -> Self {
        let first = first * T::TERMS;
        let from = self.from.wrapping_add(first * self.step);
        Self { from, terms: self.terms - first, ..*self }
    }

    /// How many terms word p has.
    #[inline(always)]
    fn there(&self, p: usize) -> usize {
        T::TERMS.min(self.terms - p * T::TERMS)
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

/// Writes the strips' panels, one after the other: for each p, word p of the strip's lines side by side.
///
/// # Safety
/// The lines can be read, `to` holds k words for each line (rounded up as the cut says) and [`SLACK`] more, and
/// the level is available.
pub(crate) unsafe fn pack<T: Element>(level: Level, to: *mut f32, lines: Lines<T>, cut: Cut) {
    #[cfg(target_arch = "x86_64")]
    if level != Level::Portable && (lines.stride == 1 || lines.step == 1) {
        // SAFETY: both levels have AVX2, and the caller vouches for the rest.
        return unsafe { x86::pack(to, lines, cut) };
    }
    let _ = level;
    for (first, height) in cut.strips(lines.count) {
        // SAFETY: the caller's.
        unsafe { pack_strip(to.add(first * lines.k()), height, lines.strip(first, height)) }
    }
}

/// Packs one strip, whatever it is: with plain loops.
#[inline]
unsafe fn pack_strip<T: Element>(to: *mut f32, height: usize, strip: Lines<T>) {
    for p in 0..strip.k() {
        for i in 0..height {
            let word = if i < strip.count {
                let at = strip.from.wrapping_add(i * strip.stride + p * T::TERMS * strip.step);
                // SAFETY: line i and word p are inside the strip.
                unsafe { T::word(at, strip.step, strip.there(p)) }
            } else {
                0.0
            };
            // SAFETY: `to` holds k times height words.
            unsafe { *to.add(p * height + i) = word };
        }
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::{Cut, Element, Lines, pack_strip};
    use std::arch::x86_64::{
        __m256, __m256i, _mm256_cmpgt_epi32, _mm256_maskstore_ps, _mm256_permute2f128_ps,
        _mm256_set1_epi32, _mm256_setr_epi32, _mm256_setzero_ps, _mm256_shuffle_ps,
        _mm256_storeu_ps, _mm256_unpackhi_ps, _mm256_unpacklo_ps,
    };

    /// Lines that are read together: a few cache lines side by side, so that no page is visited for each strip anew.
    const TOGETHER: usize = 128;

    /// As [`super::pack`], for lines or elements that are adjacent in memory.
    #[target_feature(enable = "avx2")]
    pub unsafe fn pack<T: Element>(to: *mut f32, lines: Lines<T>, cut: Cut) {
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
            let (to, heights) = (to.wrapping_add(start * lines.k()), &heights[..count]);
            let lines = lines.strip(start, end - start);
            // SAFETY: the caller's.
            unsafe {
                match (lines.stride == 1, heights[0]) {
                    (true, 16) if lines.count == 16 * count => copy::<T, 2>(to, count, lines),
                    (true, 32) if lines.count == 32 * count => copy::<T, 4>(to, count, lines),
                    (true, 0..=8) => copy_parts::<T, 1>(to, heights, lines),
                    (true, 9..=16) => copy_parts::<T, 2>(to, heights, lines),
                    (true, _) => copy_parts::<T, 4>(to, heights, lines),
                    (false, height) if lines.count < height => pack_strip(to, height, lines),
                    (false, height @ 0..=8) => turn::<T, 1>(to, height, lines),
                    (false, height @ 9..=16) => turn::<T, 2>(to, height, lines),
                    (false, height) => turn::<T, 4>(to, height, lines),
                }
            }
        }
    }

    /// Adjacent lines, panels of `VECTORS` whole vectors: each p is a copy.
    #[target_feature(enable = "avx2")]
    #[inline]
    unsafe fn copy<T: Element, const VECTORS: usize>(to: *mut f32, panels: usize, lines: Lines<T>) {
        let height = 8 * VECTORS;
        for p in 0..lines.k() {
            let (row, there) = (p * T::TERMS * lines.step, lines.there(p));
            for panel in 0..panels {
                for v in 0..VECTORS {
                    // SAFETY: there are `height` lines for each panel.
                    unsafe {
                        let from = lines.from.add(row + panel * height + 8 * v);
                        let to = to.add((panel * lines.k() + p) * height + 8 * v);
                        let words = if there == T::TERMS {
                            T::down(from, lines.step)
                        } else {
                            T::some_down(from, lines.step, there, 8)
                        };
                        _mm256_storeu_ps(to, words);
                    }
                }
            }
        }
    }

    /// The first `count` lanes.
    #[target_feature(enable = "avx2")]
    #[inline]
    pub fn first(count: usize) -> __m256i {
        let lanes = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
        _mm256_cmpgt_epi32(_mm256_set1_epi32(count.min(8) as i32), lanes)
    }

    /// Adjacent lines, panels of any height up to `CHUNKS` vectors: each p is a copy of whole vectors. What they
    /// write beyond their slot, the next p's overwrite. The last panels, from which a vector would reach past
    /// the lines, and the last p, behind which the next panel lies, are left to masks.
    #[target_feature(enable = "avx2")]
    #[inline]
    unsafe fn copy_parts<T: Element, const CHUNKS: usize>(
        to: *mut f32,
        heights: &[usize],
        lines: Lines<T>,
    ) {
        let (k, step) = (lines.k(), lines.step);
        for p in 0..k {
            let from = lines.from.wrapping_add(p * T::TERMS * step);
            let mut start = 0;
            for &height in heights {
                let to = to.wrapping_add(start * k + p * height);
                let from = from.wrapping_add(start);
                if start + 8 * CHUNKS <= lines.count && p + 1 < k {
                    for i in (0..8 * CHUNKS).step_by(8) {
                        // SAFETY: the vectors end inside the lines, and inside the panel's next p.
                        unsafe { _mm256_storeu_ps(to.add(i), T::down(from.add(i), step)) }
                    }
                } else {
                    for i in (0..height).step_by(8) {
                        let there = lines.count.saturating_sub(start + i).min(height - i);
                        // SAFETY: what is read is inside the lines, and the mask keeps the store inside the panel.
                        unsafe {
                            let from = from.wrapping_add(i);
                            let words = T::some_down(from, step, lines.there(p), there);
                            _mm256_maskstore_ps(to.add(i), first(height - i), words);
                        }
                    }
                }
                start += height;
            }
        }
    }

    /// Adjacent elements: blocks of 8×8 words are transposed in registers. The last lines go first, so that what a
    /// store writes beyond its slot is overwritten by a later one.
    #[target_feature(enable = "avx2")]
    #[inline]
    unsafe fn turn<T: Element, const CHUNKS: usize>(to: *mut f32, height: usize, strip: Lines<T>) {
        let whole = strip.terms / (8 * T::TERMS) * 8;
        for p in (0..whole).step_by(8) {
            for chunk in (0..CHUNKS).rev() {
                let from = strip.from.wrapping_add(p * T::TERMS);
                let line = |i: usize| (8 * chunk + i).min(height - 1) * strip.stride;
                // SAFETY: the lines are there, and the slack takes the end of the last store.
                unsafe {
                    let mut lines = [_mm256_setzero_ps(); 8];
                    for (i, to) in lines.iter_mut().enumerate() {
                        *to = T::across(from.add(line(i)));
                    }
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
