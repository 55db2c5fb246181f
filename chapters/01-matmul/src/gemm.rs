//! The product that later chapters call: either operand transposed, added to C or not, with bias and `ReLU` at
//! the end, on one thread or many, in f32 or with bf16 inputs.

#![allow(
    clippy::inline_always,
    reason = "what a kernel calls must be compiled for the kernel's CPU"
)]

use crate::{
    Error, Input, MatMut, MatRef, Result, Shape, amx,
    pack::{Cut, Element, Lines, Rounded, SLACK, pack},
    parallel::{self, Rectangle},
    simd::{Level, Tile},
    workspace::{self, Buffer, Workspace},
};
use std::ops::Range;

/// Operations that make a thread worth its while: about 10 µs of work.
const PART: f64 = 1e6;
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

/// What happens to each element of C at the end, while it is still in a register.
#[derive(Clone, Copy, Debug, Default)]
pub enum Epilogue<'a> {
    /// Nothing.
    #[default]
    None,
    /// Adds element j of the bias to column j.
    Bias(&'a [f32]),
    /// Adds the bias, then replaces what is below zero by zero. NaN stays NaN.
    BiasRelu(&'a [f32]),
}

/// How many threads share the work.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Threads {
    /// The calling thread alone.
    #[default]
    One,
    /// As many as the machine runs at once.
    All,
    /// This many (0 counts as 1).
    Count(usize),
}

impl Threads {
    fn count(self) -> usize {
        match self {
            Self::One => 1,
            Self::All => parallel::available(),
            Self::Count(count) => count.max(1),
        }
    }
}

/// How to multiply. The default overwrites C, on one thread, with nothing at the end.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options<'a> {
    /// Whether A·B is added to what C holds; if not, C is overwritten and may hold anything before, NaN too.
    pub accumulate: bool,
    /// What happens at the end.
    pub epilogue: Epilogue<'a>,
    /// How many threads share the work. The result has the same bits for any number.
    pub threads: Threads,
}

/// Fails unless C can hold A·B.
pub(crate) fn check_shapes<A, B>(c: &MatMut<f32>, a: &MatRef<A>, b: &MatRef<B>) -> Result<()> {
    if a.cols() != b.rows() {
        return Err(Error::Inner {
            a_rows: a.rows(),
            a_cols: a.cols(),
            b_rows: b.rows(),
            b_cols: b.cols(),
        });
    }
    if (c.rows(), c.cols()) != (a.rows(), b.cols()) {
        return Err(Error::Output {
            rows: a.rows(),
            cols: b.cols(),
            c_rows: c.rows(),
            c_cols: c.cols(),
        });
    }
    Ok(())
}

/// Fails unless C can hold A·B and the bias fits.
fn check<A, B>(c: &MatMut<f32>, a: &MatRef<A>, b: &MatRef<B>, epilogue: Epilogue) -> Result<()> {
    check_shapes(c, a, b)?;
    match epilogue {
        Epilogue::Bias(bias) | Epilogue::BiasRelu(bias) if bias.len() != c.cols() => {
            Err(Error::Bias { bias: bias.len(), cols: c.cols() })
        }
        _ => Ok(()),
    }
}

/// What multiplies numbers that are rounded to bf16.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// The f32 kernels, with inputs that are rounded while they are packed.
    Vectors(Level),
    /// AMX tiles.
    Tiles,
    /// A model of AMX tiles in plain Rust: for tests, and very slow.
    Model,
}

impl Unit {
    /// The fastest that this CPU has.
    pub fn best() -> Self {
        if amx::available() { Self::Tiles } else { Self::Vectors(Level::best()) }
    }

    /// Whether this CPU has it.
    pub fn available(self) -> bool {
        match self {
            Self::Vectors(level) => level.available(),
            Self::Tiles => amx::available(),
            Self::Model => true,
        }
    }

    /// A short name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Vectors(level) => level.name(),
            Self::Tiles => "amx",
            Self::Model => "amx model",
        }
    }
}

