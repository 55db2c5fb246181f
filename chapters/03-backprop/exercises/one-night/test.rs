//! The test of the exercise `one-night`.

#[cfg_attr(feature = "solutions", path = "solution.rs")]
#[cfg_attr(not(feature = "solutions"), path = "exercise.rs")]
mod exercise;

use exercise::{LENGTH, VOCABULARY, largest, parameters};

#[test]
fn the_parameters_are_those_of_gpt_2() {
    // The smallest GPT-2: 12 blocks of width 768.
    assert_eq!(parameters(12, 768), 124_439_808);
    assert_eq!(parameters(0, 1), VOCABULARY + LENGTH + 2);
}

#[test]
fn a_night_on_a_card() {
    let found = largest(989e12, 0.4, 8.0 * 3600.0);
    println!("{found} blocks, {} million parameters", parameters(found, 128 * found) / 1_000_000);
    assert_eq!(found, 10);
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

#[test]
fn not_even_one_block() {
    assert_eq!(largest(1e9, 0.5, 1.0), 0);
}
