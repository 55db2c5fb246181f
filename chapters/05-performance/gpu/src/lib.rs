//! The engine's second backend: the calls of a program as kernels on any of chapter 2's devices, by CUDA or OpenCL from one
//! source.
//!
//! - [`kernels`]: the text of a kernel with what all begin with, and how a product is cut for a GPU.
//! - [`cast`]: a program as launches.
//! - [`graph`]: launches that are recorded once, and then started with one call.
//! - [`backend`]: memory, programs, and what fails.

pub mod backend;
pub mod cast;
pub mod graph;
pub mod kernels;

pub use backend::Gpu;
