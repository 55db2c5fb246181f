//! The test of the exercise `time-per-step`.

#[cfg_attr(feature = "solutions", path = "solution.rs")]
mod exercise;

use exercise::{Layer, step};
use lab::check::all_near;

const HIDES: &str = "a gradient hides behind the layers before it";

/// A step of these layers: forward, backward, bytes.
fn seconds(layers: &[(f64, f64, f64)], (alpha, beta): (f64, f64), p: usize) -> f64 {
    let layer = |&(forward, backward, bytes)| Layer { forward, backward, bytes };
    step(&layers.iter().map(layer).collect::<Vec<_>>(), alpha, beta, p)
}

#[test]
fn by_hand() {
    let free = (0.0, 1.0); // no start-up cost
    let queue = [(0.0, 1.0, 10.0), (0.0, 1.0, 10.0), (1.0, 1.0, 10.0)];
    let [large, small] = [(1.0, 1.0, 8.0), (1.0, 8.0, 0.0)];
    // A first layer that takes long and has few parameters.
    let long = [(1.0, 10.0, 0.0), (0.0, 1.0, 8.0)];
    all_near([
        ("one device sends nothing", seconds(&[(1.0, 2.0, 1e9); 2], (5.0, 1.0), 1), 6.0),
        ("no layer", seconds(&[], (5.0, 1.0), 1), 0.0),
        // Forward ends at 2, the second layer's gradient is there at 4 and on its way until 5; the first one's is
        // there at 6 and needs another second.
        (HIDES, seconds(&[(1.0, 2.0, 1.0); 2], free, 2), 7.0),
        ("the last layer's large gradient hides completely", seconds(&long, free, 2), 12.0),
        // There at 2, 3 and 4; ten seconds each, one after the other.
        ("a slow network is a queue", seconds(&queue, free, 2), 32.0),
        ("the order of the layers matters", seconds(&[small, large], free, 2), 11.0),
        ("the other way round nothing can hide", seconds(&[large, small], free, 2), 19.0),
        // 2 · 3 messages of a quarter of the bytes, twice.
        ("latency counts for each message", seconds(&[(0.0, 0.0, 4.0); 2], (0.5, 0.25), 4), 9.0),
    ]);
}
