//! The test of the exercise `largest-that-fits`.

#[cfg_attr(feature = "solutions", path = "solution.rs")]
#[cfg_attr(not(feature = "solutions"), path = "exercise.rs")]
mod exercise;

use exercise::cards;

const GB: f64 = 1e9;

#[test]
fn what_fits_on_one_card_needs_one() {
    for stage in 0..=3 {
        assert_eq!(cards(1e9, 4.0 * GB, 24.0 * GB, stage), Some(1), "stage {stage}");
    }
}

#[test]
fn each_stage_needs_fewer_cards_than_the_one_before() {
    // 7.5 billion parameters: 120 GB, as in the figure of ZeRO's paper.
    assert_eq!(cards(7.5e9, 0.0, 32.0 * GB, 0), None);
    assert_eq!(cards(7.5e9, 0.0, 32.0 * GB, 1), Some(45));
    assert_eq!(cards(7.5e9, 0.0, 32.0 * GB, 2), Some(7));
    assert_eq!(cards(7.5e9, 0.0, 32.0 * GB, 3), Some(4));
}

#[test]
fn what_is_not_shared_out_can_be_too_much() {
    // 40 GB of weights do not fit, however many cards share the rest.
    assert_eq!(cards(20e9, 0.0, 32.0 * GB, 2), None);
    assert_eq!(cards(20e9, 0.0, 32.0 * GB, 3), Some(10));
    // Activations are each card's own.
    assert_eq!(cards(20e9, 33.0 * GB, 32.0 * GB, 3), None);
    assert_eq!(cards(20e9, 22.0 * GB, 32.0 * GB, 3), Some(32));
}

#[test]
fn a_card_that_is_full_to_the_last_byte_has_no_room_for_a_share() {
    assert_eq!(cards(1e9, 0.0, 4.0 * GB, 1), None);
    assert_eq!(cards(1e9, 0.0, 16.0 * GB, 0), Some(1));
}
