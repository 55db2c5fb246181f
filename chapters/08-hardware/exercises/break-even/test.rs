//! The test of the exercise `break-even`.

#[cfg_attr(feature = "solutions", path = "solution.rs")]
mod exercise;

use exercise::{YEAR, hours, years};
use lab::check::near;

#[test]
fn the_price_is_earned_back_by_what_is_saved() {
    // 0.69 an hour, less 0.45 kW at 0.16.
    let found = hours(1599.0, 0.69, 450.0, 0.16).expect("renting costs more than the power");
    near(found, 1599.0 / (0.69 - 0.072), 1e-6, "the hours");
    let wanted = hardware::calculator::break_even(1599.0, 0.69, 450.0, 0.16);
    near(found, wanted.expect("it is there"), 1e-9, "as the course");
}

#[test]
fn where_power_costs_more_than_the_rent_it_never_pays() {
    assert_eq!(hours(100.0, 0.05, 500.0, 0.40), None);
    assert_eq!(hours(100.0, 0.20, 500.0, 0.40), None);
    assert_eq!(years(100.0, 1.0, (500.0, 500.0), 0.40, 0.1), None);
}

#[test]
fn a_card_that_rests_takes_longer() {
    let always = years(1599.0, 0.69, (450.0, 20.0), 0.16, 1.0).expect("it pays");
    let hours = hours(1599.0, 0.69, 450.0, 0.16).expect("it pays");
    near(always, hours / YEAR, 1e-9, "the years of a card that always works");
    let rarely = years(1599.0, 0.69, (450.0, 20.0), 0.16, 0.1).expect("it pays, late");
    let wanted = 1599.0 / (0.069 - 0.16 * (0.1 * 0.45 + 0.9 * 0.02)) / YEAR;
    near(rarely, wanted, 1e-9, "the years of a card that rests");
    assert!(rarely > 10.0 * always);
}
