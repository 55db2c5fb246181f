//! Sums in a format: one after the other, in pairs, with Kahan's correction, and with rounding by dice.
//!
//! Each operation is done in f64 and then rounded to the format. For the sum of two numbers of a format with up to 24
//! digits this gives the very result of a machine that has the format (Figueroa 1995: 53 ≥ 2·24 + 2).

use super::{Format, Overflow, Rounding};
use backprop::random::SplitMix64;

/// A format to compute in, and how it rounds.
#[derive(Clone, Debug)]
pub struct Arithmetic {
    format: Format,
    dice: Option<SplitMix64>,
}

impl Arithmetic {
    /// Rounds to the nearest number, ties to even.
    pub const fn nearest(format: Format) -> Self {
        Self { format, dice: None }
    }

    /// Rounds by dice that start with `seed`: [`Rounding::Stochastic`].
    pub const fn stochastic(format: Format, seed: u64) -> Self {
        Self { format, dice: Some(SplitMix64::new(seed)) }
    }

    /// `x` in the format; infinity (or NaN) where it is too large.
    pub fn round(&mut self, x: f64) -> f64 {
        let rounding =
            self.dice.as_mut().map_or(Rounding::Nearest, |d| Rounding::Stochastic(d.next()));
        self.format.decode(self.format.encode(x, rounding, Overflow::Special))
    }

    /// The sum from the first to the last.
    pub fn running(&mut self, terms: impl IntoIterator<Item = f64>) -> f64 {
        let mut sum = 0.0;
        for term in terms {
            sum = self.round(sum + term);
        }
        sum
    }

    // ANCHOR: pairwise
    /// The sum of the first half plus the sum of the second half, each in the
    /// same way.
    pub fn pairwise(&mut self, terms: &[f64]) -> f64 {
        match terms {
            [] => 0.0,
            &[one] => self.round(one),
            _ => {
                let (first, second) = terms.split_at(terms.len() / 2);
                let sum = self.pairwise(first) + self.pairwise(second);
                self.round(sum)
            }
        }
    }
    // ANCHOR_END: pairwise

    /// The sum from the first to the last with Kahan's correction: [`Kahan`].
    pub fn kahan(&mut self, terms: impl IntoIterator<Item = f64>) -> f64 {
        let mut kahan = Kahan::default();
        for term in terms {
            kahan.add(self, term);
        }
        kahan.sum
    }
}

/// A running sum, and what its roundings have lost so far (Kahan 1965).
#[derive(Clone, Copy, Debug, Default)]
pub struct Kahan {
    /// The sum.
    pub sum: f64,
    /// How much of the terms is not yet in the sum, negative.
    lost: f64,
}

impl Kahan {
    // ANCHOR: kahan
    /// Adds `term`. Each operation rounds to the format.
    pub fn add(&mut self, format: &mut Arithmetic, term: f64) {
        let term = format.round(term - self.lost);
        let sum = format.round(self.sum + term);
        // What the sum has grown by, less what it should have grown by.
        let grown = format.round(sum - self.sum);
        self.lost = format.round(grown - term);
        self.sum = sum;
    }
    // ANCHOR_END: kahan
}

// ANCHOR: stall
/// Where a running sum of terms `term` stops growing: the first power of two
/// at which half of the gap to the next number is no smaller than the term.
/// Infinity, if the format's numbers end before.
pub fn stall(format: Format, term: f64) -> f64 {
    // Above it a gap is 2 * term or more.
    let gap = 2f64.powf((2.0 * term).log2().ceil());
    let sum = gap / format.epsilon();
    if sum > format.max() { f64::INFINITY } else { sum }
}
// ANCHOR_END: stall

// ANCHOR: kahan_stall
/// Where a sum with Kahan's correction stops growing: what is lost is a running
/// sum itself, and must not stagnate before it is half of a gap of the sum.
pub fn kahan_stall(format: Format, term: f64) -> f64 {
    stall(format, stall(format, term))
}
// ANCHOR_END: kahan_stall

/// The exact products of two rows, from the first to the last: what a matrix unit adds up. Two numbers of up to 26 bits
/// have a product that is exact in f64.
pub fn products<'a>(x: &'a [f64], y: &'a [f64]) -> impl Iterator<Item = f64> + 'a {
    x.iter().zip(y).map(|(x, y)| x * y)
}
