//! The test of the exercise `strict-check`.

#[cfg_attr(feature = "solutions", path = "solution.rs")]
mod exercise;

use exercise::{FENCE, Fault, STRIP, UNWRITTEN, check};
use lab::check::all;

const NEVER: &str = "an element that was never written does not pass";

const WANT: [f64; 6] = [1.0, -2.0, 3.5, 0.0, 1e6, 0.25];
const BOUND: [f64; 6] = [1e-6, 1e-6, 1e-6, 0.0, 0.5, 1e-6];

/// A buffer with the right result, in which the kernel has changed something.
fn buffer(change: impl FnOnce(&mut [f32])) -> Vec<f32> {
    let mut buffer = vec![f32::from_bits(FENCE); WANT.len() + 2 * STRIP];
    buffer[STRIP..][..6].copy_from_slice(&WANT.map(|x| x as f32));
    change(&mut buffer);
    buffer
}

fn found(change: impl FnOnce(&mut [f32])) -> Result<(), Fault> {
    check(&buffer(change), &WANT, &BOUND)
}

#[test]
fn a_right_result_passes_and_a_wrong_value_does_not() {
    let two = |b: &mut [f32]| (b[STRIP + 1], b[STRIP + 5]) = (2.0, 0.0);
    let none = f32::from_bits(UNWRITTEN);
    let both = |b: &mut [f32]| (b[STRIP], b[STRIP + 5]) = (7.0, none);
    all([
        ("a right result passes", found(|_| {}), Ok(())),
        ("exactly at its bound", found(|b| b[STRIP + 4] += 0.5), Ok(())),
        ("an empty result", check(&[f32::from_bits(FENCE); 2 * STRIP], &[], &[]), Ok(())),
        ("less than 0.01 off", found(|b| b[STRIP + 2] = 3.505), Err(Fault::Wrong(2))),
        ("a bound of zero", found(|b| b[STRIP + 3] = 1e-30), Err(Fault::Wrong(3))),
        ("the first of two", found(two), Err(Fault::Wrong(1))),
        (NEVER, found(|b| b[STRIP + 3] = none), Err(Fault::NotWritten(3))),
        ("it explains more than a wrong value", found(both), Err(Fault::NotWritten(5))),
    ]);
}

#[test]
fn nothing_but_nan_does_not() {
    for value in [f32::NAN, -f32::NAN, f32::INFINITY, f32::NEG_INFINITY, f32::from_bits(FENCE)] {
        assert_eq!(found(|b| b[STRIP..][..6].fill(value)), Err(Fault::Wrong(0)), "{value}");
    }
}

#[test]
fn a_kernel_that_wrote_outside_does_not() {
    for at in [0, STRIP - 1, STRIP + 6, 2 * STRIP + 5] {
        assert_eq!(found(|b| b[at] = 0.0), Err(Fault::Outside), "element {at} of the buffer");
        assert_eq!(found(|b| b[at] = f32::NAN), Err(Fault::Outside), "element {at}, with a NaN");
    }
    let all = |b: &mut [f32]| (b[0], b[STRIP]) = (1.0, f32::from_bits(UNWRITTEN));
    assert_eq!(found(all), Err(Fault::Outside), "it comes first");
    assert_eq!(check(&buffer(|_| {})[1..], &WANT, &BOUND), Err(Fault::Outside), "too short");
}
