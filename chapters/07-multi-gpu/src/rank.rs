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
