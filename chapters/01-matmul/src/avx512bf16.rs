//! Rung 7 in vectors: AVX512-BF16. Its instruction multiplies a vector of bf16 pairs by another and adds both products of a
//! pair to one f32, so that each sum takes half as many steps. The kernel is that of rung 5, with pairs of terms for
//! terms; packing rounds and lays the two terms of a pair side by side. Threads share C as in rung 6.

use crate::{
    Shape,
    pairs::{Pairs, model::Model, word},
    parallel::each_part,
    part::{Part, add_edge},
    registers::Vector,
    simd::kernel,
};

/// Rows and columns of a tile of C: those of AVX-512, whose registers these are.
pub const ROWS: usize = 14;
/// As [`ROWS`].
pub const COLS: usize = 32;
/// Terms of a block: a panel of B is 64 KiB.
const KC: usize = 1024;
/// Rows of a block of A: 196 KiB, for the second-level cache.
const MC: usize = 7 * ROWS;
/// Columns of a block of B: 8 MiB, for the third-level cache.
const NC: usize = 4096;

/// C = A·B by `on` and on up to `threads` threads; A and B are rounded to bf16.
///
/// # Panics
/// When a slice's length is not the shape's, or this CPU does not have the instruction.
pub fn multiply(on: Pairs, c: &mut [f32], a: &[f32], b: &[f32], shape: Shape, threads: usize) {
    assert!(on.available(), "this CPU has no AVX512-BF16");
    let whole = Part::whole(c, a, b, shape);
    each_part(&whole, (ROWS, COLS), threads, |part| {
        // SAFETY: the parts do not overlap, and the CPU has the instruction.
        unsafe {
            match on {
                #[cfg(target_arch = "x86_64")]
                Pairs::Hardware => hardware(part),
                _ => loops::<Model>(part),
            }
        }
    });
}

/// [`loops`] with the instruction itself.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512bf16,avx512f,avx2,fma")]
unsafe fn hardware(part: &Part) {
    // SAFETY: the caller's.
    unsafe { loops::<crate::pairs::hardware::Hardware>(part) }
}

/// Blocks of B, blocks of A, and tiles of C, as in rung 5.
#[inline(always)]
unsafe fn loops<V: Vector>(part: &Part) {
    let Part { c, a, b, shape: Shape { k, n, .. }, rows, cols } = part.clone();
    let ([pack_a, pack_b], mut block_a, mut block_b) = (PACK, Vec::new(), Vec::new());
    // SAFETY: the caller vouches for C.
    unsafe { part.clear() };
    for left in cols.clone().step_by(NC) {
        let right = cols.end.min(left + NC);
        for start in (0..k).step_by(KC) {
            let terms = KC.min(k - start);
            let words = terms.div_ceil(2);
            pack_b(&mut block_b, &b[start * n + left..], n, terms, right - left);
            for top in rows.clone().step_by(MC) {
                let bottom = rows.end.min(top + MC);
                pack_a(&mut block_a, &a[top * k + start..], k, bottom - top, terms);
                for (j, b) in (left..right).step_by(COLS).zip(block_b.chunks(COLS * words)) {
                    for (i, a) in (top..bottom).step_by(ROWS).zip(block_a.chunks(ROWS * words)) {
                        let (height, width) = (ROWS.min(bottom - i), COLS.min(right - j));
                        // SAFETY: the caller vouches for the CPU and for C. What lies at the edge is computed in
                        // memory of its own.
                        unsafe {
                            let c = c.add(i * n + j);
                            if (height, width) == (ROWS, COLS) {
                                kernel::<V, ROWS>(c, n, a, b);
                                continue;
                            }
                            let mut edge = [[0.0; COLS]; ROWS];
                            kernel::<V, ROWS>(edge.as_mut_ptr().cast(), COLS, a, b);
                            add_edge(c, n, &edge[..height], width);
                        }
                    }
                }
            }
        }
    }
}

type Pack = fn(&mut Vec<f32>, &[f32], usize, usize, usize);

/// How A and B are packed: where to, the values, how far their rows lie apart, and how many rows and columns there are.
pub const PACK: [Pack; 2] = [pack_a, pack_b];

/// Packs panels of [`ROWS`] rows of A: for each pair of terms, the pairs of a column lie side by side. A term without a
/// partner gets zero.
fn pack_a(to: &mut Vec<f32>, a: &[f32], k: usize, rows: usize, terms: usize) {
    let words = terms.div_ceil(2);
    to.resize(rows.next_multiple_of(ROWS) * words, 0.0);
    for (i, row) in a.chunks(k).take(rows).enumerate() {
        let panel = &mut to[i / ROWS * ROWS * words..][..ROWS * words];
        for (column, pair) in panel.as_chunks_mut::<ROWS>().0.iter_mut().zip(row[..terms].chunks(2))
        {
            column[i % ROWS] = word(pair[0], pair.get(1).copied().unwrap_or(0.0));
        }
    }
}

/// Packs panels of [`COLS`] columns of B, weaving each two of its rows together.
// ANCHOR: pack_b
fn pack_b(to: &mut Vec<f32>, b: &[f32], n: usize, terms: usize, cols: usize) {
    let (words, zeros) = (terms.div_ceil(2), vec![0.0; cols]);
    to.resize(cols.next_multiple_of(COLS) * words, 0.0);
    for p in 0..words {
        let first = &b[2 * p * n..][..cols];
        let last = 2 * p + 1 == terms;
        let second = if last { &zeros } else { &b[(2 * p + 1) * n..][..cols] };
        for (panel, from) in (0..cols).step_by(COLS).enumerate() {
            let to = &mut to[(panel * words + p) * COLS..][..COLS];
            let pairs = first[from..].iter().zip(&second[from..]);
            for (to, (x, y)) in to.iter_mut().zip(pairs) {
                *to = word(*x, *y);
            }
        }
    }
}
// ANCHOR_END: pack_b
