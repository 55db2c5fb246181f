//! What a GPU does for a call: kernels as text, one source for CUDA and OpenCL, and how they are launched.
//!
//! A kernel takes two arguments for each operand of its call, a buffer and where in it the tensor begins, the same for its table,
//! if it has one, and then numbers.

use std::sync::Arc;

/// A number that a kernel is given.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Number {
    /// 32 bits without a sign.
    Whole(u32),
    /// A fraction.
    Real(f32),
}

/// Macros of a source, and their values.
pub type Macros = Vec<(&'static str, usize)>;

/// A launch of a kernel.
#[derive(Clone, Debug)]
pub struct Launch {
    /// Its text, without what all kernels begin with.
    pub source: &'static str,
    /// Its name.
    pub entry: &'static str,
    /// What is compiled in.
    pub macros: Macros,
    /// Which of the call's operands it takes; none for all of them.
    pub operands: Option<Vec<usize>>,
    /// Words that it reads, which no step changes; empty if there are none.
    pub table: Arc<[u32]>,
    /// What follows them.
    pub numbers: Vec<Number>,
    /// Blocks along x and y.
    pub grid: [usize; 2],
    /// Threads of a block along x and y.
    pub block: [usize; 2],
}

/// A product that finds its terms by itself: C (m×n) from the call's first two operands, to its last one.
#[derive(Clone, Debug)]
pub struct Implicit {
    /// Rows, terms and columns.
    pub shape: [usize; 3],
    /// How `product.cl` finds the terms of the left side and of the right side.
    pub macros: Macros,
    /// Whether the third operand is a row that is added to each of C's.
    pub bias: bool,
    /// Whether the sums are added to what C holds.
    pub accumulate: bool,
}

/// What a GPU does for a call.
#[derive(Clone, Debug)]
pub enum Device {
    /// Kernels, one after the other.
    Launches(Vec<Launch>),
    /// A product.
    Product(Implicit),
}

/// Threads of a block with a thread for each number.
const THREADS: usize = 256;

impl Launch {
    /// Blocks of x×y threads, on all operands.
    pub fn new(
        source: &'static str,
        entry: &'static str,
        grid: [usize; 2],
        block: [usize; 2],
    ) -> Self {
        let (macros, operands, numbers) = (Vec::new(), None, Vec::new());
        let table = Arc::default();
        Self { source, entry, macros, operands, table, numbers, grid, block }
    }

    /// A thread for each of so many numbers; their count is the first number that the kernel gets.
    pub fn each(source: &'static str, entry: &'static str, count: usize) -> Self {
        Self::new(source, entry, [count.div_ceil(THREADS), 1], [THREADS, 1]).with(&[count])
    }

    /// 32 threads for each of so many rows, eight rows a block; rows and columns are the first numbers that the kernel gets.
    pub fn of_rows(source: &'static str, entry: &'static str, rows: usize, cols: usize) -> Self {
        Self::new(source, entry, [rows.div_ceil(8), 1], [32, 8]).with(&[rows, cols])
    }

    /// Sums down the rows, in as many parts as [`crate::record::Recorder::parts`] has: a block of 32×8 threads for 32 columns of
    /// a part. The numbers begin with rows, columns, and rows of a part.
    pub fn down(
        source: &'static str,
        entry: &'static str,
        [rows, cols]: [usize; 2],
        parts: usize,
        each: usize,
    ) -> Self {
        Self::new(source, entry, [cols.div_ceil(32), parts], [32, 8]).with(&[rows, cols, each])
    }

    /// With these numbers behind the others.
    #[must_use]
    pub fn with(mut self, numbers: &[usize]) -> Self {
        self.numbers.extend(numbers.iter().map(|number| Number::Whole(*number as u32)));
        self
    }

    /// With a fraction behind the others.
    #[must_use]
    pub fn real(mut self, number: f32) -> Self {
        self.numbers.push(Number::Real(number));
        self
    }

    /// On these operands of the call alone.
    #[must_use]
    pub fn of(self, operands: &[usize]) -> Self {
        Self { operands: Some(operands.to_vec()), ..self }
    }

    /// With these words behind the operands.
    #[must_use]
    pub fn reading(self, table: Arc<[u32]>) -> Self {
        Self { table, ..self }
    }

    /// With this compiled in.
    #[must_use]
    pub fn compiled(mut self, macros: &[(&'static str, usize)]) -> Self {
        self.macros.extend(macros);
        self
    }
}
