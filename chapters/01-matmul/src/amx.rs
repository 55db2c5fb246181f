//! Rung 7: AMX, the matrix unit of newer Intel CPUs. Eight registers hold a tile of 16 rows of 64 bytes each, and
//! one instruction multiplies two tiles of bf16 and adds the product to a tile of f32: 16,384 operations.
//!
//! The algorithm is written against a trait, `Tiles`. `Hardware` are the instructions themselves, by
//! inline assembly; `Model` does in plain Rust what Intel's manual says that they do, so that packing,
//! edges and sums are tested on any machine.

#![allow(
    clippy::inline_always,
    reason = "what a kernel calls must be compiled for the kernel's CPU"
)]

use crate::{
    Input,
    gemm::{Operand, Output},
    parallel::{self, Rectangle},
    workspace::{self, Buffer, Workspace},
};
use std::ops::Range;

/// Rows of a tile, and 32-bit words in a row.
const SIDE: usize = 16;
/// Rows and columns of C that a block computes: two tiles by two.
const BLOCK: usize = 2 * SIDE;
/// Terms that one instruction adds to a sum: 16 words of two bf16.
const TERMS: usize = 2 * SIDE;
/// 32-bit words in a tile.
const WORDS: usize = SIDE * SIDE;

/// The most terms in one pass over C: 32 columns of B are then 64 KiB, read from the second-level cache.
const DEPTH: usize = 1024;
/// Blocks of A (of 32 rows) that stay in the second-level cache: 512 KiB of its 2 MiB.
const DOWN: usize = 8;
/// Panels of B (of 32 columns) beside them: 1 MiB.
const ACROSS: usize = 16;
/// Blocks of A that are packed at once, into the third-level cache: 16 MiB.
const PACKED: usize = 256;

/// The tile instructions. Tiles 0 to 3 hold f32, 4 to 7 hold bf16.
///
/// # Safety
/// An implementation does what the instructions do: 16 rows of 64 bytes each, `stride` bytes apart.
// ANCHOR: tiles
pub(crate) unsafe trait Tiles {
    /// Configures the tiles of the calling thread: 16 rows of 64 bytes each.
    fn start() -> Self;
    /// Makes tile `T` zero (`tilezero`).
    fn zero<const T: usize>(&mut self);
    /// Reads tile `T` (`tileloadd`).
    unsafe fn load<const T: usize>(&mut self, from: *const u32, stride: usize);
    /// Writes tile `T` (`tilestored`).
    unsafe fn store<const T: usize>(&self, to: *mut u32, stride: usize);
    /// Tile `C` += tile `A` · tile `B` (`tdpbf16ps`). A word of A holds two
    /// terms of a row, a word of B the same two terms of a column.
    fn multiply<const C: usize, const A: usize, const B: usize>(&mut self);
}
// ANCHOR_END: tiles

/// Computes a block of 32×32 of C from packed tiles: four sums, two tiles of A, two of B. Meanwhile it asks
/// for the block of C that comes next.
///
/// # Safety
/// `a` and `b` hold `steps` pairs of tiles, `c` is a block with `stride` values from row to row.
// ANCHOR: block
#[inline(always)]
unsafe fn block<T: Tiles>(
    t: &mut T,
    steps: usize,
    mut a: *const u32,
    mut b: *const u32,
    c: &Place,
) {
    // SAFETY: the caller vouches for the memory.
    unsafe {
        c.start(t);
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
            c.prefetch(step);
            a = a.add(2 * WORDS);
            b = b.add(2 * WORDS);
        }
        // ANCHOR_END: steps
        c.end(t);
    }
}
// ANCHOR_END: block

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

impl Place {
    /// Four tiles of C, or of zeros.
    #[inline(always)]
    unsafe fn start<T: Tiles>(&self, t: &mut T) {
        if self.add {
            let (c, stride) = (self.at.cast::<u32>().cast_const(), 4 * self.stride);
            let below = c.wrapping_add(SIDE * self.stride);
            // SAFETY: the caller vouches for a block of 32×32.
            unsafe {
                t.load::<0>(c, stride);
                t.load::<1>(c.wrapping_add(SIDE), stride);
                t.load::<2>(below, stride);
                t.load::<3>(below.wrapping_add(SIDE), stride);
            }
        } else {
            t.zero::<0>();
            t.zero::<1>();
            t.zero::<2>();
            t.zero::<3>();
        }
    }

