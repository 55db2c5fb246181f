//! Laws of the engine.

#![allow(clippy::float_cmp, reason = "the tests compare bits, or whole numbers")]

mod batch_norm;
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
