//! The product that later chapters call: either operand transposed, added to C or not, with bias and `ReLU` at the end,
//! on one thread or many, in f32 or with bf16 inputs.
//!
//! It grew out of the ladder's upper rungs, which take whole row-major matrices and are as short as they can be. A
//! network asks for more, and each wish is a module here:
//!
//! - [`view`]: a transpose or a block of a matrix is the same numbers with other strides.
//! - [`options`]: what happens to C, and on how many threads. [`error`]: shapes that do not fit.
//! - [`gemm`]: the functions to call.
//! - `vectors`: rung 5 and 6, which do not pack what can be read where it lies and leave small products to one thread;
//!   `kernel` and `pack` are its two halves.
//! - `tiled`: rung 7 for the same matrices.
//! - [`team`]: threads that wait for work, because waking one takes as long as a small product; [`workspace`]: memory
//!   that is allocated once.

pub mod error;
pub mod gemm;
mod kernel;
mod operand;
pub mod options;
mod pack;
pub mod team;
mod tiled;
mod vectors;
pub mod view;
pub mod workspace;
