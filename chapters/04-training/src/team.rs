//! Those who learn together: chapter 7's replicas, each with a part of every batch.

use crate::{Result, checkpoint::Checkpoint, loss::Tally};
use std::ops::Range;

// ANCHOR: team
/// What the loop asks those who train one model together. All of them ask
/// the same questions in the same order; each default is the answer of one
/// who trains alone.
#[allow(clippy::missing_errors_doc, reason = "they are the team's own")]
pub trait Team {
    /// Which of so many pictures are mine?
    fn part(&self, pictures: usize) -> Range<usize> {
        0..pictures
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
    /// Do I keep the run's folder?
    fn leads(&self) -> bool {
        true
    }
    /// Where do we go on, if the one who leads has read this?
    fn saved(&self, read: Option<Checkpoint>) -> Result<Option<Checkpoint>> {
        Ok(read)
    }
    /// Is something not as it should be?
    fn warning(&self) -> Option<String> {
        None
    }
}
// ANCHOR_END: team

/// A team of one.
#[derive(Clone, Copy, Debug, Default)]
pub struct Alone;

impl Team for Alone {}
