//! Six ways to measure wrongly, each next to the right way, on the same small job.
//!
//! The wrong ways are those that benchmarks on the web use every day. Two of them need bad luck (a neighbour
//! that wakes up); there this module stages it, and its comments report it.

use crate::{Plan, Race, Result, Samples, Unit, machine, measure};
use std::{
    hint::black_box,
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::{Duration, Instant},
};

/// What the wrong and the right way report about one job.
#[derive(Clone, Debug, PartialEq)]
pub struct Fooled {
    /// The samples, or the one sample, of the wrong way.
    pub wrong: Samples,
    /// The samples of the right way.
    pub right: Samples,
}

impl Fooled {
    /// The wrong samples in units of the right median: 1 would be correct.
    pub fn ratio(&self) -> Samples {
        let truth = self.right.median();
        self.wrong.map(|wrong| wrong / truth)
    }
}

crate::named! {
    /// A mistake.
    pub enum Mistake("mistake") {
        /// The result is not used, so the compiler leaves out the work.
        Unused = "unused",
        /// The first call counts, in which the machine makes everything ready.
        Cold = "cold",
        /// One sample, and it is an unlucky one.
        Single = "single",
        /// The mean of samples, one of which a neighbour has spoilt.
        Mean = "mean",
        /// The clock's own overhead on top of work that is shorter.
        Clock = "clock",
        /// One contender after the other, while the machine changes in between.
        Turns = "turns",
    }
}

impl Mistake {
    /// The mistake in words.
    pub fn label(self) -> &'static str {
        match self {
            Self::Unused => "the result is not used",
            Self::Cold => "the first call counts",
            Self::Single => "one sample",
            Self::Mean => "the mean, not the median",
            Self::Clock => "work shorter than the clock",
            Self::Turns => "one contender after the other",
        }
    }

    /// What its samples are: seconds, or how many times longer the second of two equal contenders takes.
    pub fn unit(self) -> Unit {
        match self {
            Self::Turns => Unit::Ratio,
            _ => Unit::Seconds,
        }
    }

    /// Makes the mistake, and measures correctly next to it.
    ///
    /// # Errors
    /// As [`Race::run`].
    pub fn make(self, plan: Plan) -> Result<Fooled> {
        Ok(match self {
            Self::Unused => unused(plan),
            Self::Cold => cold(plan),
            Self::Single => single(plan),
            Self::Mean => mean(),
            Self::Clock => clock(plan),
            Self::Turns => turns(plan)?,
        })
    }
}

/// The job: a sum of squares. Inlined into what times it, in whichever part of the crate that is: only there can the
/// compiler see that nobody uses the sum.
#[inline]
fn squares(numbers: &[f32]) -> f32 {
    numbers.iter().map(|x| x * x).sum()
}

// ANCHOR: unused
/// The wrong way calls the job and drops what it returns. The compiler sees
/// that and drops the job.
fn unused(plan: Plan) -> Fooled {
    let numbers = vec![1.5; 1 << 16];
    let wrong = measure::time(plan, || {
        squares(&numbers);
    });
    let right = measure::time(plan, || {
        black_box(squares(black_box(&numbers)));
    });
    Fooled { wrong, right }
}
// ANCHOR_END: unused

// ANCHOR: cold
/// The wrong way times the first call, in which the system finds the memory
/// that the job writes to.
fn cold(plan: Plan) -> Fooled {
    let (mut wrong, mut right) = (Vec::new(), Vec::new());
    for _ in 0..plan.min_samples {
        let mut memory = vec![0_u8; 64 << 20];
        wrong.push(seconds(|| black_box(&mut memory).fill(1)));
        right.push(seconds(|| black_box(&mut memory).fill(2)));
        black_box(memory);
    }
    Fooled { wrong: Samples(wrong), right: Samples(right) }
}
// ANCHOR_END: cold

/// The wrong way takes one sample. Here it is the slowest of all that the right way took.
fn single(plan: Plan) -> Fooled {
    let numbers = vec![1.5; 1 << 16];
    let right = measure::time(plan, || {
        black_box(squares(black_box(&numbers)));
    });
    Fooled { wrong: Samples(vec![right.quantile(1.0)]), right }
}