/// C = A·B (or C + A·B) in f32, with the epilogue at the end. A is m×k, B is k×n, C is m×n; any of them may be
/// transposed or strided. With k = 0, A·B is zero.
///
/// # Errors
/// [`Error::Inner`], [`Error::Output`] or [`Error::Bias`] when the shapes do not fit.
///
/// ```
/// use matmul::{Epilogue, MatMut, MatRef, Options, sgemm};
/// let (a, b) = ([1.0, 2.0], [3.0, 4.0, -5.0, -6.0]);
/// let mut c = [f32::NAN; 2];
/// let options = Options { epilogue: Epilogue::BiasRelu(&[0.5, 8.5]), ..Options::default() };
/// sgemm(MatMut::new(&mut c, 1, 2)?, MatRef::new(&a, 1, 2)?, MatRef::new(&b, 2, 2)?, options)?;
/// assert_eq!(c, [0.0, 0.5]); // (3 - 10) + 0.5, and (4 - 12) + 8.5
/// # Ok::<(), matmul::Error>(())
/// ```
pub fn sgemm(c: MatMut<f32>, a: MatRef<f32>, b: MatRef<f32>, options: Options) -> Result<()> {
    check(&c, &a, &b, options.epilogue)?;
    product(
        Level::best(),
        Output::new(c, &options),
        Operand::of(a),
        Operand::of(b),
        options.threads,
    );
    Ok(())
}

/// [`sgemm`] with the kernels of a given level.
///
/// # Errors
/// As [`sgemm`]; [`Error::Unavailable`] where this CPU does not have the level.
pub fn sgemm_on(
    level: Level,
    c: MatMut<f32>,
    a: MatRef<f32>,
    b: MatRef<f32>,
    options: Options,
) -> Result<()> {
    if !level.available() {
        return Err(Error::Unavailable(level.name()));
    }
    check(&c, &a, &b, options.epilogue)?;
    product(level, Output::new(c, &options), Operand::of(a), Operand::of(b), options.threads);
    Ok(())
}

/// C = A·B (or C + A·B) with the inputs rounded to bf16 and the sums in f32. The same options as [`sgemm`].
///
/// On a CPU with AMX the tiles do it; elsewhere the rounded inputs go through the f32 kernels. The tiles take
/// denormal numbers for zero and add the terms in another order, so the last bits differ.
///
/// # Errors
/// [`Error::Inner`], [`Error::Output`] or [`Error::Bias`] when the shapes do not fit.
pub fn bgemm<A: Input, B: Input>(
    c: MatMut<f32>,
    a: MatRef<A>,
    b: MatRef<B>,
    options: Options,
) -> Result<()> {
    bgemm_on(Unit::best(), c, a, b, options)
}

/// [`bgemm`] on a given unit.
///
/// # Errors
/// As [`bgemm`]; [`Error::Unavailable`] where this CPU does not have the unit.
pub fn bgemm_on<A: Input, B: Input>(
    unit: Unit,
    c: MatMut<f32>,
    a: MatRef<A>,
    b: MatRef<B>,
    options: Options,
) -> Result<()> {
    if !unit.available() {
        return Err(Error::Unavailable(unit.name()));
    }
    check(&c, &a, &b, options.epilogue)?;
    let c = Output::new(c, &options);
    match unit {
        Unit::Vectors(level) => {
            product(level, c, Operand::rounded(a), Operand::rounded(b), options.threads);
        }
        _ if a.rows() == 0 || b.cols() == 0 => {}
        #[cfg(target_arch = "x86_64")]
        Unit::Tiles => {
            let (a, b) = (Operand::of(a), Operand::of(b));
            amx::product::<amx::Hardware, A, B>(a, b, c, options.threads.count());
        }
        _ => {
            let (a, b) = (Operand::of(a), Operand::of(b));
            amx::product::<amx::Model, A, B>(a, b, c, options.threads.count());
        }
    }
    Ok(())
}

/// C = A·B for row-major slices, on up to `threads` threads.
pub(crate) fn row_major(
    level: Level,
    c: &mut [f32],
    a: &[f32],
    b: &[f32],
    shape: Shape,
    threads: usize,
) {
    shape.check(c, a, b);
    let options = Options { threads: Threads::Count(threads), ..Options::default() };
    let c = MatMut::new(c, shape.m, shape.n).expect("the length was checked");
    let a = MatRef::new(a, shape.m, shape.k).expect("the length was checked");
    let b = MatRef::new(b, shape.k, shape.n).expect("the length was checked");
    product(level, Output::new(c, &options), Operand::of(a), Operand::of(b), options.threads);
}

/// A matrix that is read, as the kernels see it.
#[derive(Clone, Copy)]
pub(crate) struct Operand<T> {
    pub at: *const T,
    pub rows: usize,
    pub cols: usize,
    pub row_stride: usize,
    pub col_stride: usize,
}

impl<T> Operand<T> {
    #[allow(clippy::needless_pass_by_value, reason = "a view is two words and four numbers")]
    fn of(m: MatRef<T>) -> Self {
        Self {
            at: m.as_ptr(),
            rows: m.rows(),
            cols: m.cols(),
            row_stride: m.row_stride(),
            col_stride: m.col_stride(),
        }
    }

