//! The test of the exercise `end-on-time`.

#[cfg_attr(feature = "solutions", path = "solution.rs")]
mod exercise;

use exercise::{Now, steps};
use lab::random::SplitMix64;

/// Tests in a run.
const TESTS: u64 = 20;

/// Before the first step, with nothing to subtract.
const START: Now = Now { done: 0, spent: 0.0, timed: &[0.5], tests: 0, test: 0.0 };

/// Runs a machine whose step number i takes `step(i)` seconds and returns the seconds and the steps of the whole run.
#[track_caller]
fn run(budget: f64, test: f64, mut step: impl FnMut(u64) -> f64) -> (f64, u64) {
    let mut timed: Vec<f64> = (0..20).map(&mut step).collect();
    let (mut done, mut spent) = (0, 0.0);
    for tests in (1..=TESTS).rev() {
        let all = steps(budget, Now { done, spent, timed: &timed, tests, test });
        assert!(all >= done, "{all} steps are planned after {done} were taken");
        assert!(all as f64 <= 100.0 * budget / timed[0], "{all} steps in {budget} s");
        // As far as the next test.
        let end = done + (all - done).div_ceil(tests);
        let times: Vec<f64> = (done..end).map(&mut step).collect();
        (done, spent) = (end, spent + times.iter().sum::<f64>() + test);
        if !times.is_empty() {
            timed = times;
        }
    }
    (spent, done)
}

#[track_caller]
fn ends_in(budget: f64, (spent, done): (f64, u64), what: &str) {
    println!("{what}: {done} steps in {spent:.1} s of {budget} s");
    assert!(spent <= 1.01 * budget, "{what}: {spent:.1} s, and the run has {budget} s");
    assert!(spent >= 0.97 * budget, "{what}: only {spent:.1} s of {budget} s are used");
}

#[test]
fn what_is_left_over_becomes_steps() {
    for (budget, now, wanted) in [
        (10.0, START, 20),
        (10.4, START, 20),
        (10.0, Now { timed: &[0.25, 0.25, 1.0], ..START }, 20),
        (10.0, Now { done: 6, spent: 4.0, ..START }, 18),
        (10.0, Now { tests: 4, test: 1.0, ..START }, 12),
        (10.0, Now { done: 3, spent: 7.0, tests: 2, test: 1.0, ..START }, 5),
    ] {
        assert_eq!(steps(budget, now), wanted, "{budget} s and {now:?}: steps of the whole run");
    }
}

#[test]
fn no_time_left_is_no_fewer_steps_than_were_taken() {
    let late = Now { done: 9, spent: 12.0, tests: 1, test: 1.0, ..START };
    let tested = Now { done: 9, spent: 9.0, tests: 3, test: 1.0, ..START };
    for (budget, now, wanted, why) in [
        (10.0, late, 9, "more is spent than the budget: the run ends here"),
        (10.0, tested, 9, "the tests to come need all that is left"),
        (0.1, START, 1, "a step that does not fit is taken all the same: one is least"),
        (0.0, START, 1, "a budget of nothing"),
        (1e300, Now { done: 5, ..START }, u64::MAX, "a budget without end"),
    ] {
        assert_eq!(steps(budget, now), wanted, "{why}");
    }
}

#[test]
fn a_steady_machine_ends_in_time() {
    for (budget, test) in [(60.0, 0.0), (60.0, 0.5), (600.0, 20.0)] {
        ends_in(budget, run(budget, test, |_| 0.02), &format!("tests of {test} s"));
    }
}

#[test]
fn a_few_slow_steps_count() {
    let mut random = SplitMix64::new(4);
    let mut uneven = |_| if random.below(10) == 0 { 0.1 } else { 0.01 };
    ends_in(300.0, run(300.0, 1.0, &mut uneven), "every tenth step takes ten times as long");
}

#[test]
fn a_machine_that_changes_its_speed_ends_in_time() {
    // 60 s at 0.02 s are 3,000 steps.
    let slower = |step: u64| if step < 1200 { 0.02 } else { 0.06 };
    let faster = |step: u64| if step < 1200 { 0.02 } else { 0.005 };
    ends_in(60.0, run(60.0, 0.2, slower), "three times slower on the way");
    ends_in(60.0, run(60.0, 0.2, faster), "four times faster on the way");
}
