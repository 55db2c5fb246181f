//! Laws of the backend, on the first OpenCL device: the CPU through `PoCL`, or a GPU.

mod compiled;
mod laws;
mod products;

// The engine's, for tests alone.
#[allow(dead_code, reason = "its laws use all of them")]
#[path = "../../../engine/tests/it/steps.rs"]
mod steps;

// Chapter 2's, for tests alone.
#[allow(dead_code, reason = "chapter 2 uses all of it")]
#[path = "../../../../02-cpu-gpu/tests/compiled/code.rs"]
mod code;
