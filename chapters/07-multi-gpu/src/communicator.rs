//! What devices say to each other: one trait, whatever carries the words.

use crate::Result;
use std::fmt;

/// The number of a device among those that train together, from 0.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize,
)]
pub struct Rank(pub usize);

impl fmt::Display for Rank {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// # Errors
/// Every operation fails with [`Error::Lost`](crate::Error::Lost) if a rank it needs has ended and with
/// [`Error::Silent`](crate::Error::Silent) if one says nothing for too long; it never waits for ever.
#[allow(clippy::missing_errors_doc, reason = "said once, for all of them")]
// ANCHOR: communicator
/// A rank's way to the others. All ranks call the same collective
/// operations in the same order.
pub trait Communicator: Send {
    /// Who am I?
    fn rank(&self) -> Rank;
    /// How many are we?
    fn size(&self) -> usize;
    /// Sends numbers to one rank, which waits for as many.
    fn send(&mut self, to: Rank, data: &[f32]) -> Result<()>;
    /// Waits for numbers from one rank.
    fn receive(&mut self, from: Rank, data: &mut [f32]) -> Result<()>;
    /// Sends and receives at the same time, as the steps of a ring do.
    fn exchange(&mut self, to: Rank, send: &[f32], from: Rank, receive: &mut [f32]) -> Result<()>;
    /// Everybody gets the root's numbers.
    fn broadcast(&mut self, root: Rank, data: &mut [f32]) -> Result<()>;
    /// Everybody gets the sum over all ranks.
    fn all_reduce(&mut self, data: &mut [f32]) -> Result<()>;
    /// Rank r gets part r (see [`part_of`]) of the sum over all ranks.
    fn reduce_scatter(&mut self, data: &mut [f32]) -> Result<()>;
    /// Everybody gets part r (see [`part_of`]) of rank r's numbers.
    fn all_gather(&mut self, data: &mut [f32]) -> Result<()>;
    /// Nobody goes on before everybody is here.
    fn barrier(&mut self) -> Result<()>;
}
// ANCHOR_END: communicator

/// The part of `len` numbers that belongs to `rank`: parts differ by one number at most, the first ones are longer, and
/// with more ranks than numbers the last ones are empty.
pub fn part_of(len: usize, rank: Rank, size: usize) -> std::ops::Range<usize> {
    let at = |r: usize| r * (len / size) + r.min(len % size);
    at(rank.0)..at(rank.0 + 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn parts_cover_everything_once_and_differ_by_one(len in 0_usize..1000, size in 1_usize..40) {
            let parts: Vec<_> = (0..size).map(|r| part_of(len, Rank(r), size)).collect();
            prop_assert!(parts.iter().flat_map(Clone::clone).eq(0..len));
            let lengths = parts.iter().map(ExactSizeIterator::len);
            let (least, most) = (lengths.clone().min().unwrap(), lengths.clone().max().unwrap());
            prop_assert!(most - least <= 1);
            prop_assert!(lengths.is_sorted_by(|a, b| a >= b));
        }
    }
}
