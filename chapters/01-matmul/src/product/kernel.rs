//! The micro-kernel of rung 5, grown up: A and B packed or where they lie, any number of rows up to the tile's, and a
//! product that ends with an addition, a bias and `ReLU`. With words of two bf16 for numbers it is that of [`Pairs`].

use crate::{
    level::Level,
    pairs::{Pairs, model::Model},
    registers::{Vector, hide},
};

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

/// Terms between one row of C that is asked for and the next.
const APART: usize = 4;
/// How many terms before it is needed a column of A is asked for, and a row of B: they come from the second-level cache,
/// and faster than it sees by itself that they will be needed. Measured with AVX-512, where a term takes 14 cycles.
const A_AHEAD: usize = 16;
const B_AHEAD: usize = 12;

/// Computes a tile of C of `MR` rows and `NV` vectors; the sums stay in registers throughout.
///
/// # Safety
/// The CPU has `V`'s instructions, and `t` describes memory that is valid to read and write.
#[inline(always)]
unsafe fn tile<V: Vector, const MR: usize, const NV: usize, const ACROSS: bool>(t: &Tile) {
    // SAFETY: the caller vouches for the CPU and for the memory behind `t`.
    unsafe {
        let mut sums = [[V::splat(0.0); NV]; MR];
        let mut a = Rows::<ACROSS>::of(t, MR);
        let (mut b, mut c) = (t.b, t.c.cast_const());
        let (mut rows, mut terms) = (MR, t.k);
        let wide = V::LANES >= 16;
        if !wide || terms < MR * APART {
            (0..MR).for_each(|i| ask_row::<V, NV>(t.c.wrapping_add(i * t.c_stride)));
            rows = 0;
        }
        // While the sums are computed, the rows of C are asked for, one by one: all at once, they would keep A and B
        // waiting. Four terms a round also where registers allow: short loops end foreseen.
        while terms >= APART && (rows > 0 || !wide) {
            if wide {
                ask_row::<V, NV>(c);
                c = c.wrapping_add(t.c_stride);
                rows -= 1;
            }
            for _ in 0..APART {
                add_term(&mut sums, &a, b);
                a.next();
                b = b.add(t.b_stride);
            }
            terms -= APART;
        }
        for _ in 0..terms {
            if wide {
                if !ACROSS {
                    ask(a.at[0].wrapping_add(A_AHEAD * t.a_stride));
                }
                ask_row::<V, NV>(b.wrapping_add(B_AHEAD * t.b_stride));
            }
            add_term(&mut sums, &a, b);
            a.next();
            b = b.add(t.b_stride);
        }
        finish(t, &sums);
    }
}

/// Rows of A that one pointer serves.
const GROUP: usize = 5;

/// Where a tile's rows of A are. Read across, they have a pointer for each [`GROUP`] and distances from it: with a pointer for
/// each of fourteen rows most pointers would live in memory, and from one row to the next, an addition would wait for the
/// one before.
struct Rows<const ACROSS: bool> {
    /// The first rows' current terms.
    at: [*const f32; 3],
    /// From the first row of a group to each of its rows.
    away: [usize; GROUP],
    /// From one term to the next.
    col: usize,
}

impl<const ACROSS: bool> Rows<ACROSS> {
    /// Those of the tile's first term.
    #[inline(always)]
    #[allow(clippy::needless_range_loop, reason = "see below")]
    fn of(t: &Tile, rows: usize) -> Self {
        let (mut at, mut away) = ([t.a; 3], [0; GROUP]);
        if !ACROSS {
            return Self { at, away, col: t.a_stride };
        }
        // Counted: an iterator may stay a call.
        for group in 0..at.len() {
            at[group] = hide(t.a.wrapping_add((group * GROUP).min(rows - 1) * t.a_stride));
        }
        for i in 1..GROUP {
            away[i] = hide(i * t.a_stride);
        }
        Self { at, away, col: 1 }
    }

    /// The current term of row `i`.
    #[inline(always)]
    fn row(&self, i: usize) -> *const f32 {
        if ACROSS {
            self.at[i / GROUP].wrapping_add(self.away[i % GROUP])
        } else {
            self.at[0].wrapping_add(i)
        }
    }

    /// Goes on to the next term.
    #[inline(always)]
    #[allow(clippy::needless_range_loop, reason = "an iterator may stay a call")]
    fn next(&mut self) {
        for group in 0..self.at.len() {
            self.at[group] = self.at[group].wrapping_add(self.col);
        }
    }
}

