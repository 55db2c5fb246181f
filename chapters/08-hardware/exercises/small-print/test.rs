//! The test of the exercise `small-print`.

#[cfg_attr(feature = "solutions", path = "solution.rs")]
#[cfg_attr(not(feature = "solutions"), path = "exercise.rs")]
mod exercise;

use exercise::{Units, hidden, mfu};
use hardware::Market;

const H100: Units = Units { count: 528.0, multiply_adds: 512.0, ghz: 1.83 };
const T4: Units = Units { count: 320.0, multiply_adds: 64.0, ghz: 1.59 };
const RTX_5090: Units = Units { count: 680.0, multiply_adds: 64.0, ghz: 2.407 };

#[test]
fn an_honest_rate_hides_nothing() {
    assert_eq!(hidden(H100, 989.0), Some(1));
    assert_eq!(hidden(T4, 65.0), Some(1));
}

#[test]
fn tricks_double_it() {
    assert_eq!(hidden(H100, 1979.0), Some(2));
    assert_eq!(hidden(RTX_5090, 419.0), Some(2));
    assert_eq!(hidden(RTX_5090, 838.0), Some(4));
}

#[test]
fn another_format_or_another_unit() {
    assert_eq!(hidden(H100, 67.0), None, "the vector units");
    assert_eq!(hidden(H100, 989.0 * 3.0), None);
    assert_eq!(hidden(RTX_5090, 3352.0), None, "sixteen times");
    assert_eq!(hidden(H100, 989.0 * 1.1), None, "a tenth too much is no rounding");
}

#[test]
fn what_is_left_is_the_rate_of_the_chapter() {
    let market = Market::load().unwrap();
    let (_, rate) = market.card("h100").unwrap().training().unwrap();
    let factor = hidden(H100, 1979.0).map_or(f64::NAN, f64::from);
    assert!((1979e12 / factor / rate - 1.0).abs() < 0.03, "{factor}");
}

#[test]
fn an_mfu_by_a_printed_rate_is_too_small() {
    assert!((mfu(0.15, 2) - 0.3).abs() < 1e-12);
    assert!((mfu(0.4, 1) - 0.4).abs() < 1e-12);
    assert!((mfu(0.1, 4) - 0.4).abs() < 1e-12);
}
