//! The rungs that CUDA alone has: asynchronous copies, tensor cores by CUDA's own interface, and Hopper's units.
//!
//! The kernels are `kernels/async_copy.cu`, `wmma.cu` and `wgmma.cu`. Here is their other half:
//!
//! - [`rungs`]: which launch goes with which product.
//! - [`padded`]: matrices in bf16 with rows that begin where the copies want them, and the descriptors by which the copy
//!   engine finds a tile.
//! - [`run`]: their launches on a GPU.
//!
//! The first two need no GPU, so that the kernels also run on the CPU, in `tests/it/host_model.rs`, from the same
//! launches.

pub mod padded;
pub mod run;
pub mod rungs;

pub use padded::{Padded, TensorMap};
pub use run::{CudaInputs, CudaKernel, check, product, tune};
pub use rungs::{CudaPlan, CudaRung, CudaTiles};
