//! The test of the exercise `law-with-a-floor`.

#[cfg_attr(feature = "solutions", path = "solution.rs")]
mod exercise;

use exercise::{Law, fit, range};
use lab::check::{SplitMix64, near, some};

/// Sizes as the page's, and three more.
const SIZES: [f64; 7] = [2.6e4, 4.3e4, 8e4, 1.4e5, 2.7e5, 5.3e5, 1.1e6];

fn points(law: Law, sizes: &[f64]) -> Vec<(f64, f64)> {
    sizes.iter().map(|&size| (size, law.at(size))).collect()
}

/// The same with losses that are off by this fraction.
fn noisy(law: Law, sizes: &[f64], by: f64, random: &mut SplitMix64) -> Vec<(f64, f64)> {
    points(law, sizes)
        .iter()
        .map(|(size, loss)| (*size, loss * (1.0 + by * random.normal())))
        .collect()
}

/// The sum of squared differences.
fn off(law: Law, points: &[(f64, f64)]) -> f64 {
    points.iter().map(|&(size, loss)| (law.at(size) - loss).powi(2)).sum()
}

/// A law that must exist and keep the rules.
#[track_caller]
fn fitted(points: &[(f64, f64)]) -> Law {
    let law = some(fit(points), format!("{points:?}: three sizes are enough for a law"));
    assert!(law.floor >= 0.0, "{law:?}: a loss is never below 0, and so is no floor");
    assert!(law.factor >= 0.0, "{law:?}: a larger model is not worse");
    let allowed = 0.01 - 1e-9..=2.0 + 1e-9;
    assert!(allowed.contains(&law.exponent), "{law:?}: the exponent is from 0.01 to 2");
    law
}

#[test]
fn exact_losses_give_the_law_back() {
    for (floor, factor, exponent) in [
        (1.0, 12.0, 0.2),
        (0.5, 60.0, 0.3),
        (1.7, 400.0, 0.4567),
        (0.0, 12.0, 0.13),
        (0.2, 2e4, 1.0),
    ] {
        let truth = Law { floor, factor, exponent };
        let found = fitted(&points(truth, &SIZES));
        near(found.floor, floor, 1e-3, "the floor");
        near(found.exponent, exponent, 1e-3, "the exponent");
        for size in [2e6, 1e9, 1e12] {
            let loss = truth.at(size);
            let within = f64::max(1e-3, 0.01 * loss);
            near(found.at(size), loss, within, format!("{truth:?} at {size:e}"));
        }
    }
}

#[test]
fn no_other_law_is_nearer() {
    let mut random = SplitMix64::new(13);
    for round in 0..60 {
        let unit =
            |random: &mut SplitMix64, low: f64, high: f64| low + (high - low) * random.unit();
        let [floor, factor, exponent] =
            [(0.0, 1.5), (5.0, 60.0), (0.1, 0.6)].map(|(low, high)| unit(&mut random, low, high));
        let truth = Law { floor, factor, exponent };
        let noisy = noisy(truth, &SIZES[..3 + round % 5], 0.02, &mut random);
        let law = fitted(&noisy);
        let (least, scale) = (off(law, &noisy), noisy.iter().map(|p| p.1 * p.1).sum::<f64>());
        let nearer = |other: Law| {
            let here = off(other, &noisy);
            let what = format!("round {round}: {law:?} is off by {least:.3e}");
            assert!(least <= here + 1e-7 * scale, "{what}, and {other:?} by {here:.3e} only");
        };
        nearer(truth);
        for _ in 0..2000 {
            let exponent = unit(&mut random, 0.01, 2.0);
            // A line through two of the points, which is near to all of them.
            let (a, b) = (noisy[0], noisy[noisy.len() - 1]);
            let power = |size: f64| size.powf(-exponent);
            let factor = (a.1 - b.1) / (power(a.0) - power(b.0)) * unit(&mut random, 0.9, 1.1);
            let floor = b.1 - factor * power(b.0) + 0.02 * random.normal();
            if factor >= 0.0 && floor >= 0.0 {
                nearer(Law { floor, factor, exponent });
            }
        }
    }
}

#[test]
fn losses_that_do_not_fall_have_a_floor_and_nothing_else() {
    let flat = fitted(&[(1e4, 2.0), (1e5, 2.0), (1e6, 2.0), (1e7, 2.0)]);
    near(flat.at(1e9), 2.0, 1e-6, format!("{flat:?}: the loss is 2 at every size"));
    let rising = fitted(&[(1e4, 2.0), (1e5, 2.2), (1e6, 2.4)]);
    near(rising.at(1e5), 2.2, 1e-6, format!("{rising:?}: the best that is left is the mean, 2.2"));
}

#[test]
fn three_numbers_need_three_sizes() {
    assert_eq!(fit(&[]), None, "no point");
    assert_eq!(fit(&[(1e4, 3.0), (1e5, 2.0)]), None, "two points fit a law for every floor");
    let seeds = [(1e4, 3.0), (1e4, 3.1), (1e5, 2.0), (1e5, 2.1)];
    assert_eq!(fit(&seeds), None, "two sizes, with two seeds each, are still two");
    let three = points(Law { floor: 1.0, factor: 12.0, exponent: 0.2 }, &SIZES[..3]);
    assert!(fit(&three).is_some(), "three sizes are enough for a law");
    assert_eq!(range(&three, 1e6), None, "three sizes, and one left out: no law is left");
    assert_eq!(range(&[], 1e6), None, "no point, no range");
}

#[test]
fn the_range_is_that_of_the_laws_which_leave_one_point_out() {
    let mut random = SplitMix64::new(17);
    let truth = Law { floor: 1.0, factor: 60.0, exponent: 0.3 };
    for len in [4, 5, 7] {
        let noisy = noisy(truth, &SIZES[..len], 0.005, &mut random);
        let widths = [2.0, 1000.0].map(|times| {
            let size = times * SIZES[len - 1];
            let enough = format!("{len} points: each leaves {} others, which is enough", len - 1);
            let (low, high) = some(range(&noisy, size), enough);
            let without = |out: usize| [&noisy[..out], &noisy[out + 1..]].concat();
            let mut said: Vec<f64> = (0..len).map(|out| fitted(&without(out)).at(size)).collect();
            said.sort_by(f64::total_cmp);
            let what = format!("{len} points, at {size:.1e}");
            near(low, said[0], 1e-6, format!("{what}: the lowest"));
            near(high, said[len - 1], 1e-6, format!("{what}: the highest"));
            println!("{what}: from {low:.3} to {high:.3}, in truth {:.3}", truth.at(size));
            high - low
        });
        assert!(widths[0] < widths[1], "{len} points: the laws part with the distance: {widths:?}");
    }
}
