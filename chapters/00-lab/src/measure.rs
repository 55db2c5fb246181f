//! Measuring time without fooling yourself: warm up, take many samples, report the median and the spread.

use serde::{Deserialize, Serialize};
use std::time::{Duration, Instant};

/// How long a measurement may take and how many samples it wants.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// The work runs this long, at least once, before the first sample.
    pub warm_up: Duration,
    /// Sampling stops after this long, once there are `min_samples`.
    pub time: Duration,
    /// The fewest samples, however long they take.
    pub min_samples: usize,
    /// The most samples, however short they are.
    pub max_samples: usize,
}

impl Plan {
    /// For a reader who waits: a few tenths of a second for each measurement.
    pub const QUICK: Self = Self {
        warm_up: Duration::from_millis(50),
        time: Duration::from_millis(250),
        min_samples: 3,
        max_samples: 100,
    };
    /// For the reference machines: seconds for each measurement.
    pub const FULL: Self = Self {
        warm_up: Duration::from_millis(300),
        time: Duration::from_secs(2),
        min_samples: 11,
        max_samples: 500,
    };

    /// So many samples, however long they take, after a first run.
    pub const fn times(count: usize) -> Self {
        Self::within(Duration::ZERO, count, count)
    }

    /// At least and at most so many samples, in about this time, after a first run.
    pub const fn within(time: Duration, min_samples: usize, max_samples: usize) -> Self {
        Self { warm_up: Duration::ZERO, time, min_samples, max_samples }
    }
}

/// The samples of one quantity, in the order in which they were taken.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Samples(#[serde(deserialize_with = "or_nan")] pub Vec<f64>);

/// JSON has no NaN: it is written as null.
fn or_nan<'de, D: serde::Deserializer<'de>>(json: D) -> Result<Vec<f64>, D::Error> {
    let samples = Vec::<Option<f64>>::deserialize(json)?;
    Ok(samples.into_iter().map(|sample| sample.unwrap_or(f64::NAN)).collect())
}

impl Samples {
    /// A quantity that is not sampled: it is counted, calculated, or measured once.
    pub fn one(value: f64) -> Self {
        Self(vec![value])
    }

    /// `f` of each sample and the other row's of the same round, such as their ratio or their difference; rounds that one
    /// of the two lacks are left out.
    #[must_use]
    pub fn paired(&self, other: &Self, f: impl Fn(f64, f64) -> f64) -> Self {
        Self(self.0.iter().zip(&other.0).map(|(one, two)| f(*one, *two)).collect())
    }

    /// The middle value (the mean of the two middle ones); NaN without samples.
    pub fn median(&self) -> f64 {
        self.quantile(0.5)
    }

    /// The quantile `q` (0 to 1), linear between neighbours; NaN without samples.
    /// (Hyndman and Fan 1996, type 7.)
    pub fn quantile(&self, q: f64) -> f64 {
        let mut sorted = self.0.clone();
        sorted.sort_by(f64::total_cmp);
        let Some(last) = sorted.len().checked_sub(1) else {
            return f64::NAN;
        };
        let at = q.clamp(0.0, 1.0) * last as f64;
        let (low, part) = (at.floor() as usize, at.fract());
        sorted[low] + part * (sorted[(low + 1).min(last)] - sorted[low])
    }

    /// The lower and the upper quartile: half of the samples lie between them.
    pub fn spread(&self) -> (f64, f64) {
        (self.quantile(0.25), self.quantile(0.75))
    }

    /// At most `most` of the samples (two at least), still in the order in which they were taken: those whose ranks lie
    /// evenly from the smallest to the largest, so that median and quartiles stay where they are, to half a rank.
    #[must_use]
    pub fn thinned(&self, most: usize) -> Self {
        let (last, steps) = (self.0.len().saturating_sub(1), most.max(2) - 1);
        if last <= steps {
            return self.clone();
        }
        let mut by_size: Vec<usize> = (0..=last).collect();
        by_size.sort_by(|&a, &b| self.0[a].total_cmp(&self.0[b]));
        let mut kept: Vec<usize> =
            (0..=steps).map(|step| by_size[(step * last + steps / 2) / steps]).collect();
        kept.sort_unstable();
        Self(kept.into_iter().map(|at| self.0[at]).collect())
    }

