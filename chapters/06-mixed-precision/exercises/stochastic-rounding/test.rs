//! The test of the exercise `stochastic-rounding`.

#[cfg_attr(feature = "solutions", path = "solution.rs")]
mod exercise;

use exercise::{round, update};
use half::bf16;
use lab::check::{SplitMix64, near, same_bits};

/// Numbers of all sizes and both signs.
fn numbers() -> Vec<f32> {
    let mut random = SplitMix64::new(1);
    let mut one = || (random.normal() * 2f64.powi(random.below(200) as i32 - 100)) as f32;
    let mut all: Vec<f32> = (0..60).map(|_| one()).collect();
    // Next to a power of two, where the gap changes; numbers below the normal ones; and the least there is.
    all.extend([1.0 - 2f32.powi(-20), -2.0 + 2f32.powi(-20), 3e-39, -1e-44, f32::from_bits(1)]);
    all
}

#[test]
fn the_mean_over_all_random_numbers_is_right() {
    for x in numbers() {
        // All sums are exact in f64.
        let sum: f64 = (0..=u16::MAX).map(|random| round(x, random).to_f64()).sum();
        same_bits(sum / 65536.0, x, format!("{x:e}: the mean"));
    }
}

#[test]
fn only_the_two_neighbours_are_hit() {
    for x in numbers() {
        let toward_zero = bf16::from_bits((x.to_bits() >> 16) as u16);
        let away = bf16::from_bits(toward_zero.to_bits() + 1);
        for random in 0..=u16::MAX {
            let found = round(x, random);
            let between = format_args!("lies between {toward_zero:e} and {away:e}");
            let hit = found == toward_zero || found == away;
            assert!(hit, "{x:e} becomes {found:e} with {random}, and {between}");
        }
    }
}

#[test]
fn what_bf16_holds_stays() {
    for bits in (0..=u16::MAX).step_by(7) {
        let x = bf16::from_bits(bits);
        for random in [0, 1, 0x7fff, 0x8000, u16::MAX] {
            let found = round(x.to_f32(), random);
            let same = found == x || found.is_nan() && x.is_nan();
            assert!(same, "{x:e} becomes {found:e} with {random}");
        }
    }
    let nan = f32::from_bits(0x7fff_ffff);
    assert!(round(nan, u16::MAX).is_nan() && round(-nan, u16::MAX).is_nan());
}

#[test]
fn small_updates_are_not_lost() {
    let mut random = SplitMix64::new(5);
    let (mut weights, gradient) = (vec![bf16::ONE; 1000], vec![1.0; 1000]);
    for _ in 0..1000 {
        update(&mut weights, &gradient, 1e-4, || random.below(1 << 16) as u16);
    }
    let mean = weights.iter().map(|w| w.to_f64()).sum::<f64>() / 1000.0;
    let [least, most] =
        [f64::min, f64::max].map(|of| weights.iter().map(|w| w.to_f64()).fold(mean, of));
    let spread = format!("{least:.3} to {most:.3}, {mean:.4} in the mean");
    println!("from 1, a thousand times 0.0001 less: {spread}");
    near(mean, 0.9, 0.005, "the mean of a thousand weights");
}
