//! The product on AMX tiles: rung 7 for matrices of any strides, in f32 or bf16, whose tiles are packed straight from where
//! they lie.

use crate::{
    amx::{self, BLOCK, TERMS},
    bf16::Input,
    parallel::Rectangle,
    product::{
        operand::{Operand, Output},
        team,
        workspace::{self, Buffer, Workspace},
    },
    registers::array,
    tiles::{SIDE, Tiles, WORDS},
};
use std::ops::Range;

/// The most terms in one pass over C: 32 columns of B are then 64 KiB, read from the second-level cache.
const DEPTH: usize = 1024;
/// Blocks of A (of 32 rows) that stay in the second-level cache: 512 KiB of its 2 MiB.
const DOWN: usize = 8;
/// Panels of B (of 32 columns) next to them: 1 MiB.
const ACROSS: usize = 16;
/// Blocks of A that are packed at once, into the third-level cache: 16 MiB.
const PACKED: usize = 256;

/// Where a block of C lies.
struct Place {
    at: *mut f32,
    /// Values from one row to the next.
    stride: usize,
    /// Whether the sums start from what is there.
    add: bool,
    /// The block that comes next.
    next: *const f32,
}

/// Computes a block of 32×32 of C from packed tiles.
///
/// # Safety
/// `a` and `b` hold `steps` pairs of tiles, and the place is that of a block.
#[inline(always)]
unsafe fn block<T: Tiles>(t: &mut T, steps: usize, a: *const u32, b: *const u32, c: &Place) {
    // SAFETY: the caller's.
    unsafe {
        if c.add {
            amx::load(t, c.at, c.stride);
        } else {
            t.zero::<0>();
            t.zero::<1>();
            t.zero::<2>();
            t.zero::<3>();
        }
        amx::add_product(t, steps, a, b, c.next, c.stride);
        amx::store(t, c.at, c.stride);
    }
}

/// Lines of a matrix (rows of A, or columns of B) that go into one tile.
#[derive(Clone, Copy)]
struct Strip<T> {
    from: *const T,
    /// Lines that there are, up to 16.
    count: usize,
    /// Terms that there are, up to 32.
    terms: usize,
    /// From one line to the next.
    stride: usize,
    /// From one term to the next.
    step: usize,
}

impl<T: Input> Strip<T> {
    /// The bf16 of a line's term, zero where there is none.
    #[inline(always)]
    fn bits(&self, line: usize, term: usize) -> u32 {
        if line < self.count && term < self.terms {
            // SAFETY: the line and the term are there.
            u32::from(unsafe { *self.from.add(line * self.stride + term * self.step) }.bits())
        } else {
            0
        }
    }

    /// The words of a tile: two terms each, `words[line][q]` or, with `down`, `words[q][line]`.
    #[inline(always)]
    fn words(&self, down: bool) -> [[u32; SIDE]; SIDE] {
        let word = |line, q| self.bits(line, 2 * q) | self.bits(line, 2 * q + 1) << 16;
        let full = self.count == SIDE && self.terms == TERMS;
        // Read in the order of memory, with whole lines where there are: this is vector code.
        let read_down = self.stride == 1;
        let words: [[u32; SIDE]; SIDE] = match (full, read_down) {
            (true, true) => self.read_down(),
            (true, false) if self.step == 1 => self.read_across(),
            (_, true) => array(|q| array(|line| word(line, q))),
            (_, false) => array(|line| array(|q| word(line, q))),
        };
        if read_down == down { words } else { array(|i| array(|j| words[j][i])) }
    }

    /// [`Strip::words`] for full tiles whose lines are adjacent.
    #[inline(always)]
    fn read_down(&self) -> [[u32; SIDE]; SIDE] {
        array(|q| {
            // SAFETY: the tile is full.
            let (even, odd) = unsafe {
                let even = self.from.add(2 * q * self.step);
                (
                    even.cast::<[T; SIDE]>().read_unaligned(),
                    even.add(self.step).cast::<[T; SIDE]>().read_unaligned(),
                )
            };
            array(|line| u32::from(even[line].bits()) | u32::from(odd[line].bits()) << 16)
        })
    }

