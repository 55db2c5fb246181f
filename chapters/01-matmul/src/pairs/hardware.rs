//! `vdpbf16ps` itself, as a register of the kernels: [`Vector::mul_add`] takes two registers of words.

use crate::registers::Vector;
use std::arch::x86_64::{__m512, __m512bh, _mm512_dpbf16_ps};

/// 16 words of two bf16, or 16 sums.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub struct Hardware(__m512);

// SAFETY: a register of AVX-512; the instruction is that of AVX512-BF16, which the trait asks its callers to have checked.
unsafe impl Vector for Hardware {
    #[inline(always)]
    unsafe fn splat(x: f32) -> Self {
        // SAFETY: see the trait.
        Self(unsafe { __m512::splat(x) })
    }

    #[inline(always)]
    unsafe fn mul_add(self, y: Self, sum: Self) -> Self {
        // SAFETY: see the trait; 16 words and 32 bf16 are the same 64 bytes.
        unsafe {
            let words = |x: Self| std::mem::transmute::<__m512, __m512bh>(x.0);
            Self(_mm512_dpbf16_ps(sum.0, words(self), words(y)))
        }
    }

    #[inline(always)]
    unsafe fn add(self, other: Self) -> Self {
        // SAFETY: see the trait.
        Self(unsafe { self.0.add(other.0) })
    }

    #[inline(always)]
    unsafe fn relu(self) -> Self {
        // SAFETY: see the trait.
        Self(unsafe { self.0.relu() })
    }
}