    /// Writes the four tiles.
    #[inline(always)]
    unsafe fn end<T: Tiles>(&self, t: &T) {
        let (c, stride) = (self.at.cast::<u32>(), 4 * self.stride);
        let below = c.wrapping_add(SIDE * self.stride);
        // SAFETY: the caller vouches for a block of 32×32.
        unsafe {
            t.store::<0>(c, stride);
            t.store::<1>(c.wrapping_add(SIDE), stride);
            t.store::<2>(below, stride);
            t.store::<3>(below.wrapping_add(SIDE), stride);
        }
    }

    /// Asks for a row of the next block of C: 128 bytes.
    #[inline(always)]
    fn prefetch(&self, step: usize) {
        #[cfg(target_arch = "x86_64")]
        if step < BLOCK {
            use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
            let row = self.next.wrapping_add(step * self.stride);
            // SAFETY: a prefetch reads nothing that the program sees and never faults.
            unsafe {
                _mm_prefetch::<_MM_HINT_T0>(row.cast());
                _mm_prefetch::<_MM_HINT_T0>(row.wrapping_add(SIDE).cast());
            }
        }
        #[cfg(not(target_arch = "x86_64"))]
        let _ = (step, self.next);
    }
}

/// The instructions of this CPU. Make it only where [`available`] says so.
#[cfg(target_arch = "x86_64")]
#[derive(Debug)]
pub(crate) struct Hardware(());

#[cfg(target_arch = "x86_64")]
mod hardware {
    use super::{Hardware, SIDE, Tiles};
    use std::arch::{asm, x86_64::__cpuid_count};

    /// What `ldtilecfg` reads (Intel, *Architectures Software Developer's Manual*, volume 2, LDTILECFG).
    #[repr(C, align(64))]
    struct Config {
        palette: u8,
        start_row: u8,
        reserved: [u8; 14],
        bytes_in_row: [u16; 16],
        rows: [u8; 16],
    }

    // SAFETY: these are the instructions that the trait describes.
    unsafe impl Tiles for Hardware {
        fn start() -> Self {
            let mut config = Config {
                palette: 1,
                start_row: 0,
                reserved: [0; 14],
                bytes_in_row: [0; 16],
                rows: [0; 16],
            };
            config.bytes_in_row[..8].fill(64);
            config.rows[..8].fill(SIDE as u8);
            // SAFETY: `available` was checked; the instruction reads 64 bytes.
            unsafe { asm!("ldtilecfg [{}]", in(reg) &raw const config, options(nostack, readonly)) }
            Self(())
        }

        #[inline(always)]
        fn zero<const T: usize>(&mut self) {
            // SAFETY: the tiles are configured; the compiler uses none of them.
            unsafe { asm!("tilezero tmm{t}", t = const T, options(nostack, nomem)) }
        }

        #[inline(always)]
        unsafe fn load<const T: usize>(&mut self, from: *const u32, stride: usize) {
            // SAFETY: the caller vouches for 16 rows of 64 bytes.
            unsafe {
                asm!("tileloadd tmm{t}, [{from} + {stride}]", t = const T,
                    from = in(reg) from, stride = in(reg) stride, options(nostack, readonly));
            }
        }

        #[inline(always)]
        fn multiply<const C: usize, const A: usize, const B: usize>(&mut self) {
            // ANCHOR: hardware
            // SAFETY: the tiles are configured; the compiler uses none of them.
            unsafe {
                asm!("tdpbf16ps tmm{c}, tmm{a}, tmm{b}",
                    c = const C, a = const A, b = const B,
                    options(nostack, nomem));
            }
            // ANCHOR_END: hardware
        }

        #[inline(always)]
        unsafe fn store<const T: usize>(&self, to: *mut u32, stride: usize) {
            // SAFETY: the caller vouches for 16 rows of 64 bytes.
            unsafe {
                asm!("tilestored [{to} + {stride}], tmm{t}", t = const T,
                    to = in(reg) to, stride = in(reg) stride, options(nostack));
            }
        }
    }