    pub fn t(self) -> Self {
        Self {
            at: self.at,
            rows: self.cols,
            cols: self.rows,
            row_stride: self.col_stride,
            col_stride: self.row_stride,
        }
    }
}

impl<T: Input> Operand<Rounded<T>> {
    fn rounded(m: MatRef<T>) -> Self {
        let Operand { at, rows, cols, row_stride, col_stride } = Operand::of(m);
        // `Rounded<T>` is a transparent wrapper of `T`.
        Self { at: at.cast(), rows, cols, row_stride, col_stride }
    }
}

/// The matrix that is written, and how.
#[derive(Clone, Copy)]
pub(crate) struct Output {
    pub at: *mut f32,
    pub row_stride: usize,
    pub col_stride: usize,
    pub accumulate: bool,
    /// Null for none.
    pub bias: *const f32,
    /// Whether the bias has a value for each row: the product was transposed.
    pub bias_down: bool,
    pub relu: bool,
}

impl Output {
    fn new(mut c: MatMut<f32>, options: &Options) -> Self {
        let (bias, relu) = match options.epilogue {
            Epilogue::None => (std::ptr::null(), false),
            Epilogue::Bias(bias) => (bias.as_ptr(), false),
            Epilogue::BiasRelu(bias) => (bias.as_ptr(), true),
        };
        Self {
            at: c.as_mut_ptr(),
            row_stride: c.row_stride(),
            col_stride: c.col_stride(),
            accumulate: options.accumulate,
            bias,
            bias_down: false,
            relu,
        }
    }

    /// Writes sums that a kernel left in memory of their own, for edges and for C with any strides: with `add`
    /// they are added to C, and in the `last` pass bias and `ReLU` follow.
    ///
    /// # Safety
    /// The rows and columns are inside C and belong to the caller; `sums` holds them, `side` values a row.
    #[inline(always)]
    pub unsafe fn finish(
        &self,
        sums: &[f32],
        side: usize,
        rows: Range<usize>,
        cols: Range<usize>,
        add: bool,
        last: bool,
    ) {
        let bias = last && !self.bias.is_null();
        let write = |i: usize, j: usize, col_stride: usize| {
            let at = (rows.start + i) * self.row_stride + (cols.start + j) * col_stride;
            // SAFETY: the caller vouches for C, and the bias has a value for each of its columns.
            unsafe {
                let c = self.at.add(at);
                let mut value = sums[i * side + j];
                if add {
                    value += *c;
                }
                if bias {
                    value += *self.bias.add(if self.bias_down {
                        rows.start + i
                    } else {
                        cols.start + j
                    });
                }
                *c = if last && self.relu && value < 0.0 { 0.0 } else { value };
            }
        };
        if self.col_stride == 1 {
            for i in 0..rows.len() {
                for j in 0..cols.len() {
                    write(i, j, 1);
                }
            }
        } else {
            for j in 0..cols.len() {
                for i in 0..rows.len() {
                    write(i, j, self.col_stride);
                }
            }
        }
    }

    pub fn t(self) -> Self {
        Self {
            row_stride: self.col_stride,
            col_stride: self.row_stride,
            bias_down: !self.bias_down,
            ..self
        }
    }
}

/// A product that is ready to be computed, rectangle by rectangle.
#[derive(Clone, Copy)]
struct Job<A, B> {
    level: Level,
    a: Operand<A>,
    b: Operand<B>,
    c: Output,
    /// Tiles one below the other.
    tiles: usize,
    /// Rows of a tile; the first `more` tiles have one more.
    height: usize,
    more: usize,
}

// SAFETY: a job stands for a shared borrow of A and B and an exclusive one of C, whose rectangles are each
// given to one thread.
unsafe impl<A: Sync, B: Sync> Sync for Job<A, B> {}

/// C = A·B for shapes that were checked.
fn product<A: Element, B: Element>(
    level: Level,
    c: Output,
    a: Operand<A>,
    b: Operand<B>,
    threads: Threads,
) {
    if a.rows == 0 || b.cols == 0 {
        return;
    }
    let threads = threads.count();
    // The kernels write rows: where the columns of C are adjacent instead, Cᵀ = Bᵀ·Aᵀ is the product to compute.
    if c.col_stride != 1 && c.row_stride == 1 {
        Job::new(level, b.t(), a.t(), c.t()).run(threads);
    } else {
        Job::new(level, a, b, c).run(threads);
    }
}

