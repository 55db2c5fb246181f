//! From scores to a token: temperature, top-k, top-p, and a seed.

use crate::{Error, Result};
use lab::random::{SplitMix64, key};
use serde::{Deserialize, Serialize};

/// How the next token is chosen.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Sampling {
    /// What the scores are divided by: below 1 the likely tokens gain, above 1 they lose; 0 takes the likeliest.
    pub temperature: f64,
    /// Only so many of the likeliest tokens; 0 for all of them.
    pub top_k: usize,
    /// Only the likeliest tokens that together have at least this probability; 1 for all of them (Holtzman and others 2020).
    pub top_p: f64,
    /// Where the chance comes from: the same seed and the same scores give the same tokens.
    pub seed: u64,
}

impl Default for Sampling {
    fn default() -> Self {
        Self { temperature: 0.8, top_k: 0, top_p: 0.95, seed: 0 }
    }
}

impl Sampling {
    /// The likeliest token, always.
    pub fn greedy() -> Self {
        Self { temperature: 0.0, ..Self::default() }
    }

    /// # Errors
    /// [`Error::Config`] for a choice that can't be drawn from.
    pub fn check(&self) -> Result<()> {
        let Self { temperature, top_p, .. } = *self;
        if !(0.0..=100.0).contains(&temperature) {
            return Err(Error::Config(format!(
                "the temperature is {temperature:?}; it must be 0 (the likeliest token) to 100"
            )));
        }
        if !(top_p > 0.0 && top_p <= 1.0) {
            return Err(Error::Config(format!(
                "top-p is {top_p:?}; it must be above 0, at most 1"
            )));
        }
        Ok(())
    }
}

/// Draws token after token. Number i depends on the seed, on i and on the scores alone.
#[derive(Clone, Debug)]
pub struct Sampler {
    how: Sampling,
    random: SplitMix64,
    /// Tokens that may be drawn, with their weights: kept for its memory.
    pub candidates: Vec<(f64, u32)>,
}

impl Sampler {
    /// A sampler at the beginning of its row of random numbers.
    ///
    /// # Errors
    /// As [`Sampling::check`].
    pub fn new(how: Sampling) -> Result<Self> {
        how.check()?;
        let random = SplitMix64::new(key(&[how.seed]));
        Ok(Self { how, random, candidates: Vec::new() })
    }

    /// The next token, by the scores of all tokens.
    ///
    /// # Errors
    /// [`Error::Config`] if a score is NaN, or none is finite: then the model's weights are broken.
    pub fn next(&mut self, scores: &[f32]) -> Result<u32> {
        let highest = scores.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        if !highest.is_finite() || scores.iter().any(|score| score.is_nan()) {
            return Err(Error::Config(
                "the model's scores are not numbers; train it again with a smaller learning rate"
                    .to_owned(),
            ));
        }
        // Drawn in any case, so that number i of the row belongs to token i.
        let chance = self.random.unit();
        if self.how.temperature == 0.0 {
            let best = scores.iter().position(|score| *score >= highest);
            return Ok(best.unwrap_or(0) as u32);
        }
        self.weigh(scores, highest);
        self.cut_k();
        self.cut_p();
        Ok(draw(&self.candidates, chance))
    }

    /// All tokens with e to the power of their score over the temperature; the highest has the weight 1.
    fn weigh(&mut self, scores: &[f32], highest: f32) {
        let weight = |score: f32| (f64::from(score - highest) / self.how.temperature).exp();
        let weighed = scores.iter().zip(0..).map(|(score, token)| (weight(*score), token));
        self.candidates.clear();
        self.candidates.extend(weighed);
    }

    /// Only the `top_k` likeliest; of equals, the first ones.
    fn cut_k(&mut self) {
        let k = self.how.top_k;
        if k > 0 && k < self.candidates.len() {
            self.candidates.select_nth_unstable_by(k - 1, likelier);
            self.candidates.truncate(k);
        }
    }

    /// Only the fewest that together reach `top_p`, the likeliest first.
    // ANCHOR: sampling
    fn cut_p(&mut self) {
        if self.how.top_p < 1.0 {
            let all: f64 = self.candidates.iter().map(|(weight, _)| weight).sum();
            // ANCHOR_END: sampling
            // What is below this, for every token, is less than 1 - p in all: the others suffice, and few are sorted.
            // ANCHOR: sampling
            let least = (1.0 - self.how.top_p) * all / self.candidates.len() as f64;
            self.candidates.retain(|(weight, _)| *weight >= least);
            self.candidates.sort_unstable_by(likelier);
            let mut left = self.how.top_p * all;
            let enough = self.candidates.iter().position(|(weight, _)| {
                left -= weight;
                left <= 0.0
            });
            self.candidates.truncate(enough.map_or(usize::MAX, |last| last + 1));
        }
    }
    // ANCHOR_END: sampling
}

/// The likelier one first; of equals, the one with the smaller number.
pub fn likelier(a: &(f64, u32), b: &(f64, u32)) -> std::cmp::Ordering {
    b.0.total_cmp(&a.0).then(a.1.cmp(&b.1))
}

/// The token in whose part of all weights `chance` (0 to 1) falls.
fn draw(candidates: &[(f64, u32)], chance: f64) -> u32 {
    let mut left = chance * candidates.iter().map(|(weight, _)| weight).sum::<f64>();
    let found = candidates.iter().find(|(weight, _)| {
        left -= weight;
        left < 0.0
    });
    // Rounding may leave a little at the end.
    found.or(candidates.last()).map_or(0, |(_, token)| *token)
}
