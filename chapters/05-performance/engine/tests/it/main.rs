//! Laws of the engine.

mod batch_norm;
mod definition;
mod direct;
mod gradients;
mod laws;
mod panel;
mod plan;
mod steps;
mod sums;
