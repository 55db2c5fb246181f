//! Runs that train together: chapter 7's replicas, each with a part of every batch.

use crate::{
    Result,
    learning::{loss::Tally, snapshot::Checkpoint},
};
use std::ops::Range;

/// Those who train one model together.
///
/// # Errors
/// Its methods fail with the team's own errors.
#[allow(clippy::missing_errors_doc, reason = "said once, for all of them")]
// ANCHOR: team
/// What the loop asks those who train one model together, all of them in
/// the same order. Each default is that of a run that trains alone.
pub trait Team {
    /// Which of so many images are this run's?
    fn part(&self, images: usize) -> Range<usize> {
        0..images
    }
    /// What have all counted in the step that was taken, if I counted this?
    fn counted(&self, mine: Tally) -> Tally {
        mine
    }
    /// What have all counted, in a test?
    fn sum(&self, mine: Tally) -> Result<Tally> {
        Ok(mine)
    }
    /// Do we stop after this step, if this is what I want?
    fn stops(&self, wish: bool) -> bool {
        wish
    }
    // ANCHOR_END: team
    /// Do I keep the run's folder?
    fn leads(&self) -> bool {
        true
    }
    /// Where to go on, if the leader has read this?
    fn saved(&self, read: Option<Checkpoint>) -> Result<Option<Checkpoint>> {
        Ok(read)
    }
    /// Is something not as it should be?
    fn warning(&self) -> Option<String> {
        None
    }
}

/// A team of one.
#[derive(Clone, Copy, Debug, Default)]
pub struct Alone;

impl Team for Alone {}
