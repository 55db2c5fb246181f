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
                "the temperature is {temperature}; it must be 0 (the likeliest token) to 100"
            )));
        }
        if !(top_p > 0.0 && top_p <= 1.0) {
            let what = "it must be above 0, and at most 1 (all tokens)";
            return Err(Error::Config(format!("top-p is {top_p}; {what}")));
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
    candidates: Vec<(f64, u32)>,
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
fn likelier(a: &(f64, u32), b: &(f64, u32)) -> std::cmp::Ordering {
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

#[cfg(test)]
mod tests {
    use super::*;
    use lab::random::numbers;

    fn drawn(how: Sampling, scores: &[f32], times: usize) -> Vec<u32> {
        let mut sampler = Sampler::new(how).unwrap();
        (0..times).map(|_| sampler.next(scores).unwrap()).collect()
    }

    fn all() -> Sampling {
        Sampling { temperature: 1.0, top_k: 0, top_p: 1.0, seed: 1 }
    }

    #[test]
    fn tokens_come_as_often_as_their_probability_says() {
        let shares = [0.5_f64, 0.3, 0.15, 0.05];
        let scores: Vec<f32> = shares.iter().map(|p| p.ln() as f32 + 7.0).collect();
        let tokens = drawn(all(), &scores, 20_000);
        for (token, share) in shares.iter().enumerate() {
            let found = tokens.iter().filter(|t| **t == token as u32).count() as f64 / 20_000.0;
            assert!((found - share).abs() < 0.015, "{token}: {found}");
        }
        // At a temperature of 2 the odds of two tokens are the roots of what they were.
        let tokens = drawn(Sampling { temperature: 2.0, ..all() }, &scores, 20_000);
        let count = |token| tokens.iter().filter(|t| **t == token).count() as f64;
        assert!((count(0) / count(3) - 10_f64.sqrt()).abs() < 0.4);
    }

    #[test]
    fn the_same_seed_gives_the_same_tokens() {
        let scores = numbers(500, 9);
        let how = Sampling { temperature: 1.5, top_k: 40, top_p: 0.9, seed: 3 };
        assert_eq!(drawn(how, &scores, 100), drawn(how, &scores, 100));
        assert_ne!(drawn(how, &scores, 100), drawn(Sampling { seed: 4, ..how }, &scores, 100));
    }

    #[test]
    fn a_temperature_of_0_and_a_single_candidate_take_the_likeliest() {
        let mut scores = numbers(300, 2);
        scores[17] = 5.0;
        scores[90] = 5.0; // the first of equals
        for how in [
            Sampling::greedy(),
            Sampling { top_k: 1, ..all() },
            Sampling { top_p: 1e-9, ..all() },
            Sampling { temperature: 1e-3, top_k: 1, ..all() },
        ] {
            assert_eq!(drawn(how, &scores, 5), [17; 5], "{how:?}");
        }
    }

    #[test]
    fn top_k_and_top_p_keep_what_they_say() {
        let shares = [0.1_f64, 0.4, 0.05, 0.25, 0.2];
        let scores: Vec<f32> = shares.iter().map(|p| p.ln() as f32).collect();
        let kept = |how| {
            let mut tokens = drawn(how, &scores, 2000);
            tokens.sort_unstable();
            tokens.dedup();
            tokens
        };
        assert_eq!(kept(all()), [0, 1, 2, 3, 4]);
        assert_eq!(kept(Sampling { top_k: 2, ..all() }), [1, 3]);
        assert_eq!(kept(Sampling { top_k: 9, ..all() }), [0, 1, 2, 3, 4]);
        assert_eq!(kept(Sampling { top_p: 0.39, ..all() }), [1]);
        assert_eq!(kept(Sampling { top_p: 0.64, ..all() }), [1, 3]);
        assert_eq!(kept(Sampling { top_p: 0.7, ..all() }), [1, 3, 4]);
        // Top-p counts what top-k has left: 0.4 and 0.25 of 0.65.
        assert_eq!(kept(Sampling { top_k: 2, top_p: 0.6, ..all() }), [1]);
    }

    #[test]
    fn top_p_is_the_smallest_set_that_suffices() {
        let scores: Vec<f32> = numbers(400, 5).iter().map(|x| 4.0 * x).collect();
        let sum: f64 = scores.iter().map(|s| f64::from(*s).exp()).sum();
        let mut order: Vec<(f64, u32)> =
            scores.iter().zip(0..).map(|(s, t)| (f64::from(*s).exp() / sum, t)).collect();
        order.sort_by(likelier);
        for p in [0.01, 0.3, 0.9, 0.999] {
            let mut sampler = Sampler::new(Sampling { top_p: p, ..all() }).unwrap();
            sampler.next(&scores).unwrap();
            let kept = sampler.candidates.len();
            let reached = |n: usize| order[..n].iter().map(|(p, _)| p).sum::<f64>();
            assert!(reached(kept) > p - 1e-9 && reached(kept - 1) < p + 1e-9, "{p}: {kept}");
        }
    }

    #[test]
    fn what_cannot_be_drawn_from_is_refused() {
        for how in [
            Sampling { temperature: -1.0, ..all() },
            Sampling { temperature: f64::NAN, ..all() },
            Sampling { top_p: 0.0, ..all() },
            Sampling { top_p: 1.5, ..all() },
            Sampling { top_p: f64::NAN, ..all() },
        ] {
            assert!(Sampler::new(how).is_err(), "{how:?}");
        }
        let mut sampler = Sampler::new(all()).unwrap();
        for scores in [&[][..], &[f32::NAN, 1.0], &[f32::NEG_INFINITY; 2], &[f32::INFINITY, 0.0]] {
            let text = sampler.next(scores).unwrap_err().to_string();
            assert!(text.contains("not numbers"), "{text}");
        }
        assert_eq!(sampler.next(&[f32::NEG_INFINITY, 0.0]).unwrap(), 1);
    }
}
