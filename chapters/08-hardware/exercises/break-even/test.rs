//! The test of the exercise `break-even`.

#[cfg_attr(feature = "solutions", path = "solution.rs")]
#[cfg_attr(not(feature = "solutions"), path = "exercise.rs")]
mod exercise;

use exercise::{YEAR, hours, years};

#[test]
fn the_price_is_earned_back_by_what_is_saved() {
    // 0.69 an hour, less 0.45 kW at 0.16.
    let found = hours(1599.0, 0.69, 450.0, 0.16).expect("renting costs more than the power");
    assert!((found - 1599.0 / (0.69 - 0.072)).abs() < 1e-6, "{found}");
    let wanted =
        hardware::calculator::break_even(1599.0, 0.69, 450.0, 0.16).expect("as the course");
    assert!((found - wanted).abs() < 1e-9);
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
    assert!((always - hours / YEAR).abs() < 1e-9, "{always}");
    let rarely = years(1599.0, 0.69, (450.0, 20.0), 0.16, 0.1).expect("it pays, late");
    let wanted = 1599.0 / (0.069 - 0.16 * (0.1 * 0.45 + 0.9 * 0.02)) / YEAR;
    assert!((rarely - wanted).abs() < 1e-9, "{rarely}, and not {wanted}");
    assert!(rarely > 10.0 * always);
}
