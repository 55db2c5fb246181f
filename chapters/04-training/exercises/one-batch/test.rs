//! The test of the exercise `one-batch`.

#[cfg_attr(feature = "solutions", path = "solution.rs")]
#[cfg_attr(not(feature = "solutions"), path = "exercise.rs")]
mod exercise;

use exercise::{Verdict, verdict};

/// A hundred losses that begin at ln 10.
fn curve(of: impl Fn(f64) -> f64) -> Vec<f64> {
    (0..100).map(|step| std::f64::consts::LN_10 * of(f64::from(step))).collect()
}

#[test]
fn a_curve_that_falls_to_zero_passes() {
    assert_eq!(verdict(&curve(|t| (-t / 10.0).exp()), 10), Verdict::Memorised);
    // A loss of 0.2 is small for ten classes.
    assert_eq!(verdict(&[2.3, 1.0, 0.2], 10), Verdict::Memorised);
    // It is not for two.
    assert_eq!(verdict(&[0.69, 0.4, 0.2], 2), Verdict::Stops);
}

#[test]
fn nothing_moves() {
    assert_eq!(verdict(&curve(|_| 1.0), 10), Verdict::Still);
    assert_eq!(verdict(&curve(|t| 1.0 + 1e-4 * t.sin()), 10), Verdict::Still);
    assert_eq!(verdict(&[2.3], 10), Verdict::Still);
    assert_eq!(verdict(&[], 10), Verdict::Still);
}

#[test]
fn it_rises_or_jumps() {
    assert_eq!(verdict(&curve(|t| 1.0 + t / 10.0), 10), Verdict::Rises);
    assert_eq!(verdict(&[2.3, 0.1, 9.0, 0.05, 4.0], 10), Verdict::Rises);
}

#[test]
fn it_stops_above_zero() {
    assert_eq!(verdict(&curve(|t| 0.6 + 0.4 * (-t / 5.0).exp()), 10), Verdict::Stops);
    // It swings and comes back to where it began: it has moved.
    assert_eq!(verdict(&[2.3, 1.0, 2.3], 10), Verdict::Stops);
}

#[test]
fn the_start_is_judged_by_the_classes() {
    assert_eq!(verdict(&[230.0, 50.0, 0.001], 10), Verdict::BadStart);
    assert_eq!(verdict(&[2.3, 1.0, 0.001], 1000), Verdict::BadStart);
    assert_eq!(verdict(&[6.9, 3.0, 0.001], 1000), Verdict::Memorised);
    assert_eq!(verdict(&[0.2, 0.1, 0.001], 10), Verdict::BadStart);
}

#[test]
fn the_first_nan_comes_before_all() {
    assert_eq!(verdict(&[2.3, 1.0, f64::NAN, f64::NAN], 10), Verdict::NotFinite(2));
    assert_eq!(verdict(&[f64::INFINITY, 1.0, 0.01], 10), Verdict::NotFinite(0));
    assert_eq!(verdict(&[230.0, f64::INFINITY, 0.01], 10), Verdict::NotFinite(1));
}
