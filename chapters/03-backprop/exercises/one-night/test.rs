//! The test of the exercise `one-night`.

#[cfg_attr(feature = "solutions", path = "solution.rs")]
mod exercise;

use exercise::{LENGTH, VOCABULARY, largest, parameters};
use lab::check::all;

#[test]
fn by_hand() {
    let found = largest(989e12, 0.4, 8.0 * 3600.0);
    println!("{found} blocks, {} million parameters", parameters(found, 128 * found) / 1_000_000);
    all([
        // The smallest GPT-2: 12 blocks of width 768.
        ("the parameters are those of GPT 2", parameters(12, 768), 124_439_808),
        ("no block, a width of 1", parameters(0, 1), VOCABULARY + LENGTH + 2),
        ("a night on a card", found, 10),
        ("not even one block", largest(1e9, 0.5, 1.0), 0),
    ]);
}

#[test]
fn the_largest_fits_and_the_next_does_not() {
    let hours = |l: u64| {
        let n = parameters(l, 128 * l) as f64;
        6.0 * n * 20.0 * n / (0.5 * 100e12) / 3600.0
    };
    for limit in [0.01, 0.1, 1.0, 10.0, 100.0, 1e5] {
        let found = largest(100e12, 0.5, limit * 3600.0);
        assert!(found == 0 || hours(found) <= limit, "{found} blocks in {limit} hours");
        assert!(hours(found + 1) > limit, "{found} blocks in {limit} hours: one more fits");
    }
}
