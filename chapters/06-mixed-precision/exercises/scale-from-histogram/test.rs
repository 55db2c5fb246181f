//! The test of the exercise `scale-from-histogram`.

#[cfg_attr(feature = "solutions", path = "solution.rs")]
#[cfg_attr(not(feature = "solutions"), path = "exercise.rs")]
mod exercise;

use exercise::exponent;
use mixed_precision::amp::range::{Histogram, Shares};

/// A histogram with one gradient in each of these bins.
fn bins(exponents: &[i32]) -> Histogram {
    Histogram { counts: exponents.iter().map(|e| (*e, 1)).collect(), zeros: 3 }
}

fn check(exponents: &[i32], room: i32, wanted: i32) {
    let found = exponent(&bins(exponents), room);
    assert_eq!(found, wanted, "gradients in the bins {exponents:?}, with room for {room} more");
}

#[test]
fn what_f16_holds_needs_no_factor() {
    check(&[-25, -14, 0], 4, 0);
    check(&[-3], 4, 0);
    check(&[], 4, 0);
}

#[test]
fn the_smallest_gradient_is_saved_by_the_smallest_factor() {
    check(&[-30, -10], 4, 5);
    check(&[-26, -10], 4, 1);
    check(&[-40, -20], 0, 15);
}

#[test]
fn the_largest_gradients_keep_their_room() {
    check(&[-50, -33, -10], 4, 8); // 2²¹ is the most, and saves nothing that 2⁸ does not
    check(&[-46, -10], 4, 21);
    check(&[-47, -10], 4, 0);
    check(&[-30, 12], 4, 0);
    check(&[-30, 10], 5, 0);
    check(&[-30, 10], 0, 5);
}

#[test]
fn an_empty_bin_is_no_gradient() {
    let mut gradients = bins(&[-30, -10]);
    gradients.counts.insert(-60, 0);
    gradients.counts.insert(15, 0);
    assert_eq!(exponent(&gradients, 4), 5, "empty bins decided");
}

#[test]
fn no_other_factor_loses_fewer() {
    let numbers: Vec<f32> = (0..4000_u32)
        .map(|i| {
            let word = i.wrapping_mul(2_654_435_761) >> 8;
            1.01 * 2f32.powi(-5 - (word % 40) as i32)
        })
        .collect();
    let lost = |k: i32| Shares::of(&numbers, 2f32.powi(k)).vanished;
    let room = 3;
    let chosen = exponent(&Histogram::of(&numbers), room);
    let largest = 15 - room + 5;
    assert!((0..=largest).contains(&chosen), "2^{chosen} leaves too little room");
    for k in 0..=largest {
        assert!(
            lost(chosen) <= lost(k),
            "2^{k} loses {}, 2^{chosen} loses {}",
            lost(k),
            lost(chosen)
        );
        let fewer = k < chosen && lost(k) <= lost(chosen);
        assert!(!fewer, "2^{k} is smaller and loses no more than 2^{chosen}");
    }
}