    impl Drop for Hardware {
        fn drop(&mut self) {
            // SAFETY: gives the tiles back, so that the system need not save them for this thread.
            unsafe { asm!("tilerelease", options(nostack, nomem)) }
        }
    }

    /// Asks the CPU whether it has the instructions, and Linux to let this process use them.
    pub(super) fn ask() -> bool {
        // CPUID leaf 7, EDX: bit 22 is AMX-BF16, bit 24 is AMX-TILE; leaf 1, ECX: bit 27 says that the
        // system manages extended states, XCR0 bits 17 and 18 that the tiles are among them.
        let (one, seven) = (__cpuid_count(1, 0), __cpuid_count(7, 0));
        if seven.edx >> 22 & 0b101 != 0b101 || one.ecx >> 27 & 1 == 0 {
            return false;
        }
        let states: u32;
        // SAFETY: OSXSAVE was checked.
        unsafe {
            asm!("xgetbv", in("ecx") 0, out("eax") states, out("edx") _, options(nostack, nomem));
        }
        states >> 17 & 0b11 == 0b11 && permitted()
    }

    /// `arch_prctl(ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA)`: Linux lends the tiles only to those who ask
    /// (kernel documentation, "Using XSTATE features in user space applications").
    #[cfg(target_os = "linux")]
    fn permitted() -> bool {
        let result: i64;
        // SAFETY: a system call that changes only this process's permissions.
        unsafe {
            asm!("syscall", inlateout("rax") 158_i64 => result, in("rdi") 0x1023_u64,
                in("rsi") 18_u64, out("rcx") _, out("r11") _, options(nostack));
        }
        result == 0
    }

    #[cfg(not(target_os = "linux"))]
    fn permitted() -> bool {
        false
    }
}

/// Whether this CPU and its operating system let this process use AMX tiles with bf16.
pub fn available() -> bool {
    #[cfg(target_arch = "x86_64")]
    {
        static ANSWER: std::sync::OnceLock<bool> = std::sync::OnceLock::new();
        *ANSWER.get_or_init(hardware::ask)
    }
    #[cfg(not(target_arch = "x86_64"))]
    false
}

/// What the instructions do, in plain Rust, after the manual's description of each (volume 2): `tdpbf16ps`
/// adds the even terms and the odd terms of each sum apart, each with one rounding for a multiplication and
/// an addition, then both to the old value; denormal numbers count as zero, going in and coming out.
#[derive(Clone, Debug)]
pub(crate) struct Model([[[u32; SIDE]; SIDE]; 8]);

/// Denormal numbers count as zero.
fn flush(x: f32) -> f32 {
    if x.is_subnormal() { 0.0_f32.copysign(x) } else { x }
}

/// x·y + sum with one rounding. The product of two bf16 is exact in f32 (8 by 8 digits), so that adding it is
/// the one rounding; only where it over- or underflows is the slow `mul_add` needed.
fn fused(x: f32, y: f32, sum: f32) -> f32 {
    let product = x * y;
    let exact = product.is_normal() || x == 0.0 || y == 0.0;
    if exact { sum + product } else { x.mul_add(y, sum) }
}

// SAFETY: plain Rust that reads and writes 16 rows of 64 bytes.
unsafe impl Tiles for Model {
    fn start() -> Self {
        Self([[[0; SIDE]; SIDE]; 8])
    }

    fn zero<const T: usize>(&mut self) {
        self.0[T] = [[0; SIDE]; SIDE];
    }

    unsafe fn load<const T: usize>(&mut self, from: *const u32, stride: usize) {
        for (i, row) in self.0[T].iter_mut().enumerate() {
            // SAFETY: the caller vouches for 16 rows of 64 bytes.
            *row = unsafe { from.byte_add(i * stride).cast::<[u32; SIDE]>().read_unaligned() };
        }
    }

    unsafe fn store<const T: usize>(&self, to: *mut u32, stride: usize) {
        for (i, row) in self.0[T].iter().enumerate() {
            // SAFETY: the caller vouches for 16 rows of 64 bytes.
            unsafe { to.byte_add(i * stride).cast::<[u32; SIDE]>().write_unaligned(*row) }
        }
    }