/// The wrong way takes the mean. Into one of the samples falls another program's work: here it is a pause of
/// 20 ms, staged.
fn mean() -> Fooled {
    let numbers = vec![1.5; 1 << 16];
    let right: Vec<f64> = (0..51)
        .map(|sample| {
            seconds(|| {
                black_box(squares(black_box(&numbers)));
                if sample == 25 {
                    thread::sleep(Duration::from_millis(20));
                }
            })
        })
        .collect();
    let mean = right.iter().sum::<f64>() / right.len() as f64;
    Fooled { wrong: Samples(vec![mean]), right: Samples(right) }
}

/// The wrong way times each multiplication by itself, the right way a thousand of them.
fn clock(plan: Plan) -> Fooled {
    let (mut x, one) = (black_box(1.0_f32), black_box(1.0_f32)); // neither infinite nor denormal, ever
    let wrong = measure::time(plan, || x = black_box(x) * one);
    let right = measure::time(plan, || {
        for _ in 0..1000 {
            x = black_box(x) * one;
        }
    });
    Fooled { wrong, right: right.map(|seconds| seconds / 1000.0) }
}

/// Two contenders that are the same function, so neither is faster. Halfway through a neighbour wakes up and
/// takes every core for itself (staged). The wrong way has finished with the first contender by then.
fn turns(plan: Plan) -> Result<Fooled> {
    let numbers = vec![1.5; 1 << 20];
    let contender = || {
        for _ in 0..8 {
            black_box(squares(black_box(&numbers)));
        }
    };
    let half = Plan { time: plan.time / 2, max_samples: plan.min_samples.max(20), ..plan };

    let first = measure::time(half, contender);
    let second = Neighbour::beside(|| measure::time(half, contender));
    let wrong = second.map(|seconds| seconds / first.median());

    let in_turn = || {
        let mut race = Race::new();
        for name in ["first", "second"] {
            race.add(name, || {
                contender();
                Ok(())
            });
        }
        race.run(half)?.ratio("second", "first")
    };
    let quiet = in_turn()?;
    let noisy = Neighbour::beside(in_turn)?;
    let right = Samples([quiet.0, noisy.0].concat());
    Ok(Fooled { wrong, right })
}

/// Threads that keep every core busy until they are told to stop: two for each core, or the scheduler would
/// put both on one core and leave another to the contender.
struct Neighbour<'a>(&'a AtomicBool);

impl Neighbour<'_> {
    /// Runs `work` while the neighbour is running.
    fn beside<T>(work: impl FnOnce() -> T) -> T {
        let stop = AtomicBool::new(false);
        thread::scope(|scope| {
            // Dropped also if the work panics: the threads end in any case.
            let _neighbour = Neighbour(&stop);
            for _ in 0..2 * machine::cores() {
                scope.spawn(|| {
                    while !stop.load(Ordering::Relaxed) {
                        std::hint::spin_loop();
                    }
                });
            }
            work()
        })
    }
}

impl Drop for Neighbour<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

fn seconds(work: impl FnOnce()) -> f64 {
    let began = Instant::now();
    work();
    began.elapsed().as_secs_f64()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHORT: Plan = Plan::within(Duration::from_millis(10), 3, 9);

    #[test]
    fn every_mistake_has_both_sides_and_a_name_of_its_own() {
        let mut names = Vec::new();
        for mistake in Mistake::ALL {
            let fooled = mistake.make(SHORT).unwrap();
            for samples in [&fooled.wrong, &fooled.right] {
                assert!(!samples.0.is_empty(), "{mistake:?}");
                assert!(samples.0.iter().all(|s| s.is_finite() && *s >= 0.0), "{mistake:?}");
            }
            assert!(fooled.right.median() > 0.0, "{mistake:?}");
            assert_eq!(fooled.ratio().0.len(), fooled.wrong.0.len());
            names.push(mistake.name());
        }
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), Mistake::ALL.len());
    }

    #[test]
    fn one_outlier_moves_the_mean_and_not_the_median() {
        let fooled = mean();
        // The pause of 20 ms is there, once, and nowhere else on a machine that works at all.
        assert!(fooled.right.quantile(1.0) >= 0.02);
        assert!(fooled.wrong.median() > fooled.right.median());
    }

    #[test]
    fn the_neighbour_leaves_when_the_work_is_done() {
        assert_eq!(Neighbour::beside(|| 7), 7);
    }
}
