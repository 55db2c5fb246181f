//! What a device asks of the others that run the same program. Who answers is chapter 7's matter.

use crate::program::What;

/// What went wrong between ranks.
pub type Failed = Box<dyn std::error::Error + Send + Sync>;

/// A rank's way to the others.
// ANCHOR: ranks
pub trait Ranks: Send {
    /// Does it with the ranks of a group. `given` is what goes into a message,
    /// or into a sum that begins; all else is done to `numbers`, in place.
    ///
    /// # Errors
    /// What went wrong; then the device does nothing any more.
    fn meet(
        &mut self,
        what: What,
        group: usize,
        given: &[f32],
        numbers: &mut [f32],
    ) -> Result<(), Failed>;
}
// ANCHOR_END: ranks
