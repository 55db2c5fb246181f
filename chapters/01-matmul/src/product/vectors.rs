//! The product in vectors: the loops of rung 5 for matrices of any strides, shared out over threads as in rung 6. A block
//! is packed only where that pays, tiles have even heights, and threads are asked only where there is work for them. Words
//! of two bf16 take the same way: their sums have half as many terms.

use crate::{
    parallel::Rectangle,
    product::{
        kernel::{Kernels, Tile},
        operand::{Operand, Output},
        pack::{Cut, Element, Lines, SLACK, pack},
        team,
        workspace::{self, Buffer, Workspace},
    },
};
use std::ops::Range;

// ANCHOR: part
/// Operations that make a thread worth its while: about 10 µs of work.
const PART: f64 = 1e6;
// ANCHOR_END: part
/// The most terms that are added up before C is written: a panel of B is then at most 32 KiB (64 with AVX-512).
const DEPTH: usize = 512;
/// Rows of A that are packed at once: 192 KiB at most, for the second-level cache.
const ROWS: usize = 96;
/// Columns of B that are packed at once: 8 MiB at most, for the third-level cache.
const COLS: usize = 4096;
/// A is read where it lies if each of its tiles meets at most this many panels of B: packing would cost more
/// than it saves.
const FEW_PANELS: usize = 8;
/// The same for B, in tiles of A.
const FEW_TILES: usize = 6;

/// A product that is ready to be computed, rectangle by rectangle.
#[derive(Clone, Copy)]
struct OnVectors<A, B> {
    kernels: Kernels,
    a: Operand<A>,
    b: Operand<B>,
    c: Output,
    /// Tiles one below the other.
    tiles: usize,
    /// Rows of a tile; the first `more` tiles have one more.
    height: usize,
    more: usize,
}

// SAFETY: a job represents a shared borrow of A and B and an exclusive one of C, whose rectangles are each
// given to one thread.
unsafe impl<A: Sync, B: Sync> Sync for OnVectors<A, B> {}

/// C = A·B for shapes that were checked.
pub(crate) fn product<A: Element, B: Element>(
    kernels: Kernels,
    c: Output,
    a: Operand<A>,
    b: Operand<B>,
    threads: usize,
) {
    if a.rows == 0 || b.cols == 0 {
        return;
    }
    // The kernels write rows: where the columns of C are adjacent instead, Cᵀ = Bᵀ·Aᵀ is the product to compute.
    if c.col_stride != 1 && c.row_stride == 1 {
        OnVectors::new(kernels, b.t(), a.t(), c.t()).run(threads);
    } else {
        OnVectors::new(kernels, a, b, c).run(threads);
    }
}

/// Terms of the sums that are added up before C is written. It depends on k alone, so that the sums have
/// the same bits however C is cut.
fn depth(k: usize) -> usize {
    let passes = k.div_ceil(DEPTH).max(1);
    k.div_ceil(passes).max(1)
}

/// How many cache lines stay in a first-level cache when they lie `step` values apart. In 32 KiB with 8 ways a
/// line has 64 sets to choose from by its address; lines a power of two apart meet in few of them. A
/// quarter of the cache, at most.
fn lines_that_stay(step: usize) -> usize {
    let places = 64 >> (step / 16).trailing_zeros().min(6);
    (8 * places).min(128)
}

/// Where the kernels find a block of A or B.
#[derive(Clone, Copy)]
struct Block {
    /// The block's first value: in the matrix, or packed.
    at: *const f32,
    /// Whether the matrix itself is read.
    direct: bool,
}

impl<A: Element, B: Element> OnVectors<A, B> {
    /// The rows are shared out evenly: 32 rows in tiles of up to 6 make tiles of 5 and 6, not five of 6 and a
    /// slow one of 2.
    fn new(kernels: Kernels, a: Operand<A>, b: Operand<B>, c: Output) -> Self {
        let tiles = a.rows.div_ceil(kernels.rows);
        Self { kernels, a, b, c, tiles, height: a.rows / tiles, more: a.rows % tiles }
    }

    /// How many panels side by side C is cut into.
    fn panels(&self) -> usize {
        self.b.cols.div_ceil(self.kernels.tile().1)
    }

    /// Words in a row of A, and in a column of B.
    fn words(&self) -> usize {
        self.a.cols.div_ceil(A::TERMS)
    }

    /// The first row of a tile.
    fn row(&self, tile: usize) -> usize {
        tile * self.height + tile.min(self.more)
    }

    /// Cuts C into rectangles and computes them.
    fn run(&self, threads: usize) {
        let whole = Rectangle { tiles: 0..self.tiles, panels: 0..self.panels() };
        let work = 2.0 * self.a.rows as f64 * self.b.cols as f64 * self.a.cols as f64;
        // ANCHOR: useful
        let useful = (work / PART) as usize + 1;
        // ANCHOR_END: useful
        team::each(&whole.cut(threads.min(useful), self.kernels.tile()), |part| {
            workspace::with(|space| self.rectangle(part, space));
        });
    }

    /// Computes one rectangle of C: a block of B is packed, then for one block of A after the other, that is
    /// packed and the two are multiplied.
    fn rectangle(&self, part: &Rectangle, space: &mut Workspace) {
        let (mc, nc) = (ROWS / self.kernels.tile().0, COLS / self.kernels.tile().1);
        let k = self.words();
        let depth = depth(k);
        for left in part.panels.clone().step_by(nc) {
            let panels = left..(left + nc).min(part.panels.end);
            for start in (0..k.max(1)).step_by(depth) {
                let terms = start..(start + depth).min(k);
                let b = self.block_b(&mut space.b, part, &panels, &terms);
                for top in part.tiles.clone().step_by(mc) {
                    let tiles = top..(top + mc).min(part.tiles.end);
                    let a = self.block_a(&mut space.a, part, &tiles, &terms);
                    self.multiply(a, b, &tiles, &panels, &terms);
                }
            }
        }
    }

