//! Why the steps work: a cache small enough to read, which counts what each order of the loops misses.
//!
//! The simulator also keeps the values, so the traced loops below compute a real product, and tests check that it
//! equals that of the rungs that it models. It leaves out what a real core adds: prefetching, the TLB,
//! out-of-order execution. Counts, not times.

use crate::packed::{KC, MC, MR, NC, NR};
use std::ops::Range;

/// Bytes that move between memory and cache at a time, as on nearly every CPU.
pub const LINE: usize = 64;
/// Lines that share a set.
pub const WAYS: usize = 8;
/// Bytes of the first level: as the data caches of AMD's Zen cores, and of Intel's before Ice Lake.
pub const L1: usize = 32 << 10;
/// Bytes of the second level: as in AMD's Zen to Zen 3.
pub const L2: usize = 512 << 10;

/// No line: an empty way.
const EMPTY: usize = usize::MAX;

// ANCHOR: cache
/// A set-associative cache that forgets the least recently used line.
#[derive(Clone, Debug)]
pub struct Cache {
    /// The lines of each set, most recently used first.
    sets: Vec<[usize; WAYS]>,
}

impl Cache {
    /// Reads or writes the byte at `address`; whether its line was there.
    pub fn touch(&mut self, address: usize) -> bool {
        let line = address / LINE;
        let which = line & (self.sets.len() - 1); // A power of two.
        let set = &mut self.sets[which];
        if set[0] == line {
            return true;
        }
        let found = set.iter().position(|&held| held == line);
        set[..=found.unwrap_or(WAYS - 1)].rotate_right(1);
        set[0] = line;
        found.is_some()
    }
}
// ANCHOR_END: cache

impl Cache {
    /// An empty cache of `bytes`.
    ///
    /// # Panics
    /// If that is not a power of two of sets.
    pub fn new(bytes: usize) -> Self {
        let sets = bytes / (LINE * WAYS);
        assert!(
            sets.is_power_of_two() && sets * LINE * WAYS == bytes,
            "{bytes} bytes are not a power of two of sets of {WAYS} lines of {LINE} bytes"
        );
        Self { sets: vec![[EMPTY; WAYS]; sets] }
    }
}

/// What a traced program did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Elements read from memory into registers.
    pub loads: u64,
    /// Elements written from registers to memory.
    pub stores: u64,
    /// Loads and stores whose line was not in the first level.
    pub l1_misses: u64,
    /// Those whose line was not in the second level either.
    pub l2_misses: u64,
}

/// A row-major matrix in a [`Memory`].
#[derive(Clone, Copy, Debug)]
pub struct Matrix {
    start: usize,
    /// Rows.
    pub rows: usize,
    /// Columns.
    pub cols: usize,
}

impl Matrix {
    /// Where the element in row `i` and column `j` lies.
    pub fn at(&self, i: usize, j: usize) -> usize {
        debug_assert!(i < self.rows && j < self.cols);
        self.start + i * self.cols + j
    }
}

/// Memory behind two levels of cache, which counts what passes.
#[derive(Clone, Debug)]
pub struct Memory {
    cells: Vec<f32>,
    l1: Cache,
    l2: Cache,
    counts: Counts,
}

impl Default for Memory {
    fn default() -> Self {
        Self::new(L1, L2)
    }
}

impl Memory {
    /// Empty memory behind caches of these sizes in bytes.
    ///
    /// # Panics
    /// As [`Cache::new`].
    pub fn new(l1: usize, l2: usize) -> Self {
        Self {
            cells: Vec::new(),
            l1: Cache::new(l1),
            l2: Cache::new(l2),
            counts: Counts::default(),
        }
    }

    /// Puts a `rows`×`cols` matrix into memory, from the start of a page, with `value(i, j)` in row `i`
    /// and column `j`. Nothing is counted.
    pub fn matrix(
        &mut self,
        rows: usize,
        cols: usize,
        value: impl Fn(usize, usize) -> f32,
    ) -> Matrix {
        const PAGE: usize = 4096 / size_of::<f32>();
        let start = self.cells.len().next_multiple_of(PAGE);
        self.cells.resize(start, 0.0);
        self.cells.extend((0..rows * cols).map(|at| value(at / cols, at % cols)));
        Matrix { start, rows, cols }
    }

    /// Reads the element at `at` through the caches.
    pub fn load(&mut self, at: usize) -> f32 {
        self.counts.loads += 1;
        self.touch(at);
        self.cells[at]
    }

    fn touch(&mut self, at: usize) {
        let address = at * size_of::<f32>();
        if !self.l1.touch(address) {
            self.counts.l1_misses += 1;
            if !self.l2.touch(address) {
                self.counts.l2_misses += 1;
            }
        }
    }

    /// Writes the element at `at` through the caches; a missing line is fetched first.
    pub fn store(&mut self, at: usize, value: f32) {
        self.counts.stores += 1;
        self.touch(at);
        self.cells[at] = value;
    }

    /// What has passed so far.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// The elements of `matrix`, row by row. Nothing is counted.
    pub fn values(&self, matrix: Matrix) -> &[f32] {
        &self.cells[matrix.start..][..matrix.rows * matrix.cols]
    }
}

lab::named! {
    /// The orders in which the rungs traverse memory.
    pub enum Pattern("pattern") {
        /// [`crate::naive`]: a row of A meets a column of B.
        Naive = "naive",
        /// [`crate::reordered`]: a number of A meets a row of B.
        Reordered = "reordered",
        /// [`crate::blocked`]: the same, within a block of B.
        Blocked = "blocked",
        /// [`crate::packed`]: panels of A and B, and a tile of C in registers.
        Packed = "packed",
    }
}

