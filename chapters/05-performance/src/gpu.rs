//! The engine on a GPU, from outside. Its backend is a crate of its own; here a model's step is launched, timed and traced.
//!
//! - [`cast`]: a program as launches; [`kernels`]: their text; [`backend`]: memory and programs; [`graph`]: launches as one.
//! - [`run`]: a model in training on data that the device has.
//! - [`cost`]: what a step costs, fitted to recorded ones.
//! - [`timeline`]: when each of its kernels runs, and when the CPU asks for it.

pub mod cost;
pub mod run;
pub mod timeline;

pub use engine_gpu::{Gpu, backend, cast, graph, kernels};