    /// Multiplies a block of A by a block of B: a panel of B stays in the first-level cache while all tiles of A
    /// pass by.
    fn multiply(
        &self,
        a: Block,
        b: Block,
        tiles: &Range<usize>,
        panels: &Range<usize>,
        terms: &Range<usize>,
    ) {
        let (lanes, side) = (self.kernels.lanes, self.kernels.tile().1);
        let across = a.direct && self.a.row_stride != 1;
        let last = terms.end == self.words();
        let first_row = self.row(tiles.start);
        let mut scratch = Scratch([0.0; 14 * 32]);
        for panel in panels.clone() {
            let col = panel * side;
            let width = (self.b.cols - col).min(side);
            let vectors = width.div_ceil(lanes);
            let whole = width == vectors * lanes;
            let (b_at, b_stride) = if b.direct {
                (b.at.wrapping_add((panel - panels.start) * side), self.b.row_stride)
            } else {
                (b.at.wrapping_add((panel - panels.start) * side * terms.len()), vectors * lanes)
            };
            for tile in tiles.clone() {
                let row = self.row(tile);
                let rows = self.row(tile + 1) - row;
                let (a_at, a_stride) = match (a.direct, across) {
                    (false, _) => ((row - first_row) * terms.len(), rows),
                    (true, false) => (row - first_row, self.a.col_stride),
                    (true, true) => ((row - first_row) * self.a.row_stride, self.a.row_stride),
                };
                let t = Tile {
                    k: terms.len(),
                    a: a.at.wrapping_add(a_at),
                    a_stride,
                    b: b_at,
                    b_stride,
                    c: self.c.at.wrapping_add(row * self.c.row_stride + col * self.c.col_stride),
                    c_stride: self.c.row_stride,
                    add: self.c.accumulate || terms.start > 0,
                    bias: if last && !self.c.bias.is_null() {
                        self.c.bias.wrapping_add(col)
                    } else {
                        std::ptr::null()
                    },
                    relu: last && self.c.relu,
                };
                let run = self.kernels.get(rows, vectors, across);
                let fits = whole && self.c.col_stride == 1;
                // SAFETY: the level is available, the blocks hold what they say, and the tile lies inside C, in the
                // rectangle that this thread owns.
                unsafe {
                    if fits && (t.bias.is_null() || !self.c.bias_down) {
                        run(&t);
                    } else {
                        let (rows, cols) = (row..row + rows, col..col + width);
                        let c_stride = vectors * lanes;
                        run(&t.into_scratch(scratch.0.as_mut_ptr(), c_stride));
                        self.c.finish(&scratch.0, c_stride, rows, cols, t.add, last);
                    }
                }
            }
        }
    }

    /// Tiles of A, packed one after the other; or A itself where that is as good.
    fn block_a(
        &self,
        buffer: &mut Buffer,
        part: &Rectangle,
        tiles: &Range<usize>,
        terms: &Range<usize>,
    ) -> Block {
        let first = self.row(tiles.start);
        let term = terms.start * A::TERMS;
        let from = self.a.at.wrapping_add(first * self.a.row_stride + term * self.a.col_stride);
        let near = match (self.a.row_stride, self.a.col_stride) {
            (1, step) => terms.len() <= lines_that_stay(step),
            (_, step) => step == 1,
        };
        if A::PLAIN && near && part.panels.len() <= FEW_PANELS {
            return Block { at: from.cast(), direct: true };
        }
        let lines = Lines {
            from,
            count: self.row(tiles.end) - first,
            terms: (terms.len() * A::TERMS).min(self.a.cols - term),
            stride: self.a.row_stride,
            step: self.a.col_stride,
        };
        let to: *mut f32 = buffer.at_least(4 * (lines.count * lines.k() + SLACK)).cast();
        let more = self.more.saturating_sub(tiles.start);
        // SAFETY: the rows and terms are inside A, and the buffer was sized for all tiles.
        unsafe {
            pack(self.kernels.packing, to, lines, Cut { height: self.height, more, round: 1 });
        }
        Block { at: to, direct: false }
    }

    /// Panels of B, packed one after the other; or B itself where that is as good.
    fn block_b(
        &self,
        buffer: &mut Buffer,
        part: &Rectangle,
        panels: &Range<usize>,
        terms: &Range<usize>,
    ) -> Block {
        let (lanes, side) = (self.kernels.lanes, self.kernels.tile().1);
        let term = terms.start * B::TERMS;
        let first = panels.start * side;
        let end = (panels.end * side).min(self.b.cols);
        let whole = (end - first).is_multiple_of(lanes);
        let direct = B::PLAIN && whole && self.b.col_stride == 1 && part.tiles.len() <= FEW_TILES;
        let from = self.b.at.wrapping_add(term * self.b.row_stride + first * self.b.col_stride);
        if direct {
            return Block { at: from.cast(), direct };
        }
        let lines = Lines {
            from,
            count: end - first,
            terms: (terms.len() * B::TERMS).min(self.b.rows - term),
            stride: self.b.col_stride,
            step: self.b.row_stride,
        };
        let to: *mut f32 = buffer.at_least(4 * (panels.len() * side * lines.k() + SLACK)).cast();
        // SAFETY: the columns and terms are inside B, and the buffer was sized for all panels.
        unsafe {
            pack(self.kernels.packing, to, lines, Cut { height: side, more: 0, round: lanes });
        }
        Block { at: to, direct }
    }
}

/// A tile that is not part of C.
#[repr(C, align(64))]
struct Scratch([f32; 14 * 32]);
