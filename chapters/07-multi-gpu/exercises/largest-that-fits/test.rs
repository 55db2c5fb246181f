//! The test of the exercise `largest-that-fits`.

#[cfg_attr(feature = "solutions", path = "solution.rs")]
mod exercise;

use exercise::cards;
use lab::check::all;

const FEWER: &str = "each stage needs fewer cards than the one before";
const FULL: &str = "a card that is full to the last byte has no room for a share";

/// The cards for so many billions of parameters, with gigabytes of activations and on each card.
fn need(parameters: f64, [activations, memory]: [f64; 2], stage: u8) -> Option<u64> {
    cards(1e9 * parameters, 1e9 * activations, 1e9 * memory, stage)
}

#[test]
fn by_hand() {
    for stage in 0..=3 {
        let found = need(1.0, [4.0, 24.0], stage);
        assert_eq!(found, Some(1), "what fits on one card needs one: stage {stage}");
    }
    all([
        // 7.5 billion parameters: 120 GB, as in the figure of ZeRO's paper.
        (FEWER, need(7.5, [0.0, 32.0], 0), None),
        (FEWER, need(7.5, [0.0, 32.0], 1), Some(45)),
        (FEWER, need(7.5, [0.0, 32.0], 2), Some(7)),
        (FEWER, need(7.5, [0.0, 32.0], 3), Some(4)),
        // 40 GB of weights do not fit, however many cards share the rest.
        ("what is not shared out can be too much", need(20.0, [0.0, 32.0], 2), None),
        ("what is shared out fits", need(20.0, [0.0, 32.0], 3), Some(10)),
        ("activations are each card's own", need(20.0, [33.0, 32.0], 3), None),
        ("activations are each card's own", need(20.0, [22.0, 32.0], 3), Some(32)),
        (FULL, need(1.0, [0.0, 4.0], 1), None),
        ("a card that is full to the last byte", need(1.0, [0.0, 16.0], 0), Some(1)),
    ]);
}
