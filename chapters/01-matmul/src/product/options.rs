//! How to multiply: added to C or not, with what at the end, on how many threads.

use crate::parallel;

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
    pub(crate) fn count(self) -> usize {
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
    /// Whether A·B is added to what C holds; if not, C is overwritten and may contain anything before, also NaN.
    pub accumulate: bool,
    /// What happens at the end.
    pub epilogue: Epilogue<'a>,
    /// How many threads share the work. The result has the same bits for any number.
    pub threads: Threads,
}