impl Pattern {
    /// C = A·B in traced memory, in this order.
    pub fn multiply(self, memory: &mut Memory, a: Matrix, b: Matrix, c: Matrix) {
        match self {
            Self::Naive => naive(memory, a, b, c),
            Self::Reordered => reordered(memory, a, b, c),
            Self::Blocked => blocked(memory, a, b, c),
            Self::Packed => packed(memory, a, b, c),
        }
    }

    /// What an n×n product in this order does to caches of the sizes [`L1`] and [`L2`], which are empty at
    /// the start.
    pub fn count(self, n: usize) -> Counts {
        let mut memory = Memory::default();
        let [a, b, c] = [1.0, 1.0, 0.0].map(|value| memory.matrix(n, n, |_, _| value));
        self.multiply(&mut memory, a, b, c);
        memory.counts()
    }
}

/// The loops of [`crate::naive::multiply`]; the running sum is in a register.
fn naive(memory: &mut Memory, a: Matrix, b: Matrix, c: Matrix) {
    for i in 0..c.rows {
        for j in 0..c.cols {
            let mut sum = 0.0;
            for p in 0..a.cols {
                sum += memory.load(a.at(i, p)) * memory.load(b.at(p, j));
            }
            memory.store(c.at(i, j), sum);
        }
    }
}

/// The loops of [`crate::reordered::multiply`].
fn reordered(memory: &mut Memory, a: Matrix, b: Matrix, c: Matrix) {
    fill_with_zero(memory, c);
    add_block(memory, a, b, c, 0..a.cols, 0..c.cols);
}

/// The loops of [`crate::blocked::multiply`], with its blocks.
fn blocked(memory: &mut Memory, a: Matrix, b: Matrix, c: Matrix) {
    fill_with_zero(memory, c);
    for top in (0..a.cols).step_by(crate::blocked::ROWS) {
        for left in (0..c.cols).step_by(crate::blocked::COLS) {
            let rows = top..(top + crate::blocked::ROWS).min(a.cols);
            let cols = left..(left + crate::blocked::COLS).min(c.cols);
            add_block(memory, a, b, c, rows, cols);
        }
    }
}

/// Adds to C what the block `rows`×`cols` of B contributes.
fn add_block(
    memory: &mut Memory,
    a: Matrix,
    b: Matrix,
    c: Matrix,
    rows: Range<usize>,
    cols: Range<usize>,
) {
    for i in 0..c.rows {
        for p in rows.clone() {
            let x = memory.load(a.at(i, p));
            for j in cols.clone() {
                let sum = memory.load(c.at(i, j)) + x * memory.load(b.at(p, j));
                memory.store(c.at(i, j), sum);
            }
        }
    }
}

fn fill_with_zero(memory: &mut Memory, c: Matrix) {
    for i in 0..c.rows {
        for j in 0..c.cols {
            memory.store(c.at(i, j), 0.0);
        }
    }
}

/// The loops of [`crate::packed::multiply`], with its blocks; the tile of C is in registers.
fn packed(memory: &mut Memory, a: Matrix, b: Matrix, c: Matrix) {
    let (m, k, n) = (c.rows, a.cols, c.cols);
    fill_with_zero(memory, c);
    let block_a = memory.matrix(1, MC.min(m).next_multiple_of(MR) * KC.min(k), |_, _| 0.0);
    let block_b = memory.matrix(1, KC.min(k) * NC.min(n).next_multiple_of(NR), |_, _| 0.0);
    for left in (0..n).step_by(NC) {
        let cols = NC.min(n - left);
        for start in (0..k).step_by(KC) {
            let terms = KC.min(k - start);
            let of_terms = start..start + terms;
            pack(memory, block_b, left..left + cols, of_terms.clone(), NR, |j, p| b.at(p, j));
            for top in (0..m).step_by(MC) {
                let rows = MC.min(m - top);
                pack(memory, block_a, top..top + rows, of_terms.clone(), MR, |i, p| a.at(i, p));
                for j in (0..cols).step_by(NR) {
                    for i in (0..rows).step_by(MR) {
                        let sums = kernel(
                            memory,
                            block_a.at(0, i * terms),
                            block_b.at(0, j * terms),
                            terms,
                        );
                        let (rows, cols) = (MR.min(rows - i), NR.min(cols - j));
                        for (y, row) in sums[..rows].iter().enumerate() {
                            for (x, sum) in row[..cols].iter().enumerate() {
                                let at = c.at(top + i + y, left + j + x);
                                let sum = memory.load(at) + sum;
                                memory.store(at, sum);
                            }
                        }
                    }
                }
            }
        }
    }
}

/// Copies lines of a matrix, whose elements lie `at`, into panels of `width` lines: the terms of a panel one after the other.
fn pack(
    memory: &mut Memory,
    to: Matrix,
    lines: Range<usize>,
    terms: Range<usize>,
    width: usize,
    at: impl Fn(usize, usize) -> usize,
) {
    let mut next = to.start;
    for first in lines.clone().step_by(width) {
        for p in terms.clone() {
            for line in first..first + width {
                let value = if line < lines.end { memory.load(at(line, p)) } else { 0.0 };
                memory.store(next, value);
                next += 1;
            }
        }
    }
}

/// A tile from the panels of A and B that start at `a` and `b`: MR + NR loads for MR·NR steps.
fn kernel(memory: &mut Memory, a: usize, b: usize, terms: usize) -> [[f32; NR]; MR] {
    let mut sums = [[0.0; NR]; MR];
    for p in 0..terms {
        let x: [f32; MR] = std::array::from_fn(|i| memory.load(a + p * MR + i));
        let y: [f32; NR] = std::array::from_fn(|j| memory.load(b + p * NR + j));
        for i in 0..MR {
            for j in 0..NR {
                sums[i][j] += x[i] * y[j];
            }
        }
    }
    sums
}
