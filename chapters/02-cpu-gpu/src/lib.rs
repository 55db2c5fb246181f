//! Chapter 2: how a GPU works, and the matrix product on one, rung by rung.
//!
//! The modules in the order of the page:
//!
//! - [`truck`]: one small job and ever larger ones, on the CPU and on each device.
//! - [`gpu`]: OpenCL and CUDA behind one trait, found when the program runs.
//! - [`ladder`]: the rungs of the ladder, and a product by any of them.
//! - [`verify`]: a check that a wrong kernel can't pass.
//! - [`error`]: what can go wrong, each as a sentence with the way out.
//! - [`tensor_cores`]: the rungs that CUDA alone has.
//! - [`experiments`]: records, and the pictures and tables made from them.

pub mod error;
pub mod experiments;
pub mod figures;
pub mod gpu;
pub mod ladder;
pub mod tensor_cores;
pub mod truck;
pub mod verify;

pub use error::{Error, Result};
pub use experiments::chapter;
