//! The test of the exercise `money-per-model`.

#[cfg_attr(feature = "solutions", path = "solution.rs")]
mod exercise;

use exercise::{Card, bill, cheapest};
use lab::check::near;

const SLOW: Card = Card { per_hour: 0.6, start: 60.0, model: 300.0, unit: 1.0 };
const FAST: Card = Card { per_hour: 3.6, start: 120.0, model: 20.0, unit: 1.0 };
const HOURLY: Card = Card { per_hour: 0.9, start: 60.0, model: 30.0, unit: 3600.0 };

#[test]
fn the_start_is_paid_and_units_are_whole() {
    for (card, times, wanted) in [
        (&SLOW, 1, 0.6 * 360.0 / 3600.0),
        (&FAST, 10, 3.6 * 320.0 / 3600.0),
        (&HOURLY, 1, 0.9),
        (&HOURLY, 118, 0.9),
        (&HOURLY, 119, 1.8),
        (&SLOW, 0, 0.01),
    ] {
        near(bill(card, times), wanted, 1e-9, format!("{times} models"));
    }
}

#[test]
fn the_order_depends_on_how_many_models() {
    let cards = [SLOW, FAST, HOURLY];
    assert_eq!([1, 10].map(|times| cheapest(&cards[..2], times)), [Some(0), Some(1)]);
    assert_eq!([1, 100].map(|times| cheapest(&cards, times)), [Some(0), Some(2)]);
}

#[test]
fn no_card_is_none_and_the_first_of_equals_wins() {
    assert_eq!(cheapest(&[], 3), None);
    assert_eq!(cheapest(&[SLOW, SLOW], 3), Some(0));
}
