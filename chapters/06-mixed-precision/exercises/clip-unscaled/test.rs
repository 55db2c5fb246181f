//! The test of the exercise `clip-unscaled`.

#[cfg_attr(feature = "solutions", path = "solution.rs")]
mod exercise;

use exercise::ready;
use half::f16;
use lab::check::{SplitMix64, close, near, pairs};

/// Three tensors of gradients as they come out of the backward pass with this factor.
fn scaled(sizes: [f64; 3], factor: f32) -> Vec<Vec<f16>> {
    let mut random = SplitMix64::new(2);
    let mut value = |size: f64| f16::from_f64(f64::from(factor) * size * random.normal());
    let tensors = sizes.into_iter().zip([400, 20, 1]);
    tensors.map(|(size, len)| (0..len).map(|_| value(size)).collect()).collect()
}

/// The values without the factor.
fn unscaled(scaled: &[Vec<f16>], factor: f32) -> Vec<f64> {
    scaled.iter().flatten().map(|g| g.to_f64() / f64::from(factor)).collect()
}

fn length(values: &[f64]) -> f64 {
    values.iter().map(|g| g * g).sum::<f64>().sqrt()
}

/// What the reader makes of them, in one vector.
#[track_caller]
fn found(scaled: &[Vec<f16>], factor: f32, longest: f32) -> Vec<f64> {
    let ready = ready(scaled, factor, longest).expect("all values are finite");
    let lengths: Vec<usize> = ready.iter().map(Vec::len).collect();
    let wanted: Vec<usize> = scaled.iter().map(Vec::len).collect();
    assert_eq!(lengths, wanted, "values of each tensor");
    ready.iter().flatten().map(|g| f64::from(*g)).collect()
}

#[test]
fn a_short_gradient_loses_its_factor_alone() {
    for factor in [1.0, 256.0, 65536.0] {
        let scaled = scaled([1e-3, 1e-2, 1e-4], factor);
        let wanted = unscaled(&scaled, factor);
        close(found(&scaled, factor, 1.0), wanted, 1e-6, format!("factor {factor}"));
    }
}

#[test]
fn a_long_one_keeps_its_direction() {
    for sizes in [[0.1, 1.0, 0.5], [0.01, 5.0, 0.0], [0.5, 0.0, 5.0]] {
        for factor in [1.0, 16.0, 1024.0] {
            let scaled = scaled(sizes, factor);
            let wanted = unscaled(&scaled, factor);
            let found = found(&scaled, factor, 0.5);
            let now = length(&found);
            near(now, 0.5, 1e-5, format!("{sizes:?} and factor {factor}: the length"));
            let along: f64 = found.iter().zip(&wanted).map(|(f, w)| f * w).sum();
            let cosine = along / now / length(&wanted);
            assert!(cosine > 1.0 - 1e-9, "{sizes:?}: the cosine with the gradient is {cosine}");
        }
    }
}

#[test]
fn large_values_do_not_overflow() {
    let many = vec![vec![f16::from_f32(60_000.0); 5000]];
    near(length(&found(&many, 1024.0, 1.0)), 1.0, 1e-4, "the length");
}

#[test]
fn a_step_with_an_infinite_value_is_skipped() {
    for (bad, tensor) in pairs([f16::INFINITY, f16::NEG_INFINITY, f16::NAN], 0..3) {
        let mut scaled = scaled([1e-3; 3], 64.0);
        scaled[tensor][0] = bad;
        assert!(ready(&scaled, 64.0, 1.0).is_none(), "{bad} in tensor {tensor}");
    }
}

#[test]
fn zeros_stay_zeros() {
    let zeros = vec![vec![f16::ZERO; 3]];
    assert!(found(&zeros, 64.0, 1.0).iter().all(|g| g.abs() < f64::MIN_POSITIVE));
    assert_eq!(ready(&[], 64.0, 1.0), Some(vec![]));
}
