//! Communication of all devices together: one trait for every transport.

pub use crate::rank::part_of;
use crate::{
    PointToPoint, Rank, Result, bytes,
    comm::{ring, tree},
};
use std::sync::{Arc, Mutex};

/// Numbers in a GPU's memory: their address, and how many there are.
pub type Place = (u64, usize);

/// A communicator of any kind, for a program and for who speaks between its runs.
pub type Shared = Arc<Mutex<dyn Communicator>>;

/// What an engine between GPUs does with numbers that stay on them.
pub trait InPlace {
    /// Begins to sum numbers over all ranks where they lie on this rank's GPU, when the GPU has come to an event of CUDA; without
    /// one they are computed already.
    ///
    /// # Safety
    /// At the place there are so many numbers on this rank's GPU, which nothing else uses from the event until
    /// [`InPlace::wait`] has returned. The event lives.
    ///
    /// # Errors
    /// As [`Communicator::all_reduce`].
    unsafe fn begin_sum(&mut self, place: Place, after: Option<u64>) -> Result<()>;

    /// Waits until all sums that were begun have ended.
    ///
    /// # Errors
    /// As [`Communicator::all_reduce`].
    fn wait(&mut self) -> Result<()>;

    /// Ends what was begun, and this rank's part of it for good: the numbers are nobody's then.
    fn give_up(&mut self);
}

#[allow(clippy::missing_errors_doc, reason = "those of `PointToPoint`")]
// ANCHOR: communicator
/// All ranks call the same collective operations in the same order. An
/// engine that sends and receives gets them from scratch, or it brings
/// its own.
pub trait Communicator: PointToPoint {
    /// Every rank gets the sum over all ranks.
    fn all_reduce(&mut self, data: &mut [f32]) -> Result<()> {
        ring::all_reduce(self, data)
    }
    /// Every rank gets the root's numbers.
    fn broadcast(&mut self, root: Rank, data: &mut [f32]) -> Result<()> {
        tree::broadcast(self, root, data)
    }
    // …
    // ANCHOR_END: communicator
    /// Rank r gets part r (see [`part_of`]) of the sum over all ranks.
    fn reduce_scatter(&mut self, data: &mut [f32]) -> Result<()> {
        ring::reduce_scatter(self, data)
    }
    /// Every rank gets part r (see [`part_of`]) of rank r's numbers.
    fn all_gather(&mut self, data: &mut [f32]) -> Result<()> {
        ring::all_gather(self, data)
    }
    /// No rank goes on before all are here.
    fn barrier(&mut self) -> Result<()> {
        tree::barrier(self)
    }
    /// How numbers on this rank's GPU are summed where they lie, if this engine can.
    fn in_place(&mut self) -> Option<&mut dyn InPlace> {
        None
    }
    /// Every rank gets the root's bytes, however many they are.
    fn broadcast_bytes(&mut self, root: Rank, bytes: &mut Vec<u8>) -> Result<()> {
        let mut length = bytes::length_to_numbers(bytes.len());
        self.broadcast(root, &mut length)?;
        let length = bytes::length_from_numbers(&length)?;
        let mut numbers = bytes::to_numbers(bytes);
        numbers.resize(length.div_ceil(4), 0.0);
        self.broadcast(root, &mut numbers)?;
        *bytes = bytes::from_numbers(&numbers, length);
        Ok(())
    }
    /// Every rank gets all ranks' bytes, in the order of ranks: settings, fingerprints and other small things.
    fn all_gather_bytes(&mut self, bytes: &[u8]) -> Result<Vec<Vec<u8>>> {
        let (me, size) = (self.rank().0, self.size());
        let mut lengths = vec![0.0; 2 * size];
        lengths[2 * me..2 * me + 2].copy_from_slice(&bytes::length_to_numbers(bytes.len()));
        self.all_gather(&mut lengths)?;
        let lengths = lengths.chunks(2).map(bytes::length_from_numbers);
        let lengths = lengths.collect::<Result<Vec<_>>>()?;
        // Slots of one length, for parts are equal.
        let each = lengths.iter().max().map_or(0, |most| most.div_ceil(4));
        let (mut all, mine) = (vec![0.0; each * size], bytes::to_numbers(bytes));
        all[each * me..][..mine.len()].copy_from_slice(&mine);
        self.all_gather(&mut all)?;
        let of = |(rank, length): (usize, &usize)| {
            bytes::from_numbers(&all[each * rank..each * (rank + 1)], *length)
        };
        Ok(lengths.iter().enumerate().map(of).collect())
    }
}
