//! Who is slow? Every rank tells how long its own part of each step took; a rank that takes much longer than the others
//! delays all of them, and is named.

use crate::Rank;
use std::fmt;

/// Steps that are judged together: one slow step means nothing.
pub const STEPS: usize = 20;

/// How many times the median is slow.
pub const SLOW: f64 = 2.0;

/// Finds the rank that delays the others.
#[derive(Clone, Debug)]
pub struct Watch {
    seconds: Vec<f64>,
    steps: usize,
    /// Who was named last, so that it is not named after each twenty steps.
    named: Option<Rank>,
}

/// A rank that delays the others.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Slow {
    /// The rank.
    pub rank: Rank,
    /// Seconds of its part of a step.
    pub seconds: f64,
    /// The median of the other ranks' seconds.
    pub median: f64,
}

impl fmt::Display for Slow {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let Self { rank, seconds, median } = self;
        write!(
            f,
            "rank {rank} takes {:.1} times the median of the others ({:.1} ms of a step, not {:.1} ms), and all wait \
             for it; see what else its machine does",
            seconds / median,
            1e3 * seconds,
            1e3 * median
        )
    }
}

// ANCHOR: slowest
/// The slowest rank, if it takes more than [`SLOW`] times the median of the
/// others. `seconds` has one number for each rank.
pub fn slowest(seconds: &[f64]) -> Option<Slow> {
    let most = |a: &(usize, f64), b: &(usize, f64)| a.1.total_cmp(&b.1);
    let (rank, seconds_of) = seconds.iter().copied().enumerate().max_by(most)?;
    let mut others = seconds.to_vec();
    others.remove(rank);
    let median = lab::Samples(others).median(); // NaN if there are no others
    let slow = Slow { rank: Rank(rank), seconds: seconds_of, median };
    (seconds_of > SLOW * median).then_some(slow)
}
// ANCHOR_END: slowest

impl Watch {
    /// A watch over so many ranks.
    pub fn new(size: usize) -> Self {
        Self { seconds: vec![0.0; size], steps: 0, named: None }
    }

    /// How many ranks it watches.
    pub fn size(&self) -> usize {
        self.seconds.len()
    }

    /// Takes note of a step: the seconds of each rank. Every [`STEPS`] steps it reports a slow rank, once for each
    /// stretch in which the same rank is.
    pub fn step(&mut self, seconds: &[f32]) -> Option<Slow> {
        self.seconds.iter_mut().zip(seconds).for_each(|(sum, s)| *sum += f64::from(*s));
        self.steps += 1;
        if self.steps < STEPS {
            return None;
        }
        let mean: Vec<f64> = self.seconds.iter().map(|sum| sum / STEPS as f64).collect();
        *self = Self { named: self.named, ..Self::new(mean.len()) };
        let slow = slowest(&mean);
        let again = slow.map(|slow| slow.rank) == self.named;
        self.named = slow.map(|slow| slow.rank);
        slow.filter(|_| !again)
    }
}
