//! What this chapter measures: the main [`job`], and the [`studies`] of many runs that differ in one choice.

pub mod job;
pub mod studies;

pub use job::{MLP, run_of};

use lab::Experiment;

/// The experiments, in the order of the page.
pub fn experiments() -> Vec<Experiment> {
    job::experiments().into_iter().chain(studies::studies()).collect()
}
