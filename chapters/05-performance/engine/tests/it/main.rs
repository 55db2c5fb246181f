//! Laws of the engine.

mod batch_norm;
mod definition;
mod direct;
mod gradients;
mod laws;
mod plan;
mod steps;
