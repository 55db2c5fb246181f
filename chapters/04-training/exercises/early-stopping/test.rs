//! The test of the exercise `early-stopping`.

#[cfg_attr(feature = "solutions", path = "solution.rs")]
mod exercise;

use exercise::{Stop, early_stop};

fn check(losses: &[f64], patience: usize, kept: Option<usize>, after: usize) {
    let found = early_stop(losses, patience);
    assert_eq!(found, Stop { kept, after }, "losses {losses:?} with patience {patience}");
}

#[test]
fn a_run_that_gets_better_and_better_goes_on_to_the_end() {
    check(&[5.0, 4.0, 3.0, 2.0], 1, Some(4), 4);
    check(&[5.0, 4.0, 3.0, 3.5], 2, Some(3), 4);
}

#[test]
fn it_ends_when_patience_is_over_and_keeps_the_best() {
    check(&[5.0, 3.0, 4.0, 4.1, 4.2, 4.3], 1, Some(2), 3);
    check(&[5.0, 3.0, 4.0, 4.1, 4.2, 4.3], 3, Some(2), 5);
    // The best of all would have come later: patience is a bet.
    check(&[5.0, 3.0, 4.0, 4.0, 1.0], 2, Some(2), 4);
}

#[test]
fn patience_counts_from_the_best_and_not_from_the_epoch_before() {
    check(&[2.0, 4.0, 3.0, 4.0, 3.0, 1.0], 3, Some(1), 4);
    check(&[4.0, 5.0, 3.0, 5.0, 2.0, 5.0, 5.0, 5.0], 2, Some(5), 7);
}

#[test]
fn as_good_is_not_better() {
    check(&[2.0, 2.0, 2.0, 2.0], 2, Some(1), 3);
    check(&[3.0, 2.0, 2.5, 2.0, 2.5, 1.0], 3, Some(2), 5);
}

#[test]
fn nan_and_infinity_are_never_better() {
    for no_number in [f64::NAN, -f64::NAN, f64::INFINITY] {
        check(&[3.0, no_number, 2.0, no_number, no_number, 1.0], 2, Some(3), 5);
        check(&[no_number, no_number, 2.0, 1.0], 3, Some(4), 4);
        check(&[3.0, no_number, 3.0], 5, Some(1), 3);
    }
}

#[test]
fn where_nothing_was_better_than_nothing_there_is_nothing_to_keep() {
    check(&[f64::NAN; 5], 3, None, 3);
    check(&[-f64::NAN; 2], 3, None, 2);
    check(&[], 3, None, 0);
}
