//! The test of the exercise `dropout`.

#[cfg_attr(feature = "solutions", path = "solution.rs")]
#[cfg_attr(not(feature = "solutions"), path = "exercise.rs")]
mod exercise;

use backprop::random::SplitMix64;
use exercise::Dropout;

fn layer(rate: f32) -> Dropout {
    Dropout { rate, ..Dropout::default() }
}

/// Numbers from 0 up to 1.
fn uniform(count: usize) -> Vec<f32> {
    let mut random = SplitMix64::new(4);
    (0..count).map(|_| (random.next() >> 40) as f32 / (1 << 24) as f32).collect()
}

#[track_caller]
fn close(found: &[f32], wanted: &[f32]) {
    let same = |(found, wanted): (&f32, &f32)| (found - wanted).abs() < 1e-5;
    let all = found.len() == wanted.len() && found.iter().zip(wanted).all(same);
    assert!(all, "{found:?}, and not {wanted:?}");
}

#[test]
fn what_stays_grows() {
    let y = layer(0.2).train(&[1.0, 2.0, -4.0, 8.0], &[0.1, 0.9, 0.5, 0.2]);
    close(&y, &[0.0, 2.5, -5.0, 10.0]);
}

#[test]
fn the_mean_stays() {
    for rate in [0.1, 0.5, 0.8] {
        let y = layer(rate).train(&vec![1.0; 50_000], &uniform(50_000));
        let mean = y.iter().sum::<f32>() / 50_000.0;
        println!("rate {rate}: the mean of 1 becomes {mean:.3}");
        assert!((mean - 1.0).abs() < 0.05, "the mean is {mean} at the rate {rate}");
    }
}

#[test]
fn the_gradient_passes_what_the_values_passed() {
    let mut dropout = layer(0.5);
    let (x, u) = ([1.0, 2.0, 3.0, 0.0], [0.3, 0.7, 0.1, 0.6]);
    dropout.train(&x, &u);
    // The last unit is 0 and was not dropped: its gradient passes.
    close(&dropout.backward(&[1.0, -1.0, 5.0, 3.0]), &[0.0, -2.0, 0.0, 6.0]);
    // With another pass come other factors.
    dropout.train(&x, &[0.9; 4]);
    close(&dropout.backward(&[1.0; 4]), &[2.0; 4]);
}

#[test]
fn prediction_drops_nothing() {
    let mut dropout = layer(0.5);
    dropout.train(&[1.0, 2.0], &[0.0, 0.9]);
    close(&dropout.predict(&[1.0, 2.0]), &[1.0, 2.0]);
    close(&dropout.backward(&[3.0, 4.0]), &[3.0, 4.0]);
}

#[test]
fn a_rate_of_zero_changes_nothing() {
    let y = layer(0.0).train(&[1.0, -2.0, 3.0], &[0.0, 0.5, 0.9]);
    close(&y, &[1.0, -2.0, 3.0]);
}