    /// [`Strip::words`] for full tiles whose terms are adjacent.
    #[inline(always)]
    fn read_across(&self) -> [[u32; SIDE]; SIDE] {
        array(|line| {
            // SAFETY: the tile is full.
            let terms =
                unsafe { self.from.add(line * self.stride).cast::<[T; TERMS]>().read_unaligned() };
            array(|q| u32::from(terms[2 * q].bits()) | u32::from(terms[2 * q + 1].bits()) << 16)
        })
    }
}

/// A matrix whose lines are packed into tiles; for B the lines are its columns.
#[derive(Clone, Copy)]
struct Side<T> {
    at: *const T,
    lines: usize,
    stride: usize,
    step: usize,
    /// B's tiles hold words of a line one below the other.
    down: bool,
}

impl<T: Input> Side<T> {
    /// Packs 32 lines and the given terms: for each 32 terms two tiles. What is not there is zero.
    #[inline(always)]
    unsafe fn pack_panel(&self, mut to: *mut u32, line: usize, terms: Range<usize>) {
        for term in terms.clone().step_by(TERMS) {
            for first in [line, line + SIDE] {
                let strip = Strip {
                    from: self.at.wrapping_add(first * self.stride + term * self.step),
                    count: self.lines.saturating_sub(first).min(SIDE),
                    terms: (terms.end - term).min(TERMS),
                    stride: self.stride,
                    step: self.step,
                };
                // SAFETY: the caller made room for two tiles for each 32 terms.
                unsafe {
                    to.cast::<[[u32; SIDE]; SIDE]>().write(strip.words(self.down));
                    to = to.add(WORDS);
                }
            }
        }
    }

    /// [`Side::pack_panel`] in the vectors of a CPU with AMX.
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq")]
    unsafe fn pack_panel_avx512(&self, to: *mut u32, line: usize, terms: Range<usize>) {
        // SAFETY: the caller's.
        unsafe { self.pack_panel(to, line, terms) }
    }

    /// Packs panels of 32 lines each, one after the other.
    fn pack(&self, buffer: &mut Buffer, panels: Range<usize>, terms: Range<usize>) -> *const u32 {
        let size = steps(terms.len()) * 2 * WORDS;
        let to: *mut u32 = buffer.at_least(4 * panels.len() * size).cast();
        for (place, panel) in panels.enumerate() {
            let (to, line) = (to.wrapping_add(place * size), panel * BLOCK);
            #[cfg(target_arch = "x86_64")]
            if is_x86_feature_detected!("avx512bw")
                && is_x86_feature_detected!("avx512vl")
                && is_x86_feature_detected!("avx512dq")
            {
                // SAFETY: the features are there, and the buffer was sized for all panels.
                unsafe { self.pack_panel_avx512(to, line, terms.clone()) };
                continue;
            }
            // SAFETY: the buffer was sized for all panels.
            unsafe { self.pack_panel(to, line, terms.clone()) };
        }
        to
    }
}

/// Multiplications of tiles that `terms` terms take.
fn steps(terms: usize) -> usize {
    terms.div_ceil(TERMS)
}

/// A product on tiles that is ready to be computed, rectangle by rectangle.
#[derive(Clone, Copy)]
struct OnTiles<A, B> {
    a: Side<A>,
    b: Side<B>,
    c: Output,
    k: usize,
}

// SAFETY: a job represents a shared borrow of A and B and an exclusive one of C, whose rectangles are each
// given to one thread.
unsafe impl<A: Sync, B: Sync> Sync for OnTiles<A, B> {}

/// C = A·B (or C + A·B) on tiles, for shapes that were checked.
pub(crate) fn product<T: Tiles, A: Input, B: Input>(
    a: Operand<A>,
    b: Operand<B>,
    c: Output,
    threads: usize,
) {
    if c.col_stride != 1 && c.row_stride == 1 {
        // Tiles are stored row by row: where the columns of C are adjacent instead, compute Cᵀ = Bᵀ·Aᵀ.
        OnTiles::new(b.t(), a.t(), c.t()).run::<T>(threads);
    } else {
        OnTiles::new(a, b, c).run::<T>(threads);
    }
}

