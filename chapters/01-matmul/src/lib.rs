//! Chapter 1: one matrix product, C = A·B, from three plain loops to the CPU's matrix unit.
//!
//! The modules in the order of the page. The rungs of the ladder, each in a file of its own:
//!
//! 1. [`naive`]: three loops, as in a textbook.
//! 2. [`reordered`]: the same three loops in an order that memory likes.
//! 3. [`blocked`]: blocks that stay in the cache.
//! 4. [`packed`]: blocks copied into the order in which they are read, and a kernel that keeps a tile of C
//!    in registers.
//! 5. [`simd`]: that kernel in vectors (AVX2, AVX-512), chosen when the program runs; `registers` are the vectors.
//! 6. [`parallel`]: the product cut into rectangles, one for each thread.
//! 7. [`bf16`], half the bits, on two units: [`avx512bf16`], vectors that multiply [`pairs`] of them, and [`amx`], the
//!    matrix unit that multiplies [`tiles`].
//!
//! Next to them:
//!
//! - [`shape`]: the three lengths; `part`: a rectangle of a product, for rungs 5 to 7; `level`: which vectors a CPU has.
//! - [`reference`](mod@reference): the product in f64, which every rung is tested against.
//! - [`ladder`](mod@ladder): all rungs in a list, for the experiments and the tests.
//! - [`cache`]: a simulator that counts what each order of the loops fetches.
//! - [`sums`]: why a compiler may not use vectors for a running sum.
//! - [`roofline`]: the most that operations and bytes allow.
//!
//! And what came of it:
//!
//! - [`product`]: the product that later chapters call; [`narrow`]: what 16 bits leave of a number.
//! - [`peers`]: the libraries that it is measured against.
//! - [`measured`]: what the page measures and draws.

pub mod shape;

pub mod naive;
pub mod sums;

pub mod cache;
pub mod reordered;

pub mod blocked;

pub mod packed;

mod level;
mod part;
pub mod registers;
pub mod roofline;
pub mod simd;

pub mod parallel;

pub mod amx;
pub mod avx512bf16;
pub mod bf16;
pub mod narrow;
pub mod pairs;
pub mod tiles;

pub mod ladder;
pub mod peers;
pub mod product;
pub mod reference;

pub mod measured;

pub use bf16::Input;
pub use ladder::{Rung, ladder};
pub use measured::chapter;
pub use product::{
    error::{Error, Result},
    gemm::{Unit, bgemm, bgemm_on, sgemm, sgemm_on},
    options::{Epilogue, Options, Threads},
    team,
    view::{MatMut, MatRef},
};
pub use shape::Shape;
