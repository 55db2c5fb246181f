//! The test of the exercise `scale-from-histogram`.

#[cfg_attr(feature = "solutions", path = "solution.rs")]
mod exercise;

use exercise::exponent;
use lab::{check::all, random::SplitMix64};
use mixed_precision::amp::range::{Histogram, Shares};

/// A histogram with one gradient in each of these bins.
fn bins(exponents: &[i32]) -> Histogram {
    Histogram { counts: exponents.iter().map(|e| (*e, 1)).collect(), zeros: 3 }
}

fn case(law: &str, exponents: &[i32], room: i32, wanted: i32) -> (String, i32, i32) {
    let case = format!("{law}: gradients in the bins {exponents:?}, with room for {room} more");
    (case, exponent(&bins(exponents), room), wanted)
}

#[test]
fn by_hand() {
    all([
        case("what f16 holds needs no factor", &[-25, -14, 0], 4, 0),
        case("what f16 holds needs no factor", &[-3], 4, 0),
        case("what f16 holds needs no factor", &[], 4, 0),
        case("the smallest gradient is saved by the smallest factor", &[-30, -10], 4, 5),
        case("the smallest gradient is saved by the smallest factor", &[-26, -10], 4, 1),
        case("the smallest gradient is saved by the smallest factor", &[-40, -20], 0, 15),
        case("2²¹ is the most, and saves nothing that 2⁸ does not", &[-50, -33, -10], 4, 8),
        case("the largest gradients keep their room", &[-46, -10], 4, 21),
        case("the largest gradients keep their room", &[-47, -10], 4, 0),
        case("the largest gradients keep their room", &[-30, 12], 4, 0),
        case("the largest gradients keep their room", &[-30, 10], 5, 0),
        case("the largest gradients keep their room", &[-30, 10], 0, 5),
    ]);
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
    let mut random = SplitMix64::new(4);
    let mut one = |_| 1.01 * 2f32.powi(-5 - random.below(40) as i32);
    let numbers: Vec<f32> = (0..4000).map(&mut one).collect();
    let lost = |k: i32| Shares::of(&numbers, 2f32.powi(k)).vanished;
    let room = 3;
    let chosen = exponent(&Histogram::of(&numbers), room);
    let (largest, least) = (15 - room + 5, lost(chosen));
    assert!((0..=largest).contains(&chosen), "2^{chosen} leaves too little room");
    for (k, loses) in (0..=largest).map(|k| (k, lost(k))) {
        assert!(least <= loses, "2^{k} loses {loses}, 2^{chosen} loses {least}");
        let fewer = k < chosen && loses <= least;
        assert!(!fewer, "2^{k} is smaller and loses no more than 2^{chosen}");
    }
}
