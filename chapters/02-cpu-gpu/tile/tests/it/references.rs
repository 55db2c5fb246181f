//! What a card is compared with is right itself: a gradient against differences, and a comparison that finds what is wrong.

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

#[test]
fn the_gradient_of_the_queries_is_that_of_differences() {
    let (sizes, scale) = ([5, 4], 0.5);
    let [q, k, v, dout] = [1, 2, 3, 4].map(|seed| random(2 * 5 * 4, seed));
    let (out, log_sums) = reference::attention([&q, &k, &v], sizes, scale);
    let before = [&log_sums[..], &reference::attention_dots(&out, &dout, 4)];
    let dq = values(&reference::attention_dq([&q, &k, &v, &dout], before, sizes, scale));
    let loss = |q: &[f64]| -> f64 {
        let out = reference::attention([q, &k, &v], sizes, scale).0;
        out.iter().zip(&dout).map(|(out, dout)| out * dout).sum()
    };
    for (at, expected) in dq.iter().enumerate() {
        let step = |size: f64| {
            let mut moved = q.clone();
            moved[at] += size;
            loss(&moved)
        };
        let found = (step(1e-5) - step(-1e-5)) / 2e-5;
        assert!((found - expected).abs() <= 1e-7, "{at}: {expected}, by difference {found}");
    }
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
