//! What a device can do: send numbers to another one, and receive them.

use crate::{Error, Rank, Result};
use std::time::Duration;

/// How long the ranks of a library (MPI, NCCL) wait for each other before they report it.
pub const PATIENCE: Duration = Duration::from_secs(10);

/// How often a rank that waits checks whether a rank was lost.
pub const LOOK: Duration = Duration::from_millis(100);

/// The error of a rank that gets a message of another length than it waits for: (from whom, how many numbers), and (who
/// waits, for how many).
pub(crate) fn other_length((from, sent): (Rank, usize), (me, wanted): (Rank, usize)) -> Error {
    Error::Config(format!(
        "rank {from} sent {sent} numbers where rank {me} waits for {wanted}; all ranks must run the same program"
    ))
}

/// # Errors
/// Every operation fails with [`Error::Lost`] if a rank it needs has ended and with
/// [`Error::Silent`] if one is silent for too long; it never waits forever.
#[allow(clippy::missing_errors_doc, reason = "documented once, for all of them")]
// ANCHOR: point_to_point
/// A rank's way to the others, whatever carries the numbers.
pub trait PointToPoint: Send {
    /// This rank.
    fn rank(&self) -> Rank;
    /// How many are we?
    fn size(&self) -> usize;
    /// Sends numbers to one rank, which waits for as many.
    fn send(&mut self, to: Rank, data: &[f32]) -> Result<()>;
    /// Waits for numbers from one rank.
    fn receive(&mut self, from: Rank, data: &mut [f32]) -> Result<()>;
    /// Sends and receives at the same time, as the steps of a ring do.
    fn exchange(
        &mut self,
        to: Rank,
        send: &[f32],
        from: Rank,
        receive: &mut [f32], // as many numbers as `from` sends
    ) -> Result<()>;
    // …
    // ANCHOR_END: point_to_point
    /// Fails once a rank is known to be lost, for one who waits by other means; none from an engine that notices nothing
    /// between its operations.
    fn watch(&self) -> Option<Watch> {
        None
    }
}

/// Fails if a rank is known to be lost. It may be asked by any thread.
pub type Watch = Box<dyn Fn() -> Result<()> + Send>;
