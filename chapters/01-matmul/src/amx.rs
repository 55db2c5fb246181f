//! Rung 7: AMX, the matrix unit of newer Intel CPUs. Eight registers hold a tile of 16 rows of 64 bytes each, and
//! one instruction multiplies two tiles of bf16 and adds the product to a tile of f32: 16,384 operations. The loops
//! are those of rung 4, with tiles for numbers; threads share C as in rung 6.

use crate::{
    Shape,
    bf16::Input,
    parallel::each_part,
    part::{Part, add_edge},
    tiles::{SIDE, Tiles, WORDS},
};

/// Rows and columns of C that a block computes: two tiles by two.
pub(crate) const BLOCK: usize = 2 * SIDE;
/// Terms that one instruction adds to a sum: 16 words of two bf16.
pub(crate) const TERMS: usize = 2 * SIDE;
/// Terms of a block: 32 columns of B are then 64 KiB, read from the second-level cache.
const KC: usize = 1024;
/// Rows of a block of A: 512 KiB of the second-level cache.
const MC: usize = 256;
/// Columns of a block of B: 2 MiB.
const NC: usize = 1024;

/// A tile of bf16 in memory: in a row, 32 terms of a row of A, or two terms of each of 16 columns of B.
#[derive(Clone)]
#[repr(C, align(64))]
struct Half([[u16; TERMS]; SIDE]);

/// C = A·B on the tiles `T` and on up to `threads` threads; A and B are rounded to bf16.
///
/// # Panics
/// When a slice's length is not the shape's, or this machine does not have the tiles.
pub fn multiply<T: Tiles>(c: &mut [f32], a: &[f32], b: &[f32], shape: Shape, threads: usize) {
    let whole = Part::whole(c, a, b, shape);
    each_part(&whole, (BLOCK, BLOCK), threads, |part| {
        // SAFETY: the parts do not overlap, and the CPU has the vectors.
        unsafe {
            #[cfg(target_arch = "x86_64")]
            if is_x86_feature_detected!("avx512bw") {
                return avx512::<T>(part);
            }
            loops::<T>(part);
        }
    });
}

/// [`loops`], which packs in the vectors that every CPU with AMX has.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512bw")]
unsafe fn avx512<T: Tiles>(part: &Part) {
    // SAFETY: the caller's.
    unsafe { loops::<T>(part) }
}

/// Blocks of B, blocks of A, and blocks of 32×32 of C.
#[inline(always)]
unsafe fn loops<T: Tiles>(part: &Part) {
    let Part { c, a, b, shape: Shape { k, n, .. }, rows, cols } = part.clone();
    let (mut block_a, mut block_b) = (Vec::new(), Vec::new());
    let mut tiles = T::start();
    // SAFETY: the caller vouches for C.
    unsafe { part.clear() };
    for left in cols.clone().step_by(NC) {
        let right = cols.end.min(left + NC);
        for start in (0..k).step_by(KC) {
            let terms = KC.min(k - start);
            let size = 2 * terms.div_ceil(TERMS);
            pack_b(&mut block_b, &b[start * n + left..], n, terms, right - left);
            for top in rows.clone().step_by(MC) {
                let bottom = rows.end.min(top + MC);
                pack_a(&mut block_a, &a[top * k + start..], k, bottom - top, terms);
                for (j, b) in (left..right).step_by(BLOCK).zip(block_b.chunks(size)) {
                    for (i, a) in (top..bottom).step_by(BLOCK).zip(block_a.chunks(size)) {
                        let (height, width) = (BLOCK.min(bottom - i), BLOCK.min(right - j));
                        // SAFETY: the caller vouches for C. What lies at its edge is computed in memory of its own.
                        unsafe {
                            let c = c.add(i * n + j);
                            if (height, width) == (BLOCK, BLOCK) {
                                block(&mut tiles, c, n, a, b);
                                continue;
                            }
                            let mut edge = [[0.0; BLOCK]; BLOCK];
                            block(&mut tiles, edge.as_mut_ptr().cast(), BLOCK, a, b);
                            add_edge(c, n, &edge[..height], width);
                        }
                    }
                }
            }
        }
    }
}

/// Adds the product of packed tiles to a block of 32×32 of C, and asks for the block that lies below.
#[inline(always)]
unsafe fn block<T: Tiles>(t: &mut T, c: *mut f32, n: usize, a: &[Half], b: &[Half]) {
    let below = c.wrapping_add(BLOCK * n);
    // SAFETY: the caller vouches for the block of C, and for as many tiles of A as of B.
    unsafe {
        load(t, c, n);
        add_product(t, a.len() / 2, a.as_ptr().cast(), b.as_ptr().cast(), below, n);
        store(t, c, n);
    }
}

