//! The micro-kernel of rung 5, grown up: A and B packed or where they lie, any number of rows up to the tile's, and a
//! product that ends with an addition, a bias and `ReLU`.

#![allow(
    clippy::inline_always,
    reason = "what a kernel calls must be compiled for the kernel's CPU"
)]

use crate::{level::Level, registers::Vector};

/// One tile of C for a micro-kernel: what to read, what to write, how to finish.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tile {
    /// Terms of each sum.
    pub k: usize,
    /// First row of A.
    pub a: *const f32,
    /// From one column of A to the next (rows are adjacent) or, for the kernels that read A across, from one
    /// row to the next (columns are adjacent).
    pub a_stride: usize,
    /// First row of B; the columns of a row are adjacent.
    pub b: *const f32,
    /// From one row of B to the next.
    pub b_stride: usize,
    /// First row of C; the columns of a row are adjacent.
    pub c: *mut f32,
    /// From one row of C to the next.
    pub c_stride: usize,
    /// Whether the sums are added to what C holds.
    pub add: bool,
    /// A value for each column to add at the end, or null.
    pub bias: *const f32,
    /// Whether values below zero become zero at the end.
    pub relu: bool,
}

impl Tile {
    /// The same sums, written to memory of their own with `stride` values from row to row, as they are.
    pub(crate) fn into_scratch(self, c: *mut f32, stride: usize) -> Self {
        Self { c, c_stride: stride, add: false, bias: std::ptr::null(), relu: false, ..self }
    }
}

/// A micro-kernel for a given number of rows and vectors.
pub(crate) type Kernel = unsafe fn(&Tile);

/// Computes a tile of C of `MR` rows and `NV` vectors; the sums stay in registers throughout.
///
/// # Safety
/// The CPU has `V`'s instructions, and `t` describes memory that is valid to read and write.
#[inline(always)]
unsafe fn tile<V, const MR: usize, const NV: usize, const ACROSS: bool>(t: &Tile)
where
    V: Finish,
{
    // SAFETY: the caller vouches for the CPU and for the memory behind `t`.
    unsafe {
        let mut sums = [[V::splat(0.0); NV]; MR];
        let (row, col) = if ACROSS { (t.a_stride, 1) } else { (1, t.a_stride) };
        let (mut a, mut b) = (t.a, t.b);
        prefetch::<MR>(t, NV * V::LANES);
        // Four terms a round where registers allow: short loops end foreseen.
        let rounds = if V::LANES < 16 { t.k / 4 } else { 0 };
        for _ in 0..rounds {
            for _ in 0..4 {
                add_term(&mut sums, a, row, b);
                (a, b) = (a.add(col), b.add(t.b_stride));
            }
        }
        for _ in 4 * rounds..t.k {
            add_term(&mut sums, a, row, b);
            (a, b) = (a.add(col), b.add(t.b_stride));
        }
        finish(t, &sums);
    }
}

/// Adds one term to each sum: a value of A times a vector of B.
///
/// # Safety
/// As for [`tile`]: `a` and `b` are its column of A and its row of B.
#[inline(always)]
#[allow(clippy::needless_range_loop, reason = "rows and vectors are counted, as in the formula")]
unsafe fn add_term<V: Vector, const MR: usize, const NV: usize>(
    sums: &mut [[V; NV]; MR],
    a: *const f32,
    row: usize,
    b: *const f32,
) {
    // SAFETY: the caller vouches for the CPU and for the memory.
    unsafe {
        let y: [V; NV] = std::array::from_fn(|v| V::load(b.add(v * V::LANES)));
        for i in 0..MR {
            let x = V::splat(*a.add(i * row));
            for v in 0..NV {
                sums[i][v] = x.mul_add(y[v], sums[i][v]);
            }
        }
    }
}

/// Writes the sums to C: added to what is there, with bias and `ReLU`, as the tile says.
///
/// # Safety
/// As for [`tile`].
#[inline(always)]
#[allow(clippy::needless_range_loop, reason = "rows and vectors are counted, as in the formula")]
unsafe fn finish<V: Finish, const MR: usize, const NV: usize>(t: &Tile, sums: &[[V; NV]; MR]) {
    for i in 0..MR {
        for v in 0..NV {
            // SAFETY: the caller vouches for the CPU and the memory.
            unsafe {
                let c = t.c.add(i * t.c_stride + v * V::LANES);
                let mut value = sums[i][v];
                if t.add {
                    value = V::load(c).add(value);
                }
                if !t.bias.is_null() {
                    value = value.add(V::load(t.bias.add(v * V::LANES)));
                }
                value = if t.relu { value.relu() } else { value };
                value.store(c);
            }
        }
    }
}

