//! The test of the exercise `online-softmax`.

#[cfg_attr(feature = "solutions", path = "solution.rs")]
mod exercise;

use exercise::log_sum_exp;
use lab::check::{SplitMix64, about, near, pairs};

/// Two passes, in f64.
fn reference(scores: &[f32]) -> f64 {
    let highest = scores.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let sum: f64 = scores.iter().map(|s| f64::from(s - highest).exp()).sum();
    f64::from(highest) + sum.ln()
}

#[test]
fn it_is_the_logarithm_of_the_sum() {
    let mut random = SplitMix64::new(3);
    for (len, scale) in pairs([1, 2, 10, 1000], [0.0, 1.0, 30.0, 1000.0]) {
        let scores = random.normals(len, scale);
        let (found, wanted) = (log_sum_exp(scores.iter().copied()), reference(&scores));
        let what = format!("{len} scores up to about {scale}");
        about(found, wanted, 1e-5, what);
    }
}

#[test]
fn the_order_does_not_matter() {
    for scores in [[1000.0, 0.0, -1000.0], [-1000.0, 0.0, 1000.0], [0.0, 1000.0, -1000.0]] {
        near(log_sum_exp(scores.into_iter()), 1000.0, 1e-3, format!("{scores:?}"));
    }
}

#[test]
fn the_edges_are_right() {
    let nothing = |sum: f32| sum.is_infinite() && sum < 0.0;
    let none = log_sum_exp(std::iter::empty());
    assert!(nothing(none), "no score gives {none}, and not minus infinity");
    let empty = log_sum_exp([f32::NEG_INFINITY; 3].into_iter());
    assert!(nothing(empty), "scores of minus infinity give {empty}");
    let one = log_sum_exp([f32::NEG_INFINITY, 2.5, f32::NEG_INFINITY].into_iter());
    near(one, 2.5, 1e-6, "one score that is not minus infinity");
    assert!(log_sum_exp([1.0, f32::NAN, 2.0].into_iter()).is_nan(), "a NaN must not vanish");
}