/// Reads a block of 32×32 of C, whose rows lie `n` values apart, into tiles 0 to 3.
///
/// # Safety
/// The block can be read.
#[inline(always)]
pub(crate) unsafe fn load<T: Tiles>(t: &mut T, c: *const f32, n: usize) {
    let [upper, lower] = [0, SIDE * n].map(|at| c.wrapping_add(at).cast::<u32>());
    // SAFETY: the caller's.
    unsafe {
        t.load::<0>(upper, 4 * n);
        t.load::<1>(upper.add(SIDE), 4 * n);
        t.load::<2>(lower, 4 * n);
        t.load::<3>(lower.add(SIDE), 4 * n);
    }
}

/// Writes tiles 0 to 3 to a block of 32×32 of C, whose rows lie `n` values apart.
///
/// # Safety
/// The block can be written.
#[inline(always)]
pub(crate) unsafe fn store<T: Tiles>(t: &T, c: *mut f32, n: usize) {
    let [upper, lower] = [0, SIDE * n].map(|at| c.wrapping_add(at).cast::<u32>());
    // SAFETY: the caller's.
    unsafe {
        t.store::<0>(upper, 4 * n);
        t.store::<1>(upper.add(SIDE), 4 * n);
        t.store::<2>(lower, 4 * n);
        t.store::<3>(lower.add(SIDE), 4 * n);
    }
}

/// Adds the product of packed tiles to four sums: two tiles of A, two of B in each step. At the same time it asks for
/// rows that will be needed `next`, `n` values apart.
///
/// # Safety
/// `a` and `b` hold `steps` pairs of tiles.
#[inline(always)]
pub(crate) unsafe fn add_product<T: Tiles>(
    t: &mut T,
    steps: usize,
    mut a: *const u32,
    mut b: *const u32,
    next: *const f32,
    n: usize,
) {
    // SAFETY: the caller's.
    unsafe {
        // ANCHOR: steps
        for step in 0..steps {
            t.load::<4>(a, 64);
            t.load::<6>(b, 64);
            t.multiply::<0, 4, 6>();
            t.load::<7>(b.add(WORDS), 64);
            t.multiply::<1, 4, 7>();
            t.load::<5>(a.add(WORDS), 64);
            t.multiply::<2, 5, 6>();
            t.multiply::<3, 5, 7>();
            t.prefetch(next.wrapping_add(step * n));
            a = a.add(2 * WORDS);
            b = b.add(2 * WORDS);
        }
        // ANCHOR_END: steps
    }
}

/// Packs blocks of 32 rows of A: for each 32 terms two tiles. What is not there is zero.
#[inline(always)]
fn pack_a(to: &mut Vec<Half>, a: &[f32], k: usize, rows: usize, terms: usize) {
    let steps = terms.div_ceil(TERMS);
    to.clear();
    to.resize(2 * rows.div_ceil(BLOCK) * steps, Half([[0; TERMS]; SIDE]));
    for (i, row) in a.chunks(k).take(rows).enumerate() {
        for (step, values) in row[..terms].chunks(TERMS).enumerate() {
            let tile = 2 * (i / BLOCK * steps + step) + i % BLOCK / SIDE;
            for (half, x) in to[tile].0[i % SIDE].iter_mut().zip(values) {
                *half = x.bits();
            }
        }
    }
}

/// Packs panels of 32 columns of B: for each 32 terms two tiles, whose rows weave two rows of B together.
#[inline(always)]
fn pack_b(to: &mut Vec<Half>, b: &[f32], n: usize, terms: usize, cols: usize) {
    let (steps, zeros) = (terms.div_ceil(TERMS), vec![0.0; cols]);
    to.clear();
    to.resize(2 * cols.div_ceil(BLOCK) * steps, Half([[0; TERMS]; SIDE]));
    for p in (0..terms).step_by(2) {
        let even = &b[p * n..][..cols];
        let odd = if p + 1 < terms { &b[(p + 1) * n..][..cols] } else { &zeros };
        for (at, pairs) in even.chunks(SIDE).zip(odd.chunks(SIDE)).enumerate() {
            let tile = 2 * (at / 2 * steps + p / TERMS) + at % 2;
            let row = to[tile].0[p % TERMS / 2].as_chunks_mut::<2>().0;
            for (pair, (x, y)) in row.iter_mut().zip(pairs.0.iter().zip(pairs.1)) {
                *pair = [x.bits(), y.bits()];
            }
        }
    }
}
