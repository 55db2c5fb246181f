//! Laws of the engine.

mod definition;
mod direct;
mod gradients;
mod laws;
mod plan;
mod steps;
