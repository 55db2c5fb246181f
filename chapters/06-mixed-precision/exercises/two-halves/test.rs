//! The test of the exercise `two-halves`.

#[cfg_attr(feature = "solutions", path = "solution.rs")]
mod exercise;

use exercise::{dot, rounded, split};
use lab::check::{numbers, same_bits};

#[test]
fn both_halves_are_bf16() {
    for x in numbers(1000, 1) {
        same_bits(split(x), split(x).map(rounded), format!("both halves of {x}"));
    }
}

#[test]
fn their_sum_is_nearly_the_number() {
    for x in numbers(1000, 2).into_iter().chain([1.0, -3.5, 1.003, 1e30, 1e-20]) {
        let [first, second] = split(x);
        let lost = (f64::from(x) - f64::from(first) - f64::from(second)).abs();
        assert!(lost <= f64::from(x.abs()) / 65_536.0, "{first} + {second} for {x}");
    }
    same_bits(split(0.0), [0.0; 2], "zero");
    same_bits(split(1.5), [1.5, 0.0], "it is a bf16 already");
}

#[test]
fn what_is_not_finite_has_no_second_half() {
    let infinite = [f32::INFINITY, 0.0];
    same_bits(split(f32::INFINITY), infinite, "infinity");
    same_bits(split(f32::MAX), infinite, "the largest f32 is beyond bf16");
    let [first, second] = split(f32::NAN);
    assert!(first.is_nan() && second.to_bits() == 0, "NaN is {first} and {second}");
}

#[test]
fn a_product_gains_a_hundredfold() {
    let (a, b) = (numbers(1000, 3), numbers(1000, 4));
    let pairs = || a.iter().zip(&b).map(|(a, b)| f64::from(*a) * f64::from(*b));
    let (exact, size) = (pairs().sum::<f64>(), pairs().map(f64::abs).sum::<f64>());
    let one: f32 = a.iter().zip(&b).map(|(a, b)| rounded(*a) * rounded(*b)).sum();
    let [one, two] = [one, dot(&a, &b)].map(|sum| (f64::from(sum) - exact).abs() / size);
    println!("error with one half {one:.1e}, with two {two:.1e}");
    assert!(two < 2e-6, "the error is {two:.1e}");
}
