//! A register full of numbers: an array of four on any CPU, the eight of AVX2, the sixteen of AVX-512.

#![allow(
    clippy::inline_always,
    reason = "what a kernel calls must be compiled for the kernel's CPU"
)]

#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::{
    __m256, __m512, _mm256_fmadd_ps, _mm256_set1_ps, _mm512_fmadd_ps, _mm512_set1_ps,
};

/// A vector of f32 in a register.
///
/// # Safety
/// The type is plain numbers side by side. A method may be called only on a CPU that has the type's instructions; the
/// pointers must be valid for [`Vector::LANES`] values.
pub(crate) unsafe trait Vector: Copy {
    /// How many values it holds.
    const LANES: usize = size_of::<Self>() / size_of::<f32>();

    /// The same value in every lane.
    unsafe fn splat(x: f32) -> Self;

    /// `self * y + sum`, rounded once where the CPU has FMA.
    unsafe fn mul_add(self, y: Self, sum: Self) -> Self;

    /// Consecutive values.
    #[inline(always)]
    unsafe fn load(from: *const f32) -> Self {
        // SAFETY: the caller vouches for the values.
        unsafe { from.cast::<Self>().read_unaligned() }
    }

    /// Writes consecutive values.
    #[inline(always)]
    unsafe fn store(self, to: *mut f32) {
        // SAFETY: the caller vouches for the address.
        unsafe { to.cast::<Self>().write_unaligned(self) }
    }
}

// SAFETY: plain arrays need no special instructions.
unsafe impl Vector for [f32; 4] {
    #[inline(always)]
    unsafe fn splat(x: f32) -> Self {
        [x; 4]
    }

    #[inline(always)]
    unsafe fn mul_add(self, y: Self, sum: Self) -> Self {
        // Not `f32::mul_add`: without an FMA instruction that is a slow library call.
        std::array::from_fn(|i| self[i] * y[i] + sum[i])
    }
}

// SAFETY: these are AVX and FMA instructions, which the trait asks its callers to have checked.
#[cfg(target_arch = "x86_64")]
unsafe impl Vector for __m256 {
    #[inline(always)]
    unsafe fn splat(x: f32) -> Self {
        // SAFETY: see the trait.
        unsafe { _mm256_set1_ps(x) }
    }

    #[inline(always)]
    unsafe fn mul_add(self, y: Self, sum: Self) -> Self {
        // SAFETY: see the trait.
        unsafe { _mm256_fmadd_ps(self, y, sum) }
    }
}

// SAFETY: these are AVX-512F instructions, which the trait asks its callers to have checked.
#[cfg(target_arch = "x86_64")]
unsafe impl Vector for __m512 {
    #[inline(always)]
    unsafe fn splat(x: f32) -> Self {
        // SAFETY: see the trait.
        unsafe { _mm512_set1_ps(x) }
    }

    #[inline(always)]
    unsafe fn mul_add(self, y: Self, sum: Self) -> Self {
        // SAFETY: see the trait.
        unsafe { _mm512_fmadd_ps(self, y, sum) }
    }
}