    // ANCHOR: model
    fn multiply<const C: usize, const A: usize, const B: usize>(&mut self) {
        let even = |word: u32| flush(f32::from_bits(word << 16));
        let odd = |word: u32| flush(f32::from_bits(word & 0xffff_0000));
        for i in 0..SIDE {
            for j in 0..SIDE {
                let (mut evens, mut odds) = (0.0_f32, 0.0_f32);
                for q in 0..SIDE {
                    let (x, y) = (self.0[A][i][q], self.0[B][q][j]);
                    evens = flush(fused(even(x), even(y), evens));
                    odds = flush(fused(odd(x), odd(y), odds));
                }
                let old = flush(f32::from_bits(self.0[C][i][j]));
                self.0[C][i][j] = flush(old + flush(evens + odds)).to_bits();
            }
        }
    }
    // ANCHOR_END: model
}

/// Lines of a matrix (rows of A, or columns of B) that go into one tile.
#[derive(Clone, Copy)]
struct Lines<T> {
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

impl<T: Input> Lines<T> {
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
            (true, true) => Self { stride: 1, count: SIDE, terms: TERMS, ..*self }.read_down(),
            (true, false) if self.step == 1 => {
                Self { step: 1, count: SIDE, terms: TERMS, ..*self }.read_across()
            }
            (_, true) => std::array::from_fn(|q| std::array::from_fn(|line| word(line, q))),
            (_, false) => std::array::from_fn(|line| std::array::from_fn(|q| word(line, q))),
        };
        if read_down == down {
            words
        } else {
            std::array::from_fn(|i| std::array::from_fn(|j| words[j][i]))
        }
    }

    /// [`Lines::words`] for full tiles whose lines are adjacent.
    #[inline(always)]
    fn read_down(&self) -> [[u32; SIDE]; SIDE] {
        std::array::from_fn(|q| {
            // SAFETY: the tile is full.
            let (even, odd) = unsafe {
                let even = self.from.add(2 * q * self.step);
                (
                    even.cast::<[T; SIDE]>().read_unaligned(),
                    even.add(self.step).cast::<[T; SIDE]>().read_unaligned(),
                )
            };
            std::array::from_fn(|line| {
                u32::from(even[line].bits()) | u32::from(odd[line].bits()) << 16
            })
        })
    }

    /// [`Lines::words`] for full tiles whose terms are adjacent.
    #[inline(always)]
    fn read_across(&self) -> [[u32; SIDE]; SIDE] {
        std::array::from_fn(|line| {
            // SAFETY: the tile is full.
            let terms =
                unsafe { self.from.add(line * self.stride).cast::<[T; TERMS]>().read_unaligned() };
            std::array::from_fn(|q| {
                u32::from(terms[2 * q].bits()) | u32::from(terms[2 * q + 1].bits()) << 16
            })
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
                let lines = Lines {
                    from: self.at.wrapping_add(first * self.stride + term * self.step),
                    count: self.lines.saturating_sub(first).min(SIDE),
                    terms: (terms.end - term).min(TERMS),
                    stride: self.stride,
                    step: self.step,
                };
                // SAFETY: the caller made room for two tiles for each 32 terms.
                unsafe {
                    to.cast::<[[u32; SIDE]; SIDE]>().write(lines.words(self.down));
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
struct Job<A, B> {
    a: Side<A>,
    b: Side<B>,
    c: Output,
    k: usize,
}

// SAFETY: a job stands for a shared borrow of A and B and an exclusive one of C, whose rectangles are each
// given to one thread.
unsafe impl<A: Sync, B: Sync> Sync for Job<A, B> {}

/// C = A·B (or C + A·B) on tiles, for shapes that were checked.
pub(crate) fn product<T: Tiles, A: Input, B: Input>(
    a: Operand<A>,
    b: Operand<B>,
    c: Output,
    threads: usize,
) {
    if c.col_stride != 1 && c.row_stride == 1 {
        // Tiles are stored row by row: where the columns of C are adjacent instead, compute Cᵀ = Bᵀ·Aᵀ.
        Job::new(b.t(), a.t(), c.t()).run::<T>(threads);
    } else {
        Job::new(a, b, c).run::<T>(threads);
    }
}

impl<A: Input, B: Input> Job<A, B> {
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
        parallel::each(&whole.cut(threads.min(useful), (1, 1)), |part| {
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