/// Adds one term to each sum: a value of A times a vector of B.
///
/// # Safety
/// As for [`tile`]: `a` and `b` are its column of A and its row of B.
#[inline(always)]
#[allow(clippy::needless_range_loop, reason = "rows and vectors are counted, as in the formula")]
unsafe fn add_term<V: Vector, const MR: usize, const NV: usize, const ACROSS: bool>(
    sums: &mut [[V; NV]; MR],
    a: &Rows<ACROSS>,
    b: *const f32,
) {
    // SAFETY: the caller vouches for the CPU and for the memory.
    unsafe {
        // Not `array::from_fn`: see the registers.
        let mut y = [V::splat(0.0); NV];
        for v in 0..NV {
            y[v] = V::load(b.add(v * V::LANES));
        }
        // In groups, or the compiler would leave the loop over many rows a loop, and the sums in memory.
        for group in 0..MR.div_ceil(GROUP) {
            for i in group * GROUP..(group * GROUP + GROUP).min(MR) {
                let x = V::splat(*a.row(i));
                for v in 0..NV {
                    sums[i][v] = x.mul_add(y[v], sums[i][v]);
                }
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
unsafe fn finish<V: Vector, const MR: usize, const NV: usize>(t: &Tile, sums: &[[V; NV]; MR]) {
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

/// Asks for a cache line before it is needed.
#[inline(always)]
fn ask(at: *const f32) {
    // SAFETY: a prefetch reads nothing that the program sees and never faults.
    #[cfg(target_arch = "x86_64")]
    unsafe {
        std::arch::x86_64::_mm_prefetch::<{ std::arch::x86_64::_MM_HINT_T0 }>(at.cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = at;
}

/// Asks for a tile's row: both ends of each of its registers may lie in cache lines of their own.
#[inline(always)]
fn ask_row<V: Vector, const NV: usize>(row: *const f32) {
    ask(row);
    ask(row.wrapping_add(NV * V::LANES - 1));
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

/// The same table for kernels that read nothing but what was packed.
macro_rules! kernels_of_packed {
    ($kernel:ident: $($rows:literal)*) => {
        &[$([[$kernel::<$rows, 1> as Kernel; 2], [$kernel::<$rows, 2> as Kernel; 2]]),*]
    };
}

/// The kernel of the model of pairs. See [`tile`].
unsafe fn model<const MR: usize, const NV: usize>(t: &Tile) {
    // SAFETY: the caller vouches for the memory behind `t`.
    unsafe { tile::<Model, MR, NV, false>(t) }
}

/// The portable kernel. See [`tile`].
unsafe fn portable<const MR: usize, const NV: usize, const ACROSS: bool>(t: &Tile) {
    // SAFETY: the caller vouches for the memory behind `t`.
    unsafe { tile::<[f32; 4], MR, NV, ACROSS>(t) }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::{Tile, tile};
    use crate::pairs::hardware::Hardware;
    use std::arch::x86_64::{__m256, __m512};

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

    /// The AVX512-BF16 kernel. See [`tile`].
    #[target_feature(enable = "avx512bf16,avx512f,avx2,fma")]
    pub unsafe fn pairs<const MR: usize, const NV: usize>(t: &Tile) {
        // SAFETY: the caller vouches for AVX512-BF16 and the memory behind `t`.
        unsafe { tile::<Hardware, MR, NV, false>(t) }
    }
}

/// The kernels of a unit.
#[derive(Clone, Copy)]
pub(crate) struct Kernels {
    /// Sums in a register.
    pub lanes: usize,
    /// Rows of the largest tile.
    pub rows: usize,
    /// The vectors that pack for them.
    pub packing: Level,
    table: &'static [[[Kernel; 2]; 2]],
}

impl Kernels {
    /// Those of a level, for f32. They must be called only where it is [`Level::available`].
    pub fn of(level: Level) -> Self {
        let table: &[_] = match level {
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
        Self { lanes: level.lanes(), rows: level.tile().0, packing: level, table }
    }

    /// Those that read words of two bf16, with the tile of AVX-512. They must be called only where `on` is
    /// [`Pairs::available`].
    pub fn of_pairs(on: Pairs) -> Self {
        let table: &[_] = match on {
            #[cfg(target_arch = "x86_64")]
            Pairs::Hardware => {
                use x86::pairs;
                kernels_of_packed!(pairs: 1 2 3 4 5 6 7 8 9 10 11 12 13 14)
            }
            _ => kernels_of_packed!(model: 1 2 3 4 5 6 7 8 9 10 11 12 13 14),
        };
        let level = Level::Avx512;
        Self { lanes: level.lanes(), rows: level.tile().0, packing: Level::best(), table }
    }

    /// Rows and columns of the largest tile: two registers side by side.
    pub fn tile(&self) -> (usize, usize) {
        (self.rows, 2 * self.lanes)
    }

    /// The kernel for a tile of `rows` (from 1) and `vectors` (1 or 2).
    pub fn get(&self, rows: usize, vectors: usize, across: bool) -> Kernel {
        self.table[rows - 1][vectors - 1][usize::from(across)]
    }
}
