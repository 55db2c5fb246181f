//! The test of the exercise `hot-spot`.

#[cfg_attr(feature = "solutions", path = "solution.rs")]
mod exercise;

use exercise::{Line, hot_spot, share};
use lab::check::near;

const PEAK: f64 = 100e9;
const BANDWIDTH: f64 = 10e9;

fn line(ms: f64, mflop: f64, mb: f64) -> Line {
    Line { seconds: ms / 1e3, flops: mflop * 1e6, bytes: mb * 1e6 }
}

#[test]
fn the_share_is_held_against_the_slower_of_the_two() {
    let lines = [(2.0, 100.0, 1.0), (2.0, 1.0, 10.0), (4.0, 0.0, 10.0), (1.0, 0.0, 20.0)];
    let found = lines.map(|(ms, mflop, mb)| share(&line(ms, mflop, mb), PEAK, BANDWIDTH));
    near(found, [0.5, 0.5, 0.25, 2.0], 1e-12, "shares of four lines");
}

#[test]
fn the_hot_spot_is_where_most_can_be_won() {
    // The slowest at 90% of its roofline, a small one at 1%, and the one to look at.
    let profile = [line(10.0, 900.0, 1.0), line(0.5, 0.5, 0.01), line(4.0, 0.0, 4.0)];
    let (at, gain) = hot_spot(&profile, PEAK, BANDWIDTH).expect("there is time to win");
    assert_eq!(at, 2);
    near(gain, 3.6e-3, 1e-9, "what can be won");
}

#[test]
fn where_nothing_can_be_won_there_is_none() {
    assert!(hot_spot(&[], PEAK, BANDWIDTH).is_none());
    assert!(hot_spot(&[line(1.0, 100.0, 0.0), line(1.0, 0.0, 30.0)], PEAK, BANDWIDTH).is_none());
}
