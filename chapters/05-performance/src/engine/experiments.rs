//! TODO
pub fn experiments() -> Vec<lab::Experiment> { Vec::new() }
