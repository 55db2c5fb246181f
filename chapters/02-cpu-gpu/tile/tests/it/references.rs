//! What a card is compared with is right itself: gradients against differences, and a comparison that finds what is wrong.

use tile::{
    check::{compare, numbers},
    reference::{self, Near},
};

fn random(count: usize, seed: u64) -> Vec<f64> {
    numbers(count, seed).into_iter().map(f64::from).collect()
}

fn values(near: &[Near]) -> Vec<f64> {
    near.iter().map(|near| near.value).collect()
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// Holds a gradient against the change of `loss` for a small step of each input.
fn is_the_gradient(what: &str, at: &[f64], gradient: &[f64], loss: impl Fn(&[f64]) -> f64) {
    assert_eq!(at.len(), gradient.len());
    for (i, expected) in gradient.iter().enumerate() {
        let step = |size: f64| {
            let mut moved = at.to_vec();
            moved[i] += size;
            loss(&moved)
        };
        let found = (step(1e-5) - step(-1e-5)) / 2e-5;
        assert!((found - expected).abs() <= 1e-7, "{what} {i}: {expected}, by difference {found}");
    }
}

#[test]
fn gradients_are_those_of_differences() {
    let (logits, labels) = (random(3 * 7, 1), [6, 0, 2]);
    let losses = |x: &[f64]| values(&reference::cross_entropy(x, &labels, 7, 1.0).0).iter().sum();
    let gradient = values(&reference::cross_entropy(&logits, &labels, 7, 1.0).1);
    is_the_gradient("logit", &logits, &gradient, losses);

    let (x, gain, dy) = (random(3 * 5, 2), random(5, 3), random(3 * 5, 4));
    let factors = values(&reference::rms_norm(&x, &gain, 1e-5).1);
    let (dx, dgain) = reference::rms_norm_backward([&x, &gain, &factors, &dy]);
    let of_x = |x: &[f64]| dot(&values(&reference::rms_norm(x, &gain, 1e-5).0), &dy);
    is_the_gradient("x", &x, &values(&dx), of_x);
    let of_gain = |gain: &[f64]| dot(&values(&reference::rms_norm(&x, gain, 1e-5).0), &dy);
    is_the_gradient("gain", &gain, &values(&dgain), of_gain);
}

#[test]
fn gradients_of_attention_are_those_of_differences() {
    let (sizes, scale) = ([5, 4], 0.5);
    let [q, k, v, dout] = [1, 2, 3, 4].map(|seed| random(2 * 5 * 4, seed));
    let (out, log_sums) = reference::attention([&q, &k, &v], sizes, scale);
    let dots = values(&reference::attention_dots(&values(&out), &dout, 4));
    let before = [&values(&log_sums)[..], &dots];
    let [dq, dk, dv] = reference::attention_backward([&q, &k, &v, &dout], before, sizes, scale);
    let loss = |q: &[f64], k: &[f64], v: &[f64]| {
        dot(&values(&reference::attention([q, k, v], sizes, scale).0), &dout)
    };
    is_the_gradient("q", &q, &values(&dq), |q| loss(q, &k, &v));
    is_the_gradient("k", &k, &values(&dk), |k| loss(&q, k, &v));
    is_the_gradient("v", &v, &values(&dv), |v| loss(&q, &k, v));
}

/// The layouts differ in how a matrix lies, not in what it is.
#[test]
fn a_product_is_the_same_in_each_layout() {
    let [m, n, k] = [3, 4, 5];
    let (a, b) = (random(m * k, 1), random(k * n, 2));
    let turned = |x: &[f64], columns: usize| -> Vec<f64> {
        let rows = x.len() / columns;
        (0..x.len()).map(|at| x[at % rows * columns + at / rows]).collect()
    };
    let right = values(&reference::product(&a, &b, [m, n, k], [false; 2]));
    let by_hand: f64 = (0..k).map(|i| a[2 * k + i] * b[i * n + 1]).sum();
    assert!((right[2 * n + 1] - by_hand).abs() < 1e-12);
    let (a_turned, b_turned) = (turned(&a, k), turned(&b, n));
    for (a, b, which) in [
        (&a, &b_turned, [false, true]),
        (&a_turned, &b, [true, false]),
        (&a_turned, &b_turned, [true, true]),
    ] {
        assert_eq!(values(&reference::product(a, b, [m, n, k], which)), right, "{which:?}");
    }
}

#[test]
fn a_number_that_is_wrong_or_missing_is_found() {
    let right = [Near { value: 1.0, within: 0.01 }, Near { value: 0.0, within: 0.0 }];
    compare("all", &[1.005, 0.0], &right).unwrap();
    for wrong in [[1.02, 0.0], [f64::NAN, 0.0], [1.0, f64::NAN], [1.0, 1e-9], [f64::INFINITY, 0.0]]
    {
        assert!(compare("one", &wrong, &right).is_err(), "{wrong:?}");
    }
    assert!(compare("short", &[1.0], &right).is_err());
}

/// What bf16 gives away is allowed, and no more: an output in which one product too many was added is refused.
#[test]
fn the_allowance_is_smaller_than_a_mistake() {
    let sizes = [4, 4, 200];
    let (a, b) = (random(4 * 200, 1), random(200 * 4, 2));
    let right = reference::product(&a, &b, sizes, [false; 2]);
    let mut wrong = values(&right);
    wrong[5] += a[200] * b[1];
    assert!(compare("product", &wrong, &right).is_err());
    let (x, w, bias) = (random(4 * 50, 3), random(4 * 50, 4), random(4, 5));
    let (y, before) = reference::linear([&x, &w, &bias], [4, 4, 50], true);
    compare("y", &values(&y), &y).unwrap();
    assert!(compare("y", &values(&before), &y).is_err(), "an activation that was forgotten");
}
