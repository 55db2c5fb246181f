//! Where the time of a training step goes: a profiler of single operations, without a change to dfdx.
//!
//! In the order of the page: the [`tape`] that looks at the clock, the [`step`] that it watches, the [`cost`] of each
//! operation, and the [`report`]; the [`experiment`] and its [`figures`]. And [`freed`]: what becomes of memory between
//! two steps.

pub mod cost;
pub mod experiment;
pub mod figures;
pub mod freed;
pub mod report;
pub mod step;
pub mod tape;

pub use report::{Profile, print, profile};

use lab::Part;

/// Experiments, figures and tables of this part.
pub fn part() -> Part {
    Part {
        experiments: vec![experiment::experiment(), freed::experiment()],
        figures: figures::figures(),
        tables: figures::tables().into_iter().chain([freed::table()]).collect(),
    }
}
