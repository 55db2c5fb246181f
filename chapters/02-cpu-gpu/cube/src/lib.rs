//! The matrix product as kernels written in Rust with CubeCL, which run on any maker's GPU.
//!
//! - [`kernels`]: one thread for each element, tiles in shared memory, and the same with a mistake that compiles.
//! - [`product`]: devices, and a product on one of them.
//! - [`check`]: how far a product is from sums in f64.
//! - [`text`]: what CubeCL writes of a kernel, in WGSL and in CUDA C++.

pub mod check;
pub mod kernels;
pub mod product;
pub mod text;
