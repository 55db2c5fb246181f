//! A register full of numbers: an array of four on any CPU, the eight of AVX2, the sixteen of AVX-512.

#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::{
    __m256, __m512, _CMP_LT_OQ, _mm256_add_ps, _mm256_fmadd_ps, _mm256_max_ps, _mm256_set1_ps,
    _mm256_setzero_ps, _mm512_add_ps, _mm512_cmp_ps_mask, _mm512_fmadd_ps, _mm512_mask_mov_ps,
    _mm512_set1_ps, _mm512_setzero_ps,
};

/// `[f(0), f(1), …]`, compiled into its caller and for its caller's CPU. `std::array::from_fn` may stay a call, which is
/// compiled for any CPU: in a kernel that costs nine tenths of the speed.
#[inline(always)]
pub(crate) fn array<T: Copy + Default, const N: usize>(mut f: impl FnMut(usize) -> T) -> [T; N] {
    let mut all = [T::default(); N];
    for (i, to) in all.iter_mut().enumerate() {
        *to = f(i);
    }
    all
}

/// The same value, of which the compiler does not know how it was made: it would make each address of a kernel from the one
/// before, a chain of additions that is longer than the multiplications.
#[inline(always)]
pub fn hide<T: Copy>(value: T) -> T {
    // SAFETY: it is read from where it stands.
    unsafe { std::ptr::read_volatile(&raw const value) }
}

/// A vector of f32 in a register.
///
/// # Safety
/// The type is plain numbers side by side. A method may be called only on a CPU that has the type's instructions; the
/// pointers must be valid for [`Vector::LANES`] values.
#[allow(clippy::missing_safety_doc, reason = "the trait's own says it for all of them")]
pub unsafe trait Vector: Copy {
    /// How many values it holds.
    const LANES: usize = size_of::<Self>() / size_of::<f32>();

    /// The same value in every lane.
    unsafe fn splat(x: f32) -> Self;

    /// `self * y + sum`, rounded once where the CPU has FMA.
    #[must_use]
    unsafe fn mul_add(self, y: Self, sum: Self) -> Self;

    /// `self + other`.
    #[must_use]
    unsafe fn add(self, other: Self) -> Self;

    /// Zero where `self` is below zero; NaN stays NaN.
    #[must_use]
    unsafe fn relu(self) -> Self;

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
        array(|i| self[i] * y[i] + sum[i])
    }

    #[inline(always)]
    unsafe fn add(self, other: Self) -> Self {
        array(|i| self[i] + other[i])
    }

    #[inline(always)]
    unsafe fn relu(self) -> Self {
        array(|i| if self[i] < 0.0 { 0.0 } else { self[i] })
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

    #[inline(always)]
    unsafe fn add(self, other: Self) -> Self {
        // SAFETY: see the trait.
        unsafe { _mm256_add_ps(self, other) }
    }

    #[inline(always)]
    unsafe fn relu(self) -> Self {
        // The second operand comes back where one of the two is NaN.
        // SAFETY: see the trait.
        unsafe { _mm256_max_ps(_mm256_setzero_ps(), self) }
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

    #[inline(always)]
    unsafe fn add(self, other: Self) -> Self {
        // SAFETY: see the trait.
        unsafe { _mm512_add_ps(self, other) }
    }

    #[inline(always)]
    unsafe fn relu(self) -> Self {
        // SAFETY: see the trait.
        unsafe {
            let zero = _mm512_setzero_ps();
            let below = _mm512_cmp_ps_mask::<_CMP_LT_OQ>(self, zero);
            _mm512_mask_mov_ps(self, below, zero)
        }
    }
}
