//! What every split of a training has to do.

use crate::{Result, count::Bytes, train::Step};
use multi_gpu::Communicator;

/// One rank of a training.
pub trait Split {
    /// The next step, by all ranks at once: each calls this with the same stream.
    ///
    /// # Errors
    /// [`crate::Error::Diverged`] on all ranks alike, and the communicator's.
    fn step(&mut self, stream: &[u32], comm: &mut dyn Communicator) -> Result<Step>;

    /// The whole model's parameters, on every rank.
    ///
    /// # Errors
    /// The communicator's.
    fn parameters(&self, comm: &mut dyn Communicator) -> Result<Vec<f32>>;

    /// Bytes that this rank holds: counted, after a step.
    fn bytes(&self) -> Bytes;
}
