//! The test of the exercise `slow-rank`.

#[cfg_attr(feature = "solutions", path = "solution.rs")]
mod exercise;

use exercise::slow;
use lab::check::near;

/// Twenty steps in which each rank takes what it always takes.
fn steady(ranks: &[f64]) -> Vec<Vec<f64>> {
    vec![ranks.to_vec(); 20]
}

#[track_caller]
fn names(seconds: &[Vec<f64>], rank: usize, times: f64, law: &str) {
    let (found, how_many) = slow(seconds, 2.0).expect("one rank is slow");
    assert_eq!(found, rank, "{law}: the slow rank");
    near(how_many, times, 1e-9, format!("{law}: how many times slower"));
}

#[test]
fn a_slow_rank_is_compared_with_the_others() {
    let steady = |ranks: &[f64], rank, times, law| names(&steady(ranks), rank, times, law);
    steady(&[0.01, 0.01, 0.03, 0.01], 2, 3.0, "one of four");
    steady(&[0.01, 0.02, 0.09], 2, 6.0, "one of three");
    steady(&[0.05, 0.01], 0, 5.0, "of two ranks the other one is the measure");
    let slow = "a second slow rank does not hide the slowest";
    steady(&[0.01, 0.04, 0.01, 0.05, 0.01], 3, 5.0, slow);
}

#[test]
fn one_slow_step_is_no_slow_rank() {
    let mut seconds = steady(&[0.01, 0.01, 0.01]);
    seconds[19][1] = 5.0;
    assert_eq!(slow(&seconds, 2.0), None);
    // And a slow rank is slow, even if it was fast at the end.
    let mut seconds = steady(&[0.01, 0.04, 0.01]);
    seconds[19][1] = 0.01;
    names(&seconds, 1, 4.0, "fast at the end");
}

#[test]
fn equal_ranks_one_rank_and_no_steps_name_no_rank() {
    for seconds in [steady(&[0.01, 0.019, 0.01]), steady(&[0.01]), steady(&[]), vec![]] {
        assert_eq!(slow(&seconds, 2.0), None, "{seconds:?}");
    }
}
