//! Chapter 2: how a GPU works, and the matrix product on one, rung by rung.
//!
//! The modules in the order of the page:
//!
//! - [`truck`]: one small job and ever larger ones, on the CPU and on each device.
//! - [`devices`]: cores, lanes and clocks, of this machine and of a few that are well known.
//! - [`simt`]: a GPU small enough to read, which counts what a kernel costs.
//! - [`gpu`]: OpenCL and CUDA behind one trait, found when the program runs.
//! - [`ladder`]: the rungs of the ladder, and a product by any of them.
//! - [`wrong`]: kernels with the classic bugs, each caught.
//! - [`verify`]: a check that a wrong kernel can't pass.
//! - [`tensor_cores`]: the rungs that CUDA alone has.
//! - [`in_rust`]: kernels written in Rust, in two crates of their own.
//! - [`lu`]: LU decomposition, which is mostly a matrix product, on the CPU and on a device.
//! - [`measured`]: records, and the figures and tables made from them.

pub mod devices;
pub mod gpu;
pub mod in_rust;
pub mod ladder;
pub mod lu;
pub mod measured;
pub mod simt;
pub mod tensor_cores;
pub mod truck;
pub mod verify;
pub mod wrong;

/// What can go wrong is told as the lab tells it: each a message that says what to do.
pub use lab::{Error, Result};
pub use measured::chapter;
