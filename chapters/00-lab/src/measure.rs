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
}

/// The samples of one quantity, in the order in which they were taken.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Samples(pub Vec<f64>);

impl Samples {
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

/// Seconds that each contender takes, sampled in turn (a, b, c, a, b, c, …), so that a change of clock
/// or a neighbour's load meets all of them alike. The plan's time is for each contender.
pub fn time_interleaved(plan: Plan, contenders: &mut [&mut dyn FnMut()]) -> Vec<Samples> {
    for work in contenders.iter_mut() {
        let start = Instant::now();
        loop {
            work();
            if start.elapsed() >= plan.warm_up {
                break;
            }
        }
    }
    let mut samples = vec![Vec::new(); contenders.len()];
    let mut spent = Duration::ZERO;
    let limit = plan.time * contenders.len() as u32;
    let mut rounds = 0;
    while rounds < plan.min_samples || (rounds < plan.max_samples && spent < limit) {
        for (work, samples) in contenders.iter_mut().zip(&mut samples) {
            let began = Instant::now();
            work();
            let took = began.elapsed();
            spent += took;
            samples.push(took.as_secs_f64());
        }
        rounds += 1;
    }
    samples.into_iter().map(Samples).collect()
}
