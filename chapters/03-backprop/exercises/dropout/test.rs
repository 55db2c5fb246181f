//! The test of the exercise `dropout`.

#[cfg_attr(feature = "solutions", path = "solution.rs")]
mod exercise;

use exercise::Dropout;
use lab::{check::near, random::SplitMix64};

fn layer(rate: f32) -> Dropout {
    Dropout { rate, ..Dropout::default() }
}

/// Numbers from 0 up to 1.
fn uniform(count: usize) -> Vec<f32> {
    let mut random = SplitMix64::new(4);
    (0..count).map(|_| (random.next() >> 40) as f32 / (1 << 24) as f32).collect()
}

#[test]
fn what_stays_grows() {
    let y = layer(0.2).train(&[1.0, 2.0, -4.0, 8.0], &[0.1, 0.9, 0.5, 0.2]);
    near(y, [0.0, 2.5, -5.0, 10.0], 1e-5, "at a rate of 0.2");
    let y = layer(0.0).train(&[1.0, -2.0, 3.0], &[0.0, 0.5, 0.9]);
    near(y, [1.0, -2.0, 3.0], 1e-5, "a rate of zero changes nothing");
}

#[test]
fn the_mean_stays() {
    for rate in [0.1, 0.5, 0.8] {
        let y = layer(rate).train(&vec![1.0; 50_000], &uniform(50_000));
        let mean = y.iter().sum::<f32>() / 50_000.0;
        println!("rate {rate}: the mean of 1 becomes {mean:.3}");
        near(mean, 1.0, 0.05, format!("the mean at the rate {rate}"));
    }
}

#[test]
fn the_gradient_passes_what_the_values_passed() {
    let mut dropout = layer(0.5);
    let (x, u) = ([1.0, 2.0, 3.0, 0.0], [0.3, 0.7, 0.1, 0.6]);
    dropout.train(&x, &u);
    // The last unit is 0 and was not dropped: its gradient passes.
    near(dropout.backward(&[1.0, -1.0, 5.0, 3.0]), [0.0, -2.0, 0.0, 6.0], 1e-5, "the gradient");
    dropout.train(&x, &[0.9; 4]);
    near(dropout.backward(&[1.0; 4]), [2.0; 4], 1e-5, "with another pass come other factors");
}

#[test]
fn prediction_drops_nothing() {
    let mut dropout = layer(0.5);
    dropout.train(&[1.0, 2.0], &[0.0, 0.9]);
    near(dropout.predict(&[1.0, 2.0]), [1.0, 2.0], 1e-5, "a prediction");
    near(dropout.backward(&[3.0, 4.0]), [3.0, 4.0], 1e-5, "the gradient behind a prediction");
}
