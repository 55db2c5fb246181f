//! The test of the exercise `intensity`.

#![allow(clippy::float_cmp)] // The numbers are whole and small: nothing rounds.

#[cfg_attr(feature = "solutions", path = "solution.rs")]
mod exercise;

use exercise::{bytes, operations, roofline};

#[test]
fn counts_operations() {
    // 2×2 times 2×2: four elements, two products and two sums each (the first sum starts from zero).
    assert_eq!(operations(2, 2, 2), 16);
    assert_eq!(operations(1024, 1024, 1024), 2_147_483_648);
    assert_eq!(operations(32, 784, 128), 6_422_528);
    assert_eq!(operations(3, 0, 5), 0);
}

#[test]
fn counts_bytes() {
    assert_eq!(bytes(2, 2, 2, 4), 48);
    assert_eq!(bytes(1024, 1024, 1024, 4), 12_582_912);
    // Three matrices of three different shapes, in bf16.
    assert_eq!(bytes(32, 784, 128, 2), 2 * (32 * 784 + 784 * 128 + 32 * 128));
}

#[test]
fn takes_the_lower_of_two_limits() {
    let (peak, bandwidth) = (100e9, 10e9);
    // One operation a byte: memory sets the limit.
    assert_eq!(roofline(1_000, 1_000, peak, bandwidth), 10e9);
    // A hundred a byte: the arithmetic does.
    assert_eq!(roofline(100_000, 1_000, peak, bandwidth), 100e9);
    // Where the two meet, both do.
    assert_eq!(roofline(10_000, 1_000, peak, bandwidth), 100e9);
}
