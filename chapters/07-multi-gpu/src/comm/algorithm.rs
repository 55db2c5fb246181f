//! The ways to an all-reduce, by name: what they cost, and which one a message should take.

use super::{cost::AlphaBeta, naive, ring, tree};
use crate::{PointToPoint, Result};

lab::named! {
    /// A way to sum over all ranks.
    pub enum Algorithm("algorithm") {
        /// To rank 0 and back.
        Naive = "naive",
        /// Up a binomial tree and down.
        Tree = "tree",
        /// Recursive halving and doubling.
        Halving = "halving",
        /// Round the ring, twice.
        Ring = "ring",
    }
}

impl Algorithm {
    /// Every rank gets the sum over all ranks.
    ///
    /// # Errors
    /// Those of [`PointToPoint`].
    pub fn all_reduce<C: PointToPoint + ?Sized>(
        self,
        comm: &mut C,
        data: &mut [f32],
    ) -> Result<()> {
        match self {
            Self::Naive => naive::all_reduce(comm, data),
            Self::Tree => tree::all_reduce(comm, data),
            Self::Halving => tree::halving(comm, data),
            Self::Ring => ring::all_reduce(comm, data),
        }
    }

    /// Predicted seconds for `bytes` over `p` ranks whose messages cost `link`.
    pub fn seconds(self, link: AlphaBeta, bytes: f64, p: usize) -> f64 {
        match self {
            Self::Naive => link.naive(bytes, p),
            Self::Tree => link.tree(bytes, p),
            Self::Halving => link.halving(bytes, p),
            Self::Ring => link.ring(bytes, p),
        }
    }

    /// The one of naive, tree and ring with the least predicted time; of equals, the first.
    pub fn best(link: AlphaBeta, bytes: f64, p: usize) -> Self {
        let mut best = Self::Naive;
        for other in [Self::Tree, Self::Ring] {
            if other.seconds(link, bytes, p) < best.seconds(link, bytes, p) {
                best = other;
            }
        }
        best
    }
}