/// Asks for the tile of C while the sums are still being computed: both ends of each row, for a row may lie across
/// two cache lines.
#[inline(always)]
fn prefetch<const MR: usize>(t: &Tile, cols: usize) {
    #[cfg(target_arch = "x86_64")]
    for i in 0..MR {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        let row = t.c.wrapping_add(i * t.c_stride);
        // SAFETY: a prefetch reads nothing that the program sees and never faults.
        unsafe {
            _mm_prefetch::<_MM_HINT_T0>(row.cast());
            _mm_prefetch::<_MM_HINT_T0>(row.wrapping_add(cols - 1).cast());
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (t, cols);
}

/// What ends a sum.
///
/// # Safety
/// As for [`Vector`].
unsafe trait Finish: Vector {
    /// `self + other`.
    unsafe fn add(self, other: Self) -> Self;
    /// Zero where `self` is below zero; NaN stays NaN.
    unsafe fn relu(self) -> Self;
}

// SAFETY: plain arrays need no special instructions.
unsafe impl Finish for [f32; 4] {
    #[inline(always)]
    unsafe fn add(self, other: Self) -> Self {
        std::array::from_fn(|i| self[i] + other[i])
    }

    #[inline(always)]
    unsafe fn relu(self) -> Self {
        self.map(|x| if x < 0.0 { 0.0 } else { x })
    }
}

/// Makes a table of kernels, from 1 to as many rows as a level has registers for; of each, for one vector
/// and for two, and of each of these, with A's rows adjacent and with A read across.
macro_rules! kernels {
    ($kernel:ident: $($rows:literal)*) => {
        &[$([
            [$kernel::<$rows, 1, false> as Kernel, $kernel::<$rows, 1, true>],
            [$kernel::<$rows, 2, false>, $kernel::<$rows, 2, true>],
        ]),*]
    };
}

/// The portable kernel. See [`tile`].
unsafe fn portable<const MR: usize, const NV: usize, const ACROSS: bool>(t: &Tile) {
    // SAFETY: the caller vouches for the memory behind `t`.
    unsafe { tile::<[f32; 4], MR, NV, ACROSS>(t) }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::{Finish, Tile, tile};
    use std::arch::x86_64::{
        __m256, __m512, _CMP_LT_OQ, _mm256_add_ps, _mm256_max_ps, _mm256_setzero_ps, _mm512_add_ps,
        _mm512_cmp_ps_mask, _mm512_mask_mov_ps, _mm512_setzero_ps,
    };

    // SAFETY: these are AVX instructions, which the trait asks its callers to have checked.
    unsafe impl Finish for __m256 {
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
    unsafe impl Finish for __m512 {
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

    /// The AVX2 kernel. See [`tile`].
    #[target_feature(enable = "avx2,fma")]
    pub unsafe fn avx2<const MR: usize, const NV: usize, const ACROSS: bool>(t: &Tile) {
        // SAFETY: the caller vouches for AVX2, FMA and the memory behind `t`.
        unsafe { tile::<__m256, MR, NV, ACROSS>(t) }
    }

    /// The AVX-512 kernel. See [`tile`].
    #[target_feature(enable = "avx512f,avx2,fma")]
    pub unsafe fn avx512<const MR: usize, const NV: usize, const ACROSS: bool>(t: &Tile) {
        // SAFETY: the caller vouches for AVX-512F and the memory behind `t`.
        unsafe { tile::<__m512, MR, NV, ACROSS>(t) }
    }
}

/// The kernel of a level for a tile of `rows` (from 1) and `vectors` (1 or 2). It must be called only where the level is
/// [`Level::available`].
pub(crate) fn kernel(level: Level, rows: usize, vectors: usize, across: bool) -> Kernel {
    let table: &[[[Kernel; 2]; 2]] = match level {
        #[cfg(target_arch = "x86_64")]
        Level::Avx2 => {
            use x86::avx2;
            kernels!(avx2: 1 2 3 4 5 6)
        }
        #[cfg(target_arch = "x86_64")]
        Level::Avx512 => {
            use x86::avx512;
            kernels!(avx512: 1 2 3 4 5 6 7 8 9 10 11 12 13 14)
        }
        _ => kernels!(portable: 1 2 3 4),
    };
    table[rows - 1][vectors - 1][usize::from(across)]
}
