//! The chapter's kernels through NVIDIA's compilers, and its figures from records.

mod cuda_compile;
mod memory_pictures;

// Chapter 2's, for tests alone.
#[allow(dead_code, reason = "chapter 2 uses all of it")]
#[path = "../../../02-cpu-gpu/tests/compiled/code.rs"]
mod code;
