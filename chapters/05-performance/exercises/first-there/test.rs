//! The test of the exercise `first-there`.

#[cfg_attr(feature = "solutions", path = "solution.rs")]
#[cfg_attr(not(feature = "solutions"), path = "exercise.rs")]
mod exercise;

use exercise::{Epoch, reached, typical};

/// A run with an epoch every ten seconds.
fn run(accuracies: &[f64]) -> Vec<Epoch> {
    accuracies.iter().enumerate().map(|(at, &a)| (10.0 * (at + 1) as f64, a)).collect()
}

#[test]
fn the_first_epoch_counts() {
    let run = run(&[0.9, 0.96, 0.98, 0.975, 0.985]);
    assert_eq!(reached(&run, 0.98), Some(30.0));
    assert_eq!(reached(&run, 0.95), Some(20.0));
    assert_eq!(reached(&run, 0.9), Some(10.0));
    assert_eq!(reached(&run, 0.99), None);
    assert_eq!(reached(&[], 0.5), None);
}

#[test]
fn the_median_of_runs_that_all_get_there() {
    let runs = [run(&[0.98]), run(&[0.5, 0.98]), run(&[0.5, 0.6, 0.7, 0.98])];
    assert_eq!(typical(&runs, 0.98), Some(20.0));
    assert_eq!(typical(&runs[1..], 0.98), Some(30.0), "between two");
    assert_eq!(typical(&runs[..1], 0.98), Some(10.0));
}

#[test]
fn a_run_that_fails_is_slow_and_not_missing() {
    let (fast, never) = (run(&[0.98]), run(&[0.5, 0.9]));
    let runs = [never.clone(), fast.clone(), run(&[0.1, 0.98])];
    assert_eq!(typical(&runs, 0.98), Some(20.0));
    let runs = [never.clone(), never.clone(), fast.clone()];
    assert_eq!(typical(&runs, 0.98), None, "two of three fail");
    assert_eq!(typical(&[never, fast], 0.98), None, "one of two");
    assert_eq!(typical(&[], 0.98), None);
}

#[test]
fn luck_does_not_win() {
    // Four seeds of five diverge, and the fifth is fast; the other setting always gets there.
    let mut wild = vec![run(&[0.1; 8]); 4];
    wild.push(run(&[0.98]));
    let calm = vec![run(&[0.9, 0.95, 0.98]); 5];
    assert_eq!((typical(&wild, 0.98), typical(&calm, 0.98)), (None, Some(30.0)));
}
