//! Laws of the engine.

#![allow(clippy::float_cmp, reason = "the tests compare bits, or whole numbers")]

mod batch_norm;
// Chapter 4's, for tests alone.
#[path = "../../../../04-training/tests/it/models/convolve.rs"]
mod convolve;
mod definition;
mod direct;
mod gradients;
mod laws;
mod panel;
mod plan;
mod ranks;
mod shapes;
mod steps;
mod sums;
