//! The numbers of devices that train together, and which part of a list is whose.

use std::{fmt, ops::Range};

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

/// The part of `len` numbers that belongs to `rank`: parts differ by one number at most, the first ones are longer, and
/// with more ranks than numbers the last ones are empty.
pub fn part_of(len: usize, rank: Rank, size: usize) -> Range<usize> {
    let at = |r: usize| r * (len / size) + r.min(len % size);
    at(rank.0)..at(rank.0 + 1)
}
