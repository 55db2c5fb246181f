//! The test of the exercise `two-halves`.

#[cfg_attr(feature = "solutions", path = "solution.rs")]
#[cfg_attr(not(feature = "solutions"), path = "exercise.rs")]
mod exercise;

use exercise::{dot, rounded, split};

/// Numbers from −1 to 1, of many bits.
fn numbers(count: u32, seed: u32) -> Vec<f32> {
    let mixed = |i: u32| (i + seed).wrapping_mul(2_654_435_769) ^ i.wrapping_mul(0x9e37_79b1) >> 7;
    (0..count).map(|i| (f64::from(mixed(i)) / f64::from(u32::MAX) * 2.0 - 1.0) as f32).collect()
}

/// The bits of both halves.
fn bits(x: f32) -> [u32; 2] {
    split(x).map(f32::to_bits)
}

#[test]
fn both_halves_are_bf16() {
    for x in numbers(1000, 1) {
        for half in split(x) {
            assert_eq!(half.to_bits(), rounded(half).to_bits(), "{half} of {x}");
        }
    }
}

#[test]
fn their_sum_is_nearly_the_number() {
    for x in numbers(1000, 2).into_iter().chain([1.0, -3.5, 1.003, 1e30, 1e-20]) {
        let [first, second] = split(x);
        let lost = (f64::from(x) - f64::from(first) - f64::from(second)).abs();
        assert!(lost <= f64::from(x.abs()) / 65_536.0, "{first} + {second} for {x}");
    }
    assert_eq!(bits(0.0), [0; 2]);
    assert_eq!(bits(1.5), [1.5_f32.to_bits(), 0], "it is a bf16 already");
}

#[test]
fn what_is_not_finite_has_no_second_half() {
    let infinite = [f32::INFINITY.to_bits(), 0];
    assert_eq!(bits(f32::INFINITY), infinite);
    assert_eq!(bits(f32::MAX), infinite, "the largest f32 is beyond bf16");
    assert!(split(f32::NAN)[0].is_nan() && bits(f32::NAN)[1] == 0);
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
