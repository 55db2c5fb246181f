//! What devices say to each other: one trait, whatever carries the words.

use crate::{
    Result,
    comm::{ring, tree},
};
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
/// operations in the same order. An engine has to send and receive; it
/// gets the collectives from scratch, or brings its own.
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
    fn exchange(
        &mut self,
        to: Rank,
        send: &[f32],
        from: Rank,
        receive: &mut [f32], // as many numbers as `from` sends
    ) -> Result<()>;
    /// Everybody gets the sum over all ranks.
    fn all_reduce(&mut self, data: &mut [f32]) -> Result<()> {
        ring::all_reduce(self, data)
    }
    // …
    // ANCHOR_END: communicator
    /// Everybody gets the root's numbers.
    fn broadcast(&mut self, root: Rank, data: &mut [f32]) -> Result<()> {
        tree::broadcast(self, root, data)
    }
    /// Rank r gets part r (see [`part_of`]) of the sum over all ranks.
    fn reduce_scatter(&mut self, data: &mut [f32]) -> Result<()> {
        ring::reduce_scatter(self, data)
    }
    /// Everybody gets part r (see [`part_of`]) of rank r's numbers.
    fn all_gather(&mut self, data: &mut [f32]) -> Result<()> {
        ring::all_gather(self, data)
    }
    /// Nobody goes on before everybody is here.
    fn barrier(&mut self) -> Result<()> {
        tree::barrier(self)
    }
    /// Everybody gets everybody's bytes, in the order of ranks: settings, fingerprints and other small things. They
    /// travel as the bits of numbers, with which nobody computes.
    fn all_gather_bytes(&mut self, bytes: &[u8]) -> Result<Vec<Vec<u8>>> {
        let (me, size) = (self.rank().0, self.size());
        let mut lengths = vec![0.0; 2 * size];
        lengths[2 * me] = f32::from_bits(bytes.len() as u32);
        lengths[2 * me + 1] = f32::from_bits((bytes.len() as u64 >> 32) as u32);
        self.all_gather(&mut lengths)?;
        let word = |x: f32| u64::from(x.to_bits());
        let lengths: Vec<usize> =
            lengths.chunks(2).map(|x| (word(x[0]) | word(x[1]) << 32) as usize).collect();
        let words = lengths.iter().max().map_or(0, |most| most.div_ceil(4));
        let mut all = vec![0.0; words * size];
        for (to, four) in all[words * me..].iter_mut().zip(bytes.chunks(4)) {
            let mut padded = [0; 4];
            padded[..four.len()].copy_from_slice(four);
            *to = f32::from_bits(u32::from_le_bytes(padded));
        }
        self.all_gather(&mut all)?;
        let of = |(rank, len): (usize, &usize)| {
            let own = &all[words * rank..words * (rank + 1)];
            let mut bytes: Vec<u8> = own.iter().flat_map(|x| x.to_bits().to_le_bytes()).collect();
            bytes.truncate(*len);
            bytes
        };
        Ok(lengths.iter().enumerate().map(of).collect())
    }
}

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
