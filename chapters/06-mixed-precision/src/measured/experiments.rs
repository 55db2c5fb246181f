//! The chapter's experiments.

use lab::Experiment;

pub mod amp;
pub mod bf16;
pub mod formats;

/// In the order of the page.
pub fn experiments() -> Vec<Experiment> {
    let parts = [formats::experiments(), amp::experiments(), bf16::experiments()];
    parts.into_iter().flatten().collect()
}
