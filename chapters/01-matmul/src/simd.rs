//! Rung 5: the micro-kernel in vectors. It is written once, over a small trait, and compiled for plain arrays,
//! for AVX2 and for AVX-512; which one runs is decided when the program runs.

#![allow(
    clippy::inline_always,
    reason = "what a kernel calls must be compiled for the kernel's CPU"
)]

use crate::{Shape, gemm};

/// A vector of f32 in a register.
///
/// # Safety
/// A method may be called only on a CPU that has the type's instructions; the pointers must be valid for
/// [`Vector::LANES`] values.
// ANCHOR: vector
pub(crate) unsafe trait Vector: Copy {
    /// How many values it holds.
    const LANES: usize;
    /// The same value in every lane.
    unsafe fn splat(x: f32) -> Self;
    /// Consecutive values.
    unsafe fn load(from: *const f32) -> Self;
    /// Writes consecutive values.
    unsafe fn store(self, to: *mut f32);
    /// `self + other`.
    unsafe fn add(self, other: Self) -> Self;
    /// `self * y + sum`, rounded once where the CPU has FMA.
    unsafe fn mul_add(self, y: Self, sum: Self) -> Self;
    /// Zero where `self` is below zero; NaN stays NaN.
    unsafe fn relu(self) -> Self;
}
// ANCHOR_END: vector

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
// ANCHOR: kernel
unsafe fn tile<V, const MR: usize, const NV: usize, const WIDE: bool>(t: &Tile)
where
    V: Vector,
{
    // SAFETY: the caller vouches for the CPU and for the memory behind `t`.
    unsafe {
        let mut sums = [[V::splat(0.0); NV]; MR];
        let (row, col) = if WIDE { (t.a_stride, 1) } else { (1, t.a_stride) };
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
// ANCHOR_END: kernel

/// Adds one term to each sum: a value of A times a vector of B.
///
/// # Safety
/// As for [`tile`]: `a` and `b` are its column of A and its row of B.
#[inline(always)]
#[allow(clippy::needless_range_loop, reason = "rows and vectors are counted, as in the formula")]
// ANCHOR: term
unsafe fn add_term<V: Vector, const MR: usize, const NV: usize>(
    sums: &mut [[V; NV]; MR],
    a: *const f32,
    row: usize,
    b: *const f32,
) {
    // SAFETY: the caller vouches for the CPU and for the memory.
    unsafe {
        // ANCHOR: sums
        let y: [V; NV] = std::array::from_fn(|v| V::load(b.add(v * V::LANES)));
        for i in 0..MR {
            let x = V::splat(*a.add(i * row));
            for v in 0..NV {
                sums[i][v] = x.mul_add(y[v], sums[i][v]);
            }
        }
        // ANCHOR_END: sums
    }
}
// ANCHOR_END: term

/// Writes the sums to C: added to what is there, with bias and `ReLU`, as the tile says.
///
/// # Safety
/// As for [`tile`].
#[inline(always)]
#[allow(clippy::needless_range_loop, reason = "rows and vectors are counted, as in the formula")]
unsafe fn finish<V: Vector, const MR: usize, const NV: usize>(t: &Tile, sums: &[[V; NV]; MR]) {
    // ANCHOR: finish
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
    // ANCHOR_END: finish
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

/// Four values in an array, for any CPU: the compiler finds the vectors.
#[derive(Clone, Copy)]
#[repr(C, align(16))]
struct Lanes([f32; 4]);

// SAFETY: plain arrays need no special instructions.
unsafe impl Vector for Lanes {
    const LANES: usize = 4;

    #[inline(always)]
    unsafe fn splat(x: f32) -> Self {
        Self([x; 4])
    }

    #[inline(always)]
    unsafe fn load(from: *const f32) -> Self {
        // SAFETY: the caller vouches for 4 values.
        Self(unsafe { from.cast::<[f32; 4]>().read_unaligned() })
    }

    #[inline(always)]
    unsafe fn store(self, to: *mut f32) {
        // SAFETY: the caller vouches for 4 values.
        unsafe { to.cast::<[f32; 4]>().write_unaligned(self.0) }
    }

    #[inline(always)]
    unsafe fn add(self, other: Self) -> Self {
        Self(std::array::from_fn(|i| self.0[i] + other.0[i]))
    }

    #[inline(always)]
    unsafe fn mul_add(self, y: Self, sum: Self) -> Self {
        // Not `f32::mul_add`: without an FMA instruction that is a slow library call.
        Self(std::array::from_fn(|i| self.0[i] * y.0[i] + sum.0[i]))
    }

    #[inline(always)]
    unsafe fn relu(self) -> Self {
        Self(self.0.map(|x| if x < 0.0 { 0.0 } else { x }))
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
    unsafe { tile::<Lanes, MR, NV, ACROSS>(t) }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::{Tile, Vector, tile};
    use std::arch::x86_64::{
        __m256, __m512, _CMP_LT_OQ, _mm256_add_ps, _mm256_fmadd_ps, _mm256_loadu_ps, _mm256_max_ps,
        _mm256_set1_ps, _mm256_setzero_ps, _mm256_storeu_ps, _mm512_add_ps, _mm512_cmp_ps_mask,
        _mm512_fmadd_ps, _mm512_loadu_ps, _mm512_mask_mov_ps, _mm512_set1_ps, _mm512_setzero_ps,
        _mm512_storeu_ps,
    };

    // SAFETY: these are AVX and FMA instructions, which the trait asks its callers to have checked.
    // ANCHOR: avx2
    unsafe impl Vector for __m256 {
        const LANES: usize = 8;

        #[inline(always)]
        unsafe fn splat(x: f32) -> Self {
            // SAFETY: see the trait.
            unsafe { _mm256_set1_ps(x) }
        }
        // ANCHOR_END: avx2

        #[inline(always)]
        unsafe fn load(from: *const f32) -> Self {
            // SAFETY: see the trait.
            unsafe { _mm256_loadu_ps(from) }
        }

        #[inline(always)]
        unsafe fn store(self, to: *mut f32) {
            // SAFETY: see the trait.
            unsafe { _mm256_storeu_ps(to, self) }
        }

        #[inline(always)]
        unsafe fn add(self, other: Self) -> Self {
            // SAFETY: see the trait.
            unsafe { _mm256_add_ps(self, other) }
        }

        // ANCHOR: fma
        #[inline(always)]
        unsafe fn mul_add(self, y: Self, sum: Self) -> Self {
            // SAFETY: see the trait.
            unsafe { _mm256_fmadd_ps(self, y, sum) }
        }
        // ANCHOR_END: fma

        #[inline(always)]
        unsafe fn relu(self) -> Self {
            // The second operand comes back where one of the two is NaN.
            // SAFETY: see the trait.
            unsafe { _mm256_max_ps(_mm256_setzero_ps(), self) }
        }
    }

    // SAFETY: these are AVX-512F instructions, which the trait asks its callers to have checked.
    unsafe impl Vector for __m512 {
        const LANES: usize = 16;

        #[inline(always)]
        unsafe fn splat(x: f32) -> Self {
            // SAFETY: see the trait.
            unsafe { _mm512_set1_ps(x) }
        }

        #[inline(always)]
        unsafe fn load(from: *const f32) -> Self {
            // SAFETY: see the trait.
            unsafe { _mm512_loadu_ps(from) }
        }

        #[inline(always)]
        unsafe fn store(self, to: *mut f32) {
            // SAFETY: see the trait.
            unsafe { _mm512_storeu_ps(to, self) }
        }

        #[inline(always)]
        unsafe fn add(self, other: Self) -> Self {
            // SAFETY: see the trait.
            unsafe { _mm512_add_ps(self, other) }
        }

        #[inline(always)]
        unsafe fn mul_add(self, y: Self, sum: Self) -> Self {
            // SAFETY: see the trait.
            unsafe { _mm512_fmadd_ps(self, y, sum) }
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

/// Whether this CPU has AVX2 and FMA.
#[cfg(target_arch = "x86_64")]
fn has_avx2() -> bool {
    is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma")
}

/// The vector instructions that a product uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// Whatever the compiler makes of plain arrays.
    Portable,
    /// AVX2 and FMA: vectors of 8.
    Avx2,
    /// AVX-512F: vectors of 16.
    Avx512,
}

impl Level {
    /// From the narrowest to the widest.
    pub const ALL: [Self; 3] = [Self::Portable, Self::Avx2, Self::Avx512];

    /// `portable`, `avx2` or `avx512`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Portable => "portable",
            Self::Avx2 => "avx2",
            Self::Avx512 => "avx512",
        }
    }

    // ANCHOR: detect
    /// Whether this CPU has it.
    pub fn available(self) -> bool {
        match self {
            Self::Portable => true,
            #[cfg(target_arch = "x86_64")]
            Self::Avx2 => has_avx2(),
            #[cfg(target_arch = "x86_64")]
            Self::Avx512 => is_x86_feature_detected!("avx512f") && has_avx2(),
            #[cfg(not(target_arch = "x86_64"))]
            _ => false,
        }
    }

    /// The widest that this CPU has.
    pub fn best() -> Self {
        let found = Self::ALL.into_iter().rfind(|level| level.available());
        found.unwrap_or(Self::Portable)
    }
    // ANCHOR_END: detect

    /// Rows of the largest tile: as many as leave registers for a row of B and a value of A. AVX2 has 16
    /// registers (12 hold sums), AVX-512 has 32 (28 hold sums).
    pub(crate) fn rows(self) -> usize {
        self.table().len()
    }

    /// Values in a vector; a full tile has two vectors side by side.
    pub(crate) fn lanes(self) -> usize {
        match self {
            Self::Portable => 4,
            Self::Avx2 => 8,
            Self::Avx512 => 16,
        }
    }

    /// Columns of a full tile.
    pub(crate) fn cols(self) -> usize {
        2 * self.lanes()
    }

    /// The kernel for a tile of `rows` (from 1) and `vectors` (1 or 2). It must be called only where the level is
    /// [`Level::available`].
    pub(crate) fn kernel(self, rows: usize, vectors: usize, across: bool) -> Kernel {
        self.table()[rows - 1][vectors - 1][usize::from(across)]
    }

    fn table(self) -> &'static [[[Kernel; 2]; 2]] {
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Avx2 => {
                use x86::avx2;
                kernels!(avx2: 1 2 3 4 5 6)
            }
            #[cfg(target_arch = "x86_64")]
            Self::Avx512 => {
                use x86::avx512;
                kernels!(avx512: 1 2 3 4 5 6 7 8 9 10 11 12 13 14)
            }
            _ => kernels!(portable: 1 2 3 4),
        }
    }

    /// C = A·B on one thread with this level's kernel.
    ///
    /// # Panics
    /// When a slice's length is not the shape's, or this CPU does not have the level.
    pub fn multiply(self, c: &mut [f32], a: &[f32], b: &[f32], shape: Shape) {
        assert!(self.available(), "this CPU has no {}", self.name());
        gemm::row_major(self, c, a, b, shape, 1);
    }
}

/// C = A·B on one thread with the widest vectors of this CPU.
///
/// # Panics
/// When a slice's length is not the shape's.
pub fn multiply(c: &mut [f32], a: &[f32], b: &[f32], shape: Shape) {
    Level::best().multiply(c, a, b, shape);
}
