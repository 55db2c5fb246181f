//! bf16: the upper half of an f32. The same range, 8 bits of precision instead of 24.

pub use half::bf16;

/// A type that a product can take as bf16: a bf16 itself, or an f32 that is rounded to the nearest one.
pub trait Input: Copy + Send + Sync + sealed::Sealed + 'static {
    /// The bits of the nearest bf16, ties to even.
    fn bits(self) -> u16;

    /// The value of the nearest bf16, as an f32.
    #[inline(always)]
    fn rounded(self) -> f32 {
        f32::from_bits(u32::from(self.bits()) << 16)
    }
}

impl Input for bf16 {
    #[inline(always)]
    fn bits(self) -> u16 {
        self.to_bits()
    }
}

impl Input for f32 {
    // ANCHOR: round
    #[inline(always)]
    fn bits(self) -> u16 {
        let bits = self.to_bits();
        // Half of the last bit that stays, less one if that bit is even:
        // ties go to even.
        let rounded = bits.wrapping_add(0x7fff + (bits >> 16 & 1));
        // A NaN must not be rounded up to infinity: its first digit makes it a
        // quiet NaN.
        let nan = bits | 0x0040_0000;
        ((if self.is_nan() { nan } else { rounded }) >> 16) as u16
    }
    // ANCHOR_END: round
}

/// What the models of the units that multiply bf16 have in common: denormal numbers count as zero.
pub(crate) fn flush(x: f32) -> f32 {
    if x.is_subnormal() { 0.0_f32.copysign(x) } else { x }
}

/// x·y + sum with one rounding. The product of two bf16 is exact in f32 (8 by 8 digits), so that adding it is
/// the one rounding; only where it over- or underflows is the slow `mul_add` needed.
pub(crate) fn fused(x: f32, y: f32, sum: f32) -> f32 {
    let product = x * y;
    let exact = product.is_normal() || x == 0.0 || y == 0.0;
    if exact { sum + product } else { x.mul_add(y, sum) }
}

mod sealed {
    /// What packs eight values at once.
    pub trait Sealed: Sized {
        /// The bits of eight consecutive values' bf16, each in the lower half of a word.
        ///
        /// # Safety
        /// The values can be read, and the CPU has AVX2.
        #[cfg(target_arch = "x86_64")]
        unsafe fn eight(at: *const Self) -> std::arch::x86_64::__m256i;
    }
}

impl sealed::Sealed for bf16 {
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    unsafe fn eight(at: *const Self) -> std::arch::x86_64::__m256i {
        use std::arch::x86_64::{_mm_loadu_si128, _mm256_cvtepu16_epi32};
        // SAFETY: the caller's.
        unsafe { _mm256_cvtepu16_epi32(_mm_loadu_si128(at.cast())) }
    }
}

impl sealed::Sealed for f32 {
    /// As [`Input::bits`].
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    unsafe fn eight(at: *const Self) -> std::arch::x86_64::__m256i {
        use std::arch::x86_64::{
            _CMP_UNORD_Q, _mm256_add_epi32, _mm256_and_si256, _mm256_blendv_ps,
            _mm256_castps_si256, _mm256_castsi256_ps, _mm256_cmp_ps, _mm256_loadu_ps, _mm256_or_ps,
            _mm256_set1_epi32, _mm256_srli_epi32,
        };
        // SAFETY: the caller's.
        unsafe {
            let x = _mm256_loadu_ps(at);
            let bits = _mm256_castps_si256(x);
            let odd = _mm256_and_si256(_mm256_srli_epi32::<16>(bits), _mm256_set1_epi32(1));
            let half = _mm256_add_epi32(odd, _mm256_set1_epi32(0x7fff));
            let rounded = _mm256_castsi256_ps(_mm256_add_epi32(bits, half));
            let quiet = _mm256_or_ps(x, _mm256_castsi256_ps(_mm256_set1_epi32(0x0040_0000)));
            let is_nan = _mm256_cmp_ps::<_CMP_UNORD_Q>(x, x);
            _mm256_srli_epi32::<16>(_mm256_castps_si256(_mm256_blendv_ps(rounded, quiet, is_nan)))
        }
    }
}
