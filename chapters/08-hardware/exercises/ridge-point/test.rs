//! The test of the exercise `ridge-point`.

#[cfg_attr(feature = "solutions", path = "solution.rs")]
#[cfg_attr(not(feature = "solutions"), path = "exercise.rs")]
mod exercise;

use exercise::{Card, better, reached, ridge};

const FAST: Card = Card { peak: 989e12, bandwidth: 3.35e12 };
const WIDE: Card = Card { peak: 400e12, bandwidth: 4.8e12 };

#[test]
fn at_the_ridge_both_limits_are_equal() {
    for card in [FAST, WIDE] {
        let at = ridge(&card);
        assert!((at * card.bandwidth / card.peak - 1.0).abs() < 1e-12, "{at}");
        assert!((reached(&card, at, 1.0) / card.peak - 1.0).abs() < 1e-12);
    }
}

#[test]
fn left_of_the_ridge_bytes_are_the_limit() {
    let found = reached(&FAST, 10.0 * 7e9, 7e9);
    assert!((found / (10.0 * 3.35e12) - 1.0).abs() < 1e-12, "{found:e}");
    let found = reached(&FAST, 1e15, 1e9);
    assert!((found / 989e12 - 1.0).abs() < 1e-12, "{found:e}");
}

#[test]
fn the_better_card_depends_on_the_step() {
    assert_eq!(better(&[FAST, WIDE], 10e9, 1e9), 1);
    assert_eq!(better(&[FAST, WIDE], 1000e9, 1e9), 0);
    assert_eq!(better(&[FAST, FAST], 1e9, 1e9), 0);
}
