//! What a device asks of the others that run the same program. Who answers is chapter 7's matter.

use crate::{device::Launch, program::What};

/// What went wrong between ranks.
pub type Failed = Box<dyn std::error::Error + Send + Sync>;

/// A failure as it was; from the second time on, its sentence.
///
/// # Errors
/// The failure, if there is one.
pub fn told(failed: &mut Option<Failed>) -> Result<(), Failed> {
    let Some(why) = failed.take() else { return Ok(()) };
    *failed = Some(why.to_string().into());
    Err(why)
}

/// `ranks.cl`: what ranks do to numbers that they sum or send.
pub const RANKS: &str = include_str!("../kernels/ranks.cl");

/// A GPU's copy of so many words.
pub fn copy(words: usize) -> Launch {
    Launch::each(RANKS, "copy_words", words)
}

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
    // ANCHOR_END: ranks

    /// [`Ranks::meet`] for so many numbers at an address of this rank's NVIDIA GPU, in place, once the GPU has come to an event;
    /// or nothing, if there is no such way.
    ///
    /// # Safety
    /// The numbers are there, and the event lives. Nothing else uses them from the event until it returns; those of a sum that
    /// begins, until it has ended.
    ///
    /// # Errors
    /// As [`Ranks::meet`].
    unsafe fn meet_in_place(
        &mut self,
        _what: What,
        _group: usize,
        _numbers: (u64, usize),
        _event: u64,
    ) -> Result<Option<()>, Failed> {
        Ok(None)
    }
}
