//! The chapter's kernels through NVIDIA's compilers, and its figures from records.

mod cuda_compile;
mod memory_pictures;
