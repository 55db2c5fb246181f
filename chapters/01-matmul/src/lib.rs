//! Chapter 1: one matrix product, C = A·B, from three plain loops to the CPU's matrix unit.
//!
//! The modules in the order of the page. The rungs of the ladder, each in a file of its own:
//!
//! 1. [`naive`]: three loops, as in a textbook.
//! 2. [`reordered`]: the same three loops in an order that memory likes.
//! 3. [`blocked`]: blocks that stay in the cache.
//! 4. [`packed`]: blocks copied into the order in which they are read, and a kernel that keeps a tile of C
//!    in registers.
//! 5. [`simd`]: that kernel in vectors (AVX2, AVX-512), chosen when the program runs.
//! 6. [`parallel`]: the product cut into rectangles, one for each thread.
//! 7. [`bf16`] and [`amx`]: half the bits, and the matrix unit that multiplies tiles of them.
//!
//! And what is built on them:
//!
//! - [`reference`](mod@reference): the product in f64, which every rung is tested against.
//! - [`ladder`](mod@ladder): all rungs in a list, for the experiments and the tests.
//! - [`view`] and [`gemm`](mod@gemm): the product that later chapters call.
//! - [`peers`]: the libraries that it is measured against.
//!
//! What the page measures and draws:
//!
//! - [`cache`]: a simulator that counts what each order of the loops fetches.
//! - [`sums`]: why a compiler may not use vectors for a running sum.
//! - [`roofline`]: the most that operations and bytes allow.
//! - [`experiments`] and [`figures`]: records, and the pictures and tables made from them.

pub mod amx;
pub mod bf16;
pub mod blocked;
pub mod cache;
pub mod error;
pub mod experiments;
pub mod figures;
pub mod gemm;
pub mod ladder;
pub mod naive;
mod pack;
pub mod packed;
pub mod parallel;
pub mod peers;
pub mod reference;
pub mod reordered;
pub mod roofline;
pub mod shape;
pub mod simd;
pub mod sums;
mod team;
pub mod view;
mod workspace;

pub use bf16::Input;
pub use error::{Error, Result};
pub use experiments::chapter;
pub use gemm::{Epilogue, Options, Threads, Unit, bgemm, bgemm_on, sgemm, sgemm_on};
pub use ladder::{Rung, ladder};
pub use shape::Shape;
pub use view::{MatMut, MatRef};
