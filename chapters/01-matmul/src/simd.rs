//! Rung 5: wider registers. The kernel of rung 4 is written once over a `Vector`, a register full of numbers, and
//! compiled for plain arrays, for AVX2 and for AVX-512; which one runs is decided when the program runs. The loops
//! around the kernel are those of rung 4. What fills up the last panels does not matter: its sums go nowhere.

pub use crate::level::Level;
use crate::{
    Shape,
    part::{Part, add_edge},
    registers::Vector,
};

/// Terms of a block: a panel of B is 32 KiB with AVX2, 64 KiB with AVX-512.
const KC: usize = 512;
/// Rows of a block of A, or a few more for whole tiles: 192 KiB, for the second-level cache.
const MC: usize = 96;
/// Columns of a block of B: 8 MiB, for the third-level cache.
const NC: usize = 4096;

/// C = A·B on one thread with the vectors of `level`.
///
/// # Panics
/// When a slice's length is not the shape's, or this CPU does not have the level.
pub fn multiply(level: Level, c: &mut [f32], a: &[f32], b: &[f32], shape: Shape) {
    // SAFETY: no one else has C.
    unsafe { compute(level, &Part::whole(c, a, b, shape)) }
}

/// Computes a rectangle of C with the vectors of `level`, which this CPU must have.
///
/// # Safety
/// C, A and B have the shape's lengths, and no one else reads or writes the rectangle.
pub(crate) unsafe fn compute(level: Level, part: &Part) {
    assert!(level.available(), "this CPU has no {}", level.name());
    // SAFETY: the CPU has the instructions, and the caller vouches for the memory.
    unsafe {
        match level {
            #[cfg(target_arch = "x86_64")]
            Level::Avx512 => avx512(part),
            #[cfg(target_arch = "x86_64")]
            Level::Avx2 => avx2(part),
            _ => loops::<[f32; 4], 4>(part),
        }
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx2,fma")]
unsafe fn avx512(part: &Part) {
    // SAFETY: the caller's.
    unsafe { loops::<std::arch::x86_64::__m512, 14>(part) }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
unsafe fn avx2(part: &Part) {
    // SAFETY: the caller's.
    unsafe { loops::<std::arch::x86_64::__m256, 6>(part) }
}

/// Blocks of B, blocks of A, and tiles of C of `MR` rows and two vectors.
#[inline(always)]
unsafe fn loops<V: Vector, const MR: usize>(part: &Part) {
    let Part { c, a, b, shape: Shape { k, n, .. }, rows, cols } = part.clone();
    let (nr, mc) = (2 * V::LANES, MC.next_multiple_of(MR));
    let (mut block_a, mut block_b) = (Vec::new(), Vec::new());
    // SAFETY: the caller vouches for C.
    unsafe { part.clear() };
    for left in cols.clone().step_by(NC) {
        let right = cols.end.min(left + NC);
        for start in (0..k).step_by(KC) {
            let terms = KC.min(k - start);
            pack_b(&mut block_b, &b[start * n + left..], n, terms, right - left, nr);
            for top in rows.clone().step_by(mc) {
                let bottom = rows.end.min(top + mc);
                pack_a::<MR>(&mut block_a, &a[top * k + start..], k, bottom - top, terms);
                for (j, b) in (left..right).step_by(nr).zip(block_b.chunks(nr * terms)) {
                    for (i, a) in (top..bottom).step_by(MR).zip(block_a.chunks(MR * terms)) {
                        let (height, width) = (MR.min(bottom - i), nr.min(right - j));
                        // SAFETY: the caller vouches for the CPU and for C. What lies at the edge is computed in
                        // memory of its own.
                        unsafe {
                            let c = c.add(i * n + j);
                            if (height, width) == (MR, nr) {
                                kernel::<V, MR>(c, n, a, b);
                                continue;
                            }
                            let mut edge = [[0.0; 32]; MR];
                            kernel::<V, MR>(edge.as_mut_ptr().cast(), 32, a, b);
                            add_edge(c, n, &edge[..height], width);
                        }
                    }
                }
            }
        }
    }
}

/// Copies a block of A, row after row, into panels of `MR` rows: the values of a column lie side by side.
fn pack_a<const MR: usize>(to: &mut Vec<f32>, a: &[f32], k: usize, rows: usize, terms: usize) {
    to.resize(rows.next_multiple_of(MR) * terms, 0.0);
    for (i, row) in a.chunks(k).take(rows).enumerate() {
        let panel = &mut to[i / MR * MR * terms..][..MR * terms];
        for (column, x) in panel.as_chunks_mut::<MR>().0.iter_mut().zip(row) {
            column[i % MR] = *x;
        }
    }
}

/// Copies a block of B, row after row, into panels of `nr` columns: the values of a row lie side by side.
fn pack_b(to: &mut Vec<f32>, b: &[f32], n: usize, terms: usize, cols: usize, nr: usize) {
    to.resize(cols.next_multiple_of(nr) * terms, 0.0);
    for (p, row) in b.chunks(n).take(terms).enumerate() {
        for (panel, values) in to.chunks_mut(nr * terms).zip(row[..cols].chunks(nr)) {
            panel[p * nr..][..values.len()].copy_from_slice(values);
        }
    }
}

/// Adds the product of a panel of A and a panel of B to C; the sums stay in registers.
#[inline(always)]
#[allow(clippy::needless_range_loop, reason = "rows and vectors are counted, as in the formula")]
pub(crate) unsafe fn kernel<V: Vector, const MR: usize>(
    c: *mut f32,
    n: usize,
    a: &[f32],
    b: &[f32],
) {
    // SAFETY: the caller vouches for the CPU and for the tile of C.
    unsafe {
        let mut sums = [[V::splat(0.0); 2]; MR];
        for i in 0..MR {
            sums[i] = [V::load(c.add(i * n)), V::load(c.add(i * n + V::LANES))];
        }
        for (a, b) in a.as_chunks::<MR>().0.iter().zip(b.chunks_exact(2 * V::LANES)) {
            let b = b.as_ptr();
            // ANCHOR: sums
            let y = [V::load(b), V::load(b.add(V::LANES))];
            for i in 0..MR {
                let x = V::splat(a[i]);
                for v in 0..2 {
                    sums[i][v] = x.mul_add(y[v], sums[i][v]);
                }
            }
            // ANCHOR_END: sums
        }
        for i in 0..MR {
            sums[i][0].store(c.add(i * n));
            sums[i][1].store(c.add(i * n + V::LANES));
        }
    }
}
