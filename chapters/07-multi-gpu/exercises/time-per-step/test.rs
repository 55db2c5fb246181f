//! The test of the exercise `time-per-step`.

#[cfg_attr(feature = "solutions", path = "solution.rs")]
#[cfg_attr(not(feature = "solutions"), path = "exercise.rs")]
mod exercise;

use exercise::{Layer, step};

fn layers(all: &[(f64, f64, f64)]) -> Vec<Layer> {
    all.iter().map(|&(forward, backward, bytes)| Layer { forward, backward, bytes }).collect()
}

#[track_caller]
fn takes(all: &[(f64, f64, f64)], (alpha, beta): (f64, f64), p: usize, wanted: f64) {
    let found = step(&layers(all), alpha, beta, p);
    assert!((found - wanted).abs() < 1e-9, "{found} seconds instead of {wanted} over {p} devices");
}

#[test]
fn one_device_sends_nothing() {
    takes(&[(1.0, 2.0, 1e9), (1.0, 2.0, 1e9)], (5.0, 1.0), 1, 6.0);
    takes(&[], (5.0, 1.0), 1, 0.0);
}

#[test]
fn a_gradient_hides_behind_the_layers_before_it() {
    // Forward ends at 2, the second layer's gradient is there at 4 and on its way until 5; the first one's is there
    // at 6 and needs another second.
    takes(&[(1.0, 2.0, 1.0), (1.0, 2.0, 1.0)], (0.0, 1.0), 2, 7.0);
    // The last layer's large gradient hides completely behind a first layer that takes long and has few parameters.
    takes(&[(1.0, 10.0, 0.0), (0.0, 1.0, 8.0)], (0.0, 1.0), 2, 12.0);
}

#[test]
fn a_slow_network_is_a_queue() {
    // There at 2, 3 and 4; ten seconds each, one after the other.
    let all = [(0.0, 1.0, 10.0), (0.0, 1.0, 10.0), (1.0, 1.0, 10.0)];
    takes(&all, (0.0, 1.0), 2, 32.0);
    // The order of the layers matters: the other way round nothing can hide.
    takes(&[(1.0, 1.0, 8.0), (1.0, 8.0, 0.0)], (0.0, 1.0), 2, 19.0);
    takes(&[(1.0, 8.0, 0.0), (1.0, 1.0, 8.0)], (0.0, 1.0), 2, 11.0);
}

#[test]
fn latency_counts_for_each_message() {
    // 2 · 3 messages of a quarter of the bytes, twice.
    takes(&[(0.0, 0.0, 4.0), (0.0, 0.0, 4.0)], (0.5, 0.25), 4, 2.0 * 6.0 * (0.5 + 0.25));
}