/// Terms of the sums that are added up before C is written. It depends on k alone, so that the sums have
/// the same bits however C is cut.
fn depth(k: usize) -> usize {
    let passes = k.div_ceil(DEPTH).max(1);
    k.div_ceil(passes).max(1)
}

/// How many cache lines stay in a first-level cache when they lie `step` values apart. In 32 KiB with 8 ways a
/// line has 64 places to choose from by its address; lines a power of two apart meet in few of them. A
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

impl<A: Element, B: Element> Job<A, B> {
    /// The rows are shared out evenly: 32 rows in tiles of up to 6 make tiles of 5 and 6, not five of 6 and a
    /// slow one of 2.
    fn new(level: Level, a: Operand<A>, b: Operand<B>, c: Output) -> Self {
        let tiles = a.rows.div_ceil(level.rows());
        Self { level, a, b, c, tiles, height: a.rows / tiles, more: a.rows % tiles }
    }

    /// How many panels side by side C is cut into.
    fn panels(&self) -> usize {
        self.b.cols.div_ceil(self.level.cols())
    }

    /// The first row of a tile.
    fn row(&self, tile: usize) -> usize {
        tile * self.height + tile.min(self.more)
    }

    /// Cuts C into rectangles and computes them.
    fn run(&self, threads: usize) {
        let whole = Rectangle { tiles: 0..self.tiles, panels: 0..self.panels() };
        let work = 2.0 * self.a.rows as f64 * self.b.cols as f64 * self.a.cols as f64;
        let useful = (work / PART) as usize + 1;
        parallel::each(
            &whole.cut(threads.min(useful), (self.level.rows(), self.level.cols())),
            |part| {
                workspace::with(|space| self.rectangle(part, space));
            },
        );
    }

    /// Computes one rectangle of C: a block of B is packed, then for one block of A after the other, that is
    /// packed and the two are multiplied.
    // ANCHOR: rectangle
    fn rectangle(&self, part: &Rectangle, space: &mut Workspace) {
        let (mc, nc) = (ROWS / self.level.rows(), COLS / self.level.cols());
        let k = self.a.cols;
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
    // ANCHOR_END: rectangle

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
        let (lanes, side) = (self.level.lanes(), self.level.cols());
        let across = a.direct && self.a.row_stride != 1;
        let last = terms.end == self.a.cols;
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
                let kernel = self.level.kernel(rows, vectors, across);
                let fits = whole && self.c.col_stride == 1;
                // SAFETY: the level is available, the blocks hold what they say, and the tile lies inside C, in the
                // rectangle that this thread owns.
                unsafe {
                    if fits && (t.bias.is_null() || !self.c.bias_down) {
                        kernel(&t);
                    } else {
                        let (rows, cols) = (row..row + rows, col..col + width);
                        let c_stride = vectors * lanes;
                        kernel(&t.into_scratch(scratch.0.as_mut_ptr(), c_stride));
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
        let from =
            self.a.at.wrapping_add(first * self.a.row_stride + terms.start * self.a.col_stride);
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
            k: terms.len(),
            stride: self.a.row_stride,
            step: self.a.col_stride,
        };
        let to: *mut f32 = buffer.at_least(4 * (lines.count * lines.k + SLACK)).cast();
        let more = self.more.saturating_sub(tiles.start);
        // SAFETY: the rows and terms are inside A, and the buffer was sized for all tiles.
        unsafe { pack(self.level, to, lines, Cut { height: self.height, more, round: 1 }) };
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
        let (lanes, side) = (self.level.lanes(), self.level.cols());
        let start = terms.start * self.b.row_stride;
        let first = panels.start * side;
        let end = (panels.end * side).min(self.b.cols);
        let whole = (end - first).is_multiple_of(lanes);
        let direct = B::PLAIN && whole && self.b.col_stride == 1 && part.tiles.len() <= FEW_TILES;
        let from = self.b.at.wrapping_add(start + first * self.b.col_stride);
        if direct {
            return Block { at: from.cast(), direct };
        }
        let lines = Lines {
            from,
            count: end - first,
            k: terms.len(),
            stride: self.b.col_stride,
            step: self.b.row_stride,
        };
        let to: *mut f32 = buffer.at_least(4 * (panels.len() * side * lines.k + SLACK)).cast();
        // SAFETY: the columns and terms are inside B, and the buffer was sized for all panels.
        unsafe { pack(self.level, to, lines, Cut { height: side, more: 0, round: lanes }) };
        Block { at: to, direct }
    }
}

/// A tile that has no place in C.
#[repr(C, align(64))]
struct Scratch([f32; 14 * 32]);
