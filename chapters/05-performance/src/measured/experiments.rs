//! The chapter's experiments.

use lab::Experiment;

pub mod compare;
pub mod engine;
pub mod freed;
pub mod gpu;
pub mod input;
pub mod memory;
pub mod profile;

/// In the order of the page.
pub fn experiments() -> Vec<Experiment> {
    let parts = [
        profile::experiments(),
        freed::experiments(),
        engine::experiments(),
        input::experiments(),
        memory::experiments(),
        compare::experiments(),
        gpu::experiments(),
    ];
    parts.into_iter().flatten().collect()
}
