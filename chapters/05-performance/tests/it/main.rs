//! The chapter's kernels through NVIDIA's compilers, and its images from records.

mod cuda_compile;
mod memory_pictures;
