//! Laws of the engine.

mod definition;
mod gradients;
mod laws;
mod plan;
mod steps;
