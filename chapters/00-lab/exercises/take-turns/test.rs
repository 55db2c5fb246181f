//! The test of the exercise `take-turns`.

#[cfg_attr(feature = "solutions", path = "solution.rs")]
mod exercise;

use exercise::race;
use lab::{Samples, check::near};
use std::cell::Cell;

/// Runs a race of programs that would take `work` seconds on a machine that does not change. This one does:
/// its call number i takes `slower(i)` times as long.
fn run(work: &[f64], rounds: usize, slower: impl Fn(usize) -> f64) -> Vec<Samples> {
    let (now, calls) = (Cell::new(0.0), Cell::new(0));
    let call = |seconds: f64| {
        now.set(now.get() + seconds * slower(calls.get()));
        calls.set(calls.get() + 1);
    };
    let mut programs: Vec<_> = work.iter().map(|&seconds| move || call(seconds)).collect();
    let mut contenders: Vec<&mut dyn FnMut()> =
        programs.iter_mut().map(|program| program as &mut dyn FnMut()).collect();
    race(&|| now.get(), &mut contenders, rounds)
}

/// How many times longer than the first one each of the others takes, by the medians.
fn ratios(samples: &[Samples]) -> Vec<f64> {
    samples.iter().map(|other| other.median() / samples[0].median()).collect()
}

/// What they are.
const TIMES: &str = "how many times as long as the first the contenders take";

#[test]
fn each_contender_is_sampled_once_a_round() {
    // The first call of each is cold: it warms up, and is no sample.
    let samples = run(&[1.0, 2.0, 4.0], 5, |call| if call < 3 { 100.0 } else { 1.0 });
    let taken = |seconds: f64| Samples(vec![seconds; 5]);
    assert_eq!(samples, [taken(1.0), taken(2.0), taken(4.0)]);
    assert_eq!(run(&[], 5, |_| 1.0), []);
}

#[test]
fn the_faster_one_wins_on_a_machine_that_gets_hot() {
    let samples = run(&[1.0, 0.9], 10, |call| 1.0 + 0.02 * call as f64);
    let (first, second) = (samples[0].median(), samples[1].median());
    let said = format!("the race says {second:.3} s against {first:.3} s");
    assert!(second < first, "the second takes 10 % less time, and {said}");
}

#[test]
fn a_neighbour_that_wakes_up_halfway_disturbs_all_alike() {
    // Two calls to warm up, then 40 samples: the neighbour comes after 20 of them.
    let samples = run(&[1.0, 1.0], 20, |call| if call < 22 { 1.0 } else { 3.0 });
    near(ratios(&samples), [1.0, 1.0], 1e-9, TIMES);
}

#[test]
fn a_steady_drift_cancels() {
    let work = [1.0, 1.01, 0.99];
    for rounds in [2, 10, 30] {
        near(ratios(&run(&work, rounds, |call| 1.0 + 0.05 * call as f64)), work, 1e-9, TIMES);
    }
}
