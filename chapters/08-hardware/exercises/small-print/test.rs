//! The test of the exercise `small-print`.

#[cfg_attr(feature = "solutions", path = "solution.rs")]
mod exercise;

use exercise::{Units, hidden, mfu};
use hardware::Market;
use lab::check::{all, close, near};

const H100: Units = Units { count: 528.0, multiply_adds: 512.0, ghz: 1.83 };
const T4: Units = Units { count: 320.0, multiply_adds: 64.0, ghz: 1.59 };
const RTX_5090: Units = Units { count: 680.0, multiply_adds: 64.0, ghz: 2.407 };

#[test]
fn by_hand() {
    all([
        ("an honest rate hides nothing", hidden(H100, 989.0), Some(1)),
        ("an honest rate hides nothing", hidden(T4, 65.0), Some(1)),
        ("tricks double it", hidden(H100, 1979.0), Some(2)),
        ("tricks double it", hidden(RTX_5090, 419.0), Some(2)),
        ("tricks double it", hidden(RTX_5090, 838.0), Some(4)),
        ("another format or another unit: the vector units", hidden(H100, 67.0), None),
        ("another format or another unit", hidden(H100, 989.0 * 3.0), None),
        ("sixteen times", hidden(RTX_5090, 3352.0), None),
        ("a tenth too much is no rounding", hidden(H100, 989.0 * 1.1), None),
    ]);
}

#[test]
fn what_is_left_is_the_rate_of_the_chapter() {
    let market = Market::load().unwrap();
    let (_, rate) = market.card("h100").unwrap().training().unwrap();
    let factor = hidden(H100, 1979.0).map_or(f64::NAN, f64::from);
    close(1979e12 / factor, rate, 0.03, format!("the rate, with {factor} hidden"));
}

#[test]
fn an_mfu_by_a_printed_rate_is_too_small() {
    near([mfu(0.15, 2), mfu(0.4, 1), mfu(0.1, 4)], [0.3, 0.4, 0.4], 1e-12, "three MFUs");
}
