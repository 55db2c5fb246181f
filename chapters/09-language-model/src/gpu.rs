//! The whole training step on a GPU, with portable kernels: parameters, batch and all that lies between stay in its memory.
//!
//! 1. [`kernels`]: the kernels, one source for OpenCL and CUDA.
//! 2. [`product`]: the three products of a dense layer, from one source.
//! 3. [`tensors`]: where the tensors of a layout lie in a device's buffer.
//! 4. [`step`]: the passes and the update, one launch after the other, equal to the CPU's.

pub mod kernels;
pub mod product;
pub mod step;
pub mod tensors;

pub use step::Step;
