//! The test of the exercise `ridge-point`.

#[cfg_attr(feature = "solutions", path = "solution.rs")]
mod exercise;

use exercise::{Card, better, reached, ridge};
use lab::check::close;

const FAST: Card = Card { peak: 989e12, bandwidth: 3.35e12 };
const WIDE: Card = Card { peak: 400e12, bandwidth: 4.8e12 };

#[test]
fn at_the_ridge_both_limits_are_equal() {
    for card in [FAST, WIDE] {
        let at = ridge(&card);
        close(at * card.bandwidth, card.peak, 1e-12, format!("the rate at {at}"));
        close(reached(&card, at, 1.0), card.peak, 1e-12, format!("what is reached at {at}"));
    }
}

#[test]
fn left_of_the_ridge_bytes_are_the_limit() {
    close(reached(&FAST, 10.0 * 7e9, 7e9), 10.0 * 3.35e12, 1e-12, "left of it");
    close(reached(&FAST, 1e15, 1e9), 989e12, 1e-12, "right of it");
}

#[test]
fn the_better_card_depends_on_the_step() {
    assert_eq!(better(&[FAST, WIDE], 10e9, 1e9), 1);
    assert_eq!(better(&[FAST, WIDE], 1000e9, 1e9), 0);
    assert_eq!(better(&[FAST, FAST], 1e9, 1e9), 0);
}
