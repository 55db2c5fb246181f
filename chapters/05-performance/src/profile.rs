//! Where the time of a training step goes: a profiler of single operations, without a change to dfdx.
//!
//! In the order of the page: the [`tape`] that looks at the clock, the [`step`] that it watches, the [`cost`] of each
//! operation, the [`report`], and the [`trace`] that a viewer draws; the same of the [`engine`].

pub mod cost;
pub mod engine;
pub mod report;
pub mod step;
pub mod tape;
pub mod trace;

pub use report::{Profile, print, profile};
