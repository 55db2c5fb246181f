//! The test of the exercise `one-batch`.

#[cfg_attr(feature = "solutions", path = "solution.rs")]
mod exercise;

use exercise::Verdict::{BadStart, Memorised, NotFinite, Rises, Still, Stops};
use exercise::verdict;
use lab::check::all;

/// A hundred losses that begin at ln 10.
fn curve(of: impl Fn(f64) -> f64) -> Vec<f64> {
    (0..100).map(|step| std::f64::consts::LN_10 * of(f64::from(step))).collect()
}

#[test]
fn by_hand() {
    let (falls, nan) = (curve(|t| (-t / 10.0).exp()), f64::NAN);
    all([
        ("a curve that falls to zero passes", verdict(&falls, 10), Memorised),
        ("a loss of 0.2 is small for ten classes", verdict(&[2.3, 1.0, 0.2], 10), Memorised),
        ("it is not for two", verdict(&[0.69, 0.4, 0.2], 2), Stops),
        ("nothing moves", verdict(&curve(|_| 1.0), 10), Still),
        ("nothing moves", verdict(&curve(|t| 1.0 + 1e-4 * t.sin()), 10), Still),
        ("nothing moves", verdict(&[2.3], 10), Still),
        ("nothing moves", verdict(&[], 10), Still),
        ("it rises", verdict(&curve(|t| 1.0 + t / 10.0), 10), Rises),
        ("it jumps", verdict(&[2.3, 0.1, 9.0, 0.05, 4.0], 10), Rises),
        ("it stops above zero", verdict(&curve(|t| 0.6 + 0.4 * (-t / 5.0).exp()), 10), Stops),
        ("it swings back to where it began: it has moved", verdict(&[2.3, 1.0, 2.3], 10), Stops),
        ("the start is judged by the classes", verdict(&[230.0, 50.0, 0.001], 10), BadStart),
        ("the start is judged by the classes", verdict(&[2.3, 1.0, 0.001], 1000), BadStart),
        ("the start is judged by the classes", verdict(&[6.9, 3.0, 0.001], 1000), Memorised),
        ("the start is judged by the classes", verdict(&[0.2, 0.1, 0.001], 10), BadStart),
        ("the first NaN comes before all", verdict(&[2.3, 1.0, nan, nan], 10), NotFinite(2)),
        ("the first infinity, too", verdict(&[f64::INFINITY, 1.0, 0.01], 10), NotFinite(0)),
        ("the first infinity, too", verdict(&[230.0, f64::INFINITY, 0.01], 10), NotFinite(1)),
    ]);
}