impl<A: Input, B: Input> OnTiles<A, B> {
    fn new(a: Operand<A>, b: Operand<B>, c: Output) -> Self {
        Self {
            a: Side {
                at: a.at,
                lines: a.rows,
                stride: a.row_stride,
                step: a.col_stride,
                down: false,
            },
            b: Side {
                at: b.at,
                lines: b.cols,
                stride: b.col_stride,
                step: b.row_stride,
                down: true,
            },
            c,
            k: a.cols,
        }
    }

    /// Cuts C into rectangles of blocks and computes them.
    fn run<T: Tiles>(&self, threads: usize) {
        let whole = Rectangle {
            tiles: 0..self.a.lines.div_ceil(BLOCK),
            panels: 0..self.b.lines.div_ceil(BLOCK),
        };
        // A block with 32 terms for each of its sums takes 64 cycles: a thread should get thousands.
        let useful = whole.tiles.len() * whole.panels.len() * steps(self.k) / 128 + 1;
        team::each(&whole.cut(threads.min(useful), (1, 1)), |part| {
            workspace::with(|space| self.rectangle::<T>(part, space));
        });
    }

    /// Computes one rectangle of C. For each stretch of the sums: pack A once; then for each group of panels of
    /// B that fits into the second-level cache, pack it and pass over C.
    fn rectangle<T: Tiles>(&self, part: &Rectangle, space: &mut Workspace) {
        let mut tiles = T::start();
        let passes = self.k.div_ceil(DEPTH).max(1);
        let depth = steps(self.k.div_ceil(passes)).max(1) * TERMS;
        for top in part.tiles.clone().step_by(PACKED) {
            let rows = top..(top + PACKED).min(part.tiles.end);
            for start in (0..self.k.max(1)).step_by(depth) {
                let terms = start..(start + depth).min(self.k);
                let a = self.a.pack(&mut space.a, rows.clone(), terms.clone());
                for left in part.panels.clone().step_by(ACROSS) {
                    let panels = left..(left + ACROSS).min(part.panels.end);
                    let b = self.b.pack(&mut space.b, panels.clone(), terms.clone());
                    for first in rows.clone().step_by(DOWN) {
                        let group = first..(first + DOWN).min(rows.end);
                        let a = a.wrapping_add((first - top) * steps(terms.len()) * 2 * WORDS);
                        self.blocks(&mut tiles, (a, group), (b, panels.clone()), &terms);
                    }
                }
            }
        }
    }

    /// Computes the blocks of a group of rows and a group of panels that are packed.
    fn blocks<T: Tiles>(
        &self,
        tiles: &mut T,
        (a, rows): (*const u32, Range<usize>),
        (b, panels): (*const u32, Range<usize>),
        terms: &Range<usize>,
    ) {
        let steps = steps(terms.len());
        let size = steps * 2 * WORDS;
        let last = terms.end == self.k;
        let plain = self.c.col_stride == 1 && !(last && (self.c.relu || !self.c.bias.is_null()));
        for (panel, col) in panels.enumerate() {
            let col = col * BLOCK;
            for (tile, row) in rows.clone().enumerate() {
                let row = row * BLOCK;
                let at = self.c.at.wrapping_add(row * self.c.row_stride + col * self.c.col_stride);
                let full = row + BLOCK <= self.a.lines && col + BLOCK <= self.b.lines;
                let add = self.c.accumulate || terms.start > 0;
                let (a, b) = (a.wrapping_add(tile * size), b.wrapping_add(panel * size));
                if full && plain {
                    let next = at.wrapping_add(BLOCK * self.c.row_stride);
                    let place = Place { at, stride: self.c.row_stride, add, next };
                    // SAFETY: the block lies inside C, which this rectangle owns.
                    unsafe { block(tiles, steps, a, b, &place) };
                } else {
                    let mut sums = [[0.0_f32; BLOCK]; BLOCK];
                    let c = sums.as_mut_ptr().cast();
                    let place = Place { at: c, stride: BLOCK, add: false, next: at };
                    // SAFETY: the sums have room for a block; the rows and columns that C has lie inside it.
                    unsafe {
                        block(tiles, steps, a, b, &place);
                        let rows = row..(row + BLOCK).min(self.a.lines);
                        let cols = col..(col + BLOCK).min(self.b.lines);
                        self.c.finish(sums.as_flattened(), BLOCK, rows, cols, add, last);
                    }
                }
            }
        }
    }
}
