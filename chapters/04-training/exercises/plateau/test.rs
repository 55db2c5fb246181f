//! The test of the exercise `plateau`.

#[cfg_attr(feature = "solutions", path = "solution.rs")]
mod exercise;

use exercise::ReduceOnPlateau;
use lab::check::near;

/// Halves the rate, which begins at 1, after two bad epochs and one more.
fn halving() -> ReduceOnPlateau {
    ReduceOnPlateau { factor: 0.5, patience: 2, ..ReduceOnPlateau::new(1.0) }
}

/// The rates after these losses.
#[track_caller]
fn check(mut rule: ReduceOnPlateau, losses: &[f64], wanted: &[f64]) {
    let start = rule.clone();
    let found: Vec<f64> = losses.iter().map(|loss| rule.step(*loss)).collect();
    near(&found, wanted, 1e-12, format!("losses {losses:?}\nrates {found:?} of {start:?}"));
}

#[test]
fn a_loss_that_falls_keeps_the_rate() {
    check(halving(), &[5.0, 4.0, 3.0, 2.0, 1.0, 0.5], &[1.0; 6]);
}

#[test]
fn the_epoch_after_patience_is_over_halves_it() {
    check(halving(), &[3.0, 3.0, 3.0, 3.0, 2.0], &[1.0, 1.0, 1.0, 0.5, 0.5]);
    // It counts anew after each reduction.
    let rates = [1.0, 1.0, 1.0, 0.5, 0.5, 0.5, 0.25, 0.25, 0.25, 0.125];
    check(halving(), &[3.0; 10], &rates);
    // Without patience, the first bad epoch does it.
    let hasty = ReduceOnPlateau { patience: 0, ..halving() };
    check(hasty, &[3.0, 3.0, 2.0, 2.5], &[1.0, 0.5, 0.5, 0.25]);
}

#[test]
fn it_compares_with_the_best_and_not_with_the_epoch_before() {
    // The third and the fifth are better than the one before, and none is better than the first.
    check(halving(), &[2.0, 4.0, 3.0, 5.0, 2.5], &[1.0, 1.0, 1.0, 0.5, 0.5]);
    // A better one ends the count.
    check(halving(), &[3.0, 3.0, 3.0, 2.0, 2.0, 2.0, 2.0], &[1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 0.5]);
}

#[test]
fn what_is_better_by_less_than_the_threshold_is_not_better() {
    let coarse = ReduceOnPlateau { threshold: 0.1, patience: 1, ..halving() };
    check(coarse.clone(), &[1.0, 0.95, 0.91], &[1.0, 1.0, 0.5]);
    check(coarse, &[1.0, 0.95, 0.89, 0.85], &[1.0, 1.0, 1.0, 1.0]);
}

#[test]
fn in_the_cooldown_no_epoch_is_bad() {
    let cool = ReduceOnPlateau { patience: 1, cooldown: 3, ..halving() };
    let rates = [1.0, 1.0, 0.5, 0.5, 0.5, 0.5, 0.5, 0.25, 0.25];
    check(cool.clone(), &[3.0; 9], &rates);
    // What is better in the cooldown is the best from then on.
    let losses = [3.0, 3.0, 3.0, 2.0, 2.5, 2.5, 2.5, 2.5];
    check(cool, &losses, &[1.0, 1.0, 0.5, 0.5, 0.5, 0.5, 0.5, 0.25]);
}

#[test]
fn the_rate_stays_above_its_floor() {
    let held = ReduceOnPlateau { patience: 0, min_lr: 0.3, ..halving() };
    check(held, &[1.0, 1.0, 1.0, 1.0], &[1.0, 0.5, 0.3, 0.3]);
}

#[test]
fn nan_is_a_bad_epoch() {
    let rates = [1.0, 1.0, 1.0, 0.5, 0.5];
    check(halving(), &[2.0, f64::NAN, f64::NAN, f64::NAN, 1.0], &rates);
    check(halving(), &[f64::NAN, f64::NAN, f64::NAN, 1.0, 2.0], &[1.0, 1.0, 0.5, 0.5, 0.5]);
}