    /// Each sample put through `f`: seconds become a rate, for example.
    #[must_use]
    pub fn map(&self, f: impl Fn(f64) -> f64) -> Self {
        Self(self.0.iter().copied().map(f).collect())
    }
}

/// Seconds that one call of `work` takes: the plan's warm-up, then its samples.
// ANCHOR: time
pub fn time(plan: Plan, mut work: impl FnMut()) -> Samples {
    let start = Instant::now();
    loop {
        work();
        if start.elapsed() >= plan.warm_up {
            break;
        }
    }
    let start = Instant::now();
    let mut samples = Vec::new();
    while samples.len() < plan.min_samples
        || (samples.len() < plan.max_samples && start.elapsed() < plan.time)
    {
        let began = Instant::now();
        work();
        samples.push(began.elapsed().as_secs_f64());
    }
    Samples(samples)
}
// ANCHOR_END: time

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn quartiles_of_a_known_row() {
        // R: quantile(c(1, 2, 3, 4, 10), type = 7)
        let samples = Samples(vec![10.0, 1.0, 4.0, 3.0, 2.0]);
        assert_eq!((samples.median(), samples.spread()), (3.0, (2.0, 4.0)));
        let samples = Samples(vec![1.0, 2.0, 4.0, 8.0]);
        assert_eq!((samples.median(), samples.spread()), (3.0, (1.75, 5.0)));
        let none = Samples::default();
        assert!(none.median().is_nan() && none.quantile(1.0).is_nan());
    }

    #[test]
    fn work_runs_once_before_the_samples_and_as_often_as_the_plan_says() {
        let mut calls = 0;
        let samples = time(Plan::within(Duration::ZERO, 5, 9), || calls += 1);
        assert_eq!((samples.0.len(), calls), (5, 6));
        let mut calls = 0;
        let samples = time(Plan::within(Duration::from_hours(1), 5, 9), || calls += 1);
        assert_eq!((samples.0.len(), calls), (9, 10));
        assert!(samples.0.iter().all(|&seconds| seconds >= 0.0));
    }

    #[test]
    fn a_long_job_is_sampled_until_the_time_is_over() {
        let plan = Plan::within(Duration::from_millis(30), 1, 1000);
        let samples = time(plan, || std::thread::sleep(Duration::from_millis(10)));
        assert!((1..=4).contains(&samples.0.len()), "{samples:?}");
        assert!(samples.0.iter().all(|&seconds| seconds >= 0.01));
    }

    proptest! {
        /// Against the definition: the value at (n − 1)·q of the sorted row, linear between neighbours.
        #[test]
        fn quantiles_are_those_of_the_definition(
            mut values in prop::collection::vec(-1e3_f64..1e3, 1..30), q in 0.0_f64..=1.0,
        ) {
            let quantile = Samples(values.clone()).quantile(q);
            values.sort_by(f64::total_cmp);
            let at = (values.len() - 1) as f64 * q;
            let weights = values.iter().enumerate().map(|(i, v)| (1.0 - (at - i as f64).abs()).max(0.0) * v);
            prop_assert!((weights.sum::<f64>() - quantile).abs() < 1e-9);
        }

        #[test]
        fn thinned_samples_keep_ends_order_and_spread(
            values in prop::collection::vec(-1e3_f64..1e3, 1..400), most in 2_usize..120,
        ) {
            let all = Samples(values.clone());
            let kept = all.thinned(most);
            prop_assert_eq!(kept.0.len(), values.len().min(most));
            // They are a part of the whole, in its order.
            let mut rest = values.iter();
            prop_assert!(kept.0.iter().all(|sample| rest.any(|old| old.to_bits() == sample.to_bits())));
            if values.len() > most {
                prop_assert_eq!(kept.quantile(0.0).to_bits(), all.quantile(0.0).to_bits());
                prop_assert_eq!(kept.quantile(1.0).to_bits(), all.quantile(1.0).to_bits());
                // A quantile of those that are kept lies within a step of ranks of the true one.
                let step = 1.0 / (most - 1) as f64;
                for q in [0.25, 0.5, 0.75] {
                    prop_assert!(kept.quantile(q) >= all.quantile(q - step) - 1e-9);
                    prop_assert!(kept.quantile(q) <= all.quantile(q + step) + 1e-9);
                }
            }
        }

    }
}
