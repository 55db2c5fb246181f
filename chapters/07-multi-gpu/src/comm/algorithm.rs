//! The ways to an all-reduce, by name: what they cost, and which one a message should take.

use super::{cost::AlphaBeta, naive, ring, tree};
use crate::{error::Result, point_to_point::PointToPoint};

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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        comm::counting::{Counting, Traffic},
        communicator::Communicator,
        rank::{Rank, part_of},
        threads,
    };
    use proptest::prelude::*;

    const SIZES: [usize; 5] = [1, 2, 3, 5, 8];
    const LENGTHS: [usize; 7] = [0, 1, 2, 7, 8, 101, 30_000];

    /// Numbers without a pattern, from -1 to 1.
    fn numbers(rank: usize, len: usize) -> Vec<f32> {
        let mix = |i: usize| (i * 2_654_435_761 + rank * 40_503 + 12_345) % 65_521;
        (0..len).map(|i| mix(i) as f32 / 32_760.5 - 1.0).collect()
    }

    /// The sum over all ranks in f64, and what the sum of absolute values is.
    fn sums(size: usize, len: usize) -> Vec<(f64, f64)> {
        let all: Vec<_> = (0..size).map(|rank| numbers(rank, len)).collect();
        let over = |i: usize, f: fn(f64) -> f64| all.iter().map(|x| f(f64::from(x[i]))).sum();
        (0..len).map(|i| (over(i, |x| x), over(i, f64::abs))).collect()
    }

    #[track_caller]
    fn near(got: &[f32], wanted: &[(f64, f64)], size: usize) {
        assert_eq!(got.len(), wanted.len());
        for (got, (sum, scale)) in got.iter().zip(wanted) {
            // Each of the p − 1 additions rounds by half a unit at most.
            let bound = size as f64 * f64::from(f32::EPSILON) * scale;
            assert!((f64::from(*got) - sum).abs() <= bound, "{got} instead of {sum}");
        }
    }

    fn bits(data: &[f32]) -> Vec<u32> {
        data.iter().map(|x| x.to_bits()).collect()
    }

    #[test]
    fn all_ranks_get_the_very_same_sum_and_it_is_right() {
        for algorithm in Algorithm::ALL {
            for size in SIZES {
                for len in LENGTHS {
                    let got = threads::run(size, |mut comm| {
                        let mut data = numbers(comm.rank().0, len);
                        algorithm.all_reduce(&mut comm, &mut data)?;
                        Ok(data)
                    })
                    .unwrap();
                    near(&got[0], &sums(size, len), size);
                    let same = got.iter().all(|other| bits(other) == bits(&got[0]));
                    assert!(same, "{algorithm:?}, {size} ranks, {len} numbers");
                }
            }
        }
    }

    type Rooted = fn(&mut threads::Threads, Rank, &mut [f32]) -> Result<()>;
    type Collective = fn(&mut threads::Threads, &mut [f32]) -> Result<()>;

    #[test]
    fn each_rank_gets_its_part_and_then_everybody_all_parts() {
        let halves: [(Collective, Collective); 2] = [
            (|c, d| naive::reduce_scatter(c, d), |c, d| naive::all_gather(c, d)),
            (|c, d| ring::reduce_scatter(c, d), |c, d| ring::all_gather(c, d)),
        ];
        for (scatter, gather) in halves {
            for size in SIZES {
                for len in LENGTHS {
                    let wanted = sums(size, len);
                    let got = threads::run(size, |mut comm| {
                        let me = part_of(len, comm.rank(), size);
                        let mut data = numbers(comm.rank().0, len);
                        scatter(&mut comm, &mut data)?;
                        near(&data[me.clone()], &wanted[me.clone()], size);
                        // What is not this rank's own does not affect what follows.
                        for (at, x) in data.iter_mut().enumerate() {
                            *x = if me.contains(&at) { *x } else { f32::NAN };
                        }
                        gather(&mut comm, &mut data)?;
                        Ok(data)
                    })
                    .unwrap();
                    near(&got[0], &wanted, size);
                    assert!(got.iter().all(|other| bits(other) == bits(&got[0])));
                }
            }
        }
    }

    #[test]
    fn any_root_gets_the_sum_and_gives_its_numbers() {
        let ways: [(Rooted, Rooted); 2] =
            [(naive::reduce, naive::broadcast), (tree::reduce, tree::broadcast)];
        for (reduce, broadcast) in ways {
            for size in SIZES {
                for root in (0..size).map(Rank) {
                    let got = threads::run(size, |mut comm: threads::Threads| {
                        let mut data = numbers(comm.rank().0, 9);
                        reduce(&mut comm, root, &mut data)?;
                        if comm.rank() == root {
                            near(&data, &sums(size, 9), size);
                        }
                        data.fill(comm.rank().0 as f32);
                        broadcast(&mut comm, root, &mut data)?;
                        tree::barrier(&mut comm)?;
                        Ok(data)
                    })
                    .unwrap();
                    assert_eq!(got, vec![vec![root.0 as f32; 9]; size]);
                }
            }
        }
    }

    #[test]
    fn as_much_is_said_as_the_formulas_say() {
        let len = 8 * 3 * 5 * 7;
        for size in SIZES {
            for algorithm in Algorithm::ALL {
                if algorithm == Algorithm::Halving && !size.is_power_of_two() {
                    continue;
                }
                let said = threads::run(size, |comm| {
                    let mut comm = Counting::new(comm);
                    algorithm.all_reduce(&mut comm, &mut vec![1.0; len])?;
                    Ok(comm.traffic())
                })
                .unwrap();
                for (rank, said) in said.into_iter().enumerate() {
                    let wanted = match algorithm {
                        Algorithm::Naive => Traffic::naive(Rank(rank), 4 * len, size),
                        Algorithm::Tree => Traffic::tree(Rank(rank), 4 * len, size),
                        Algorithm::Halving => Traffic::halving(4 * len, size),
                        Algorithm::Ring => Traffic::ring(4 * len, size),
                    };
                    assert_eq!(said, wanted, "{algorithm:?}, rank {rank} of {size}");
                }
            }
        }
    }

    #[test]
    fn the_prediction_counts_the_messages_of_the_busiest_rank() {
        // The busiest rank's messages, each way one after the other, are what the formula counts as α.
        let alpha = AlphaBeta { alpha: 1.0, beta: 0.0 };
        let same =
            |messages: usize, counted: f64| assert!((counted - messages as f64).abs() < 1e-9);
        for size in SIZES {
            let both = |root: Traffic| root.sent + root.received;
            same(both(Traffic::naive(Rank(0), 0, size)), alpha.naive(0.0, size));
            same(both(Traffic::tree(Rank(0), 0, size)), alpha.tree(0.0, size));
            // On a ring a rank sends and receives at the same time.
            same(Traffic::ring(0, size).sent, alpha.ring(0.0, size));
        }
    }

    #[test]
    fn the_least_time_is_taken() {
        let link = AlphaBeta { alpha: 1e-5, beta: 1e-9 };
        assert_eq!(Algorithm::best(link, 4.0, 8), Algorithm::Tree);
        assert_eq!(Algorithm::best(link, 1e9, 8), Algorithm::Ring);
        assert_eq!(Algorithm::best(link, 4.0, 2), Algorithm::Ring); // half as much each way
        assert_eq!(Algorithm::best(link, 4.0, 1), Algorithm::Naive);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]
        #[test]
        fn bytes_arrive_as_they_are(lengths in prop::collection::vec(0_usize..40, 1..6), seed: u8) {
            let bytes = |rank: usize| -> Vec<u8> {
                // All bit patterns, signalling NaN among them.
                (0..lengths[rank]).map(|i| seed.wrapping_add((i * 37 + rank) as u8) | 0x80).collect()
            };
            let got = threads::run(lengths.len(), |mut comm| {
                let mine = bytes(comm.rank().0);
                comm.all_gather_bytes(&mine)
            }).unwrap();
            let wanted: Vec<_> = (0..lengths.len()).map(bytes).collect();
            prop_assert!(got.iter().all(|got| *got == wanted), "{:?}", got);
        }
    }
}
