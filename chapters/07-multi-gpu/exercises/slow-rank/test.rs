//! The test of the exercise `slow-rank`.

#[cfg_attr(feature = "solutions", path = "solution.rs")]
#[cfg_attr(not(feature = "solutions"), path = "exercise.rs")]
mod exercise;

use exercise::slow;

/// Twenty steps in which each rank takes what it always takes.
fn steady(ranks: &[f64]) -> Vec<Vec<f64>> {
    vec![ranks.to_vec(); 20]
}

#[track_caller]
fn names(seconds: &[Vec<f64>], rank: usize, times: f64) {
    let (found, how_many) = slow(seconds, 2.0).expect("one rank is slow");
    assert_eq!(found, rank);
    assert!((how_many - times).abs() < 1e-9, "{how_many} instead of {times}");
}

#[test]
fn a_slow_rank_is_compared_with_the_others() {
    names(&steady(&[0.01, 0.01, 0.03, 0.01]), 2, 3.0);
    names(&steady(&[0.01, 0.02, 0.09]), 2, 6.0);
}

#[test]
fn of_two_ranks_the_other_one_is_the_measure() {
    names(&steady(&[0.05, 0.01]), 0, 5.0);
}

#[test]
fn one_slow_step_is_no_slow_rank() {
    let mut seconds = steady(&[0.01, 0.01, 0.01]);
    seconds[19][1] = 5.0;
    assert_eq!(slow(&seconds, 2.0), None);
    // And a slow rank is slow, even if it was fast at the end.
    let mut seconds = steady(&[0.01, 0.04, 0.01]);
    seconds[19][1] = 0.01;
    names(&seconds, 1, 4.0);
}

#[test]
fn a_second_slow_rank_does_not_hide_the_slowest() {
    names(&steady(&[0.01, 0.04, 0.01, 0.05, 0.01]), 3, 5.0);
}

#[test]
fn equal_ranks_one_rank_and_no_steps_name_no_rank() {
    assert_eq!(slow(&steady(&[0.01, 0.019, 0.01]), 2.0), None);
    assert_eq!(slow(&steady(&[0.01]), 2.0), None);
    assert_eq!(slow(&steady(&[]), 2.0), None);
    assert_eq!(slow(&[], 2.0), None);
}
