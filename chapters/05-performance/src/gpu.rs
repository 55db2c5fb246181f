//! The same step on a GPU: operations fused by hand, launches recorded once and replayed, copies during the compute.
//!
//! The modules in the order of the page:
//!
//! - [`kernels`]: the chapter's kernels, one source each for CUDA and OpenCL.
//! - [`check`]: a comparison that neither NaN nor an unwritten element passes.
//! - [`bias`]: the backward pass through a bias and `ReLU`.
//! - [`fused`]: four operations of a training step, in one kernel each, and one at a time.
//! - [`product`]: the three products of a dense layer.
//! - [`step`]: a whole training step that never leaves the device.
//! - [`timeline`]: when each of its kernels runs, and when the CPU asks for it.
//! - [`graph`]: that step as a CUDA graph; [`Gpu`]: the engine's backend.
//! - [`overlap`]: the next batch is copied while this one is computed.
//! - [`twin`]: a fused operation for dfdx on CUDA, with the feature `cuda`.

pub mod bias;
pub mod check;
pub mod fused;
pub mod kernels;
pub mod overlap;
pub mod product;
pub mod step;
pub mod timeline;
pub mod twin;

pub use engine_gpu::{Gpu, graph};
