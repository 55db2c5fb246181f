//! The test of the exercise `million-tokens`.

#[cfg_attr(feature = "solutions", path = "solution.rs")]
#[cfg_attr(not(feature = "solutions"), path = "exercise.rs")]
mod exercise;

use exercise::{Sample, joules, per_million};
use lab::random::SplitMix64;

fn samples(of: &[(f64, f64)]) -> Vec<Sample> {
    of.iter().map(|&(seconds, watts)| Sample { seconds, watts }).collect()
}

#[track_caller]
fn takes(of: &[(f64, f64)], wanted: f64, why: &str) {
    let found = joules(&samples(of));
    let off = (found - wanted).abs();
    assert!(off <= 1e-9 * wanted.abs(), "{why}: {found} J, and not {wanted} J");
}

#[test]
fn each_sample_counts_for_the_time_around_it() {
    takes(&[(0.0, 100.0), (1.0, 100.0), (10.0, 100.0)], 1000.0, "constant power");
    takes(&[(2.0, 0.0), (4.0, 300.0)], 300.0, "a straight line upwards");
    let burst = [(0.0, 100.0), (9.0, 100.0), (9.25, 500.0), (9.5, 500.0), (9.75, 500.0)];
    let wanted = 9.0 * 100.0 + 0.25 * 300.0 + 0.5 * 500.0;
    takes(&burst, wanted, "nine quiet seconds, then many samples of a burst");
}

#[test]
fn one_sample_has_no_duration() {
    takes(&[], 0.0, "no sample");
    takes(&[(5.0, 700.0)], 0.0, "one sample");
    takes(&[(5.0, 700.0), (5.0, 100.0)], 0.0, "two samples at one moment");
    takes(&[(0.0, 10.0), (1.0, 10.0), (1.0, 30.0), (2.0, 30.0)], 40.0, "a jump of the power");
}

#[test]
fn more_samples_of_the_same_line_change_nothing() {
    let mut random = SplitMix64::new(3);
    for corners in [2, 3, 7, 1000] {
        let mut at = 0.0;
        let mut bend = || {
            at += 1e-3 + 5.0 * random.unit();
            Sample { seconds: at, watts: 700.0 * random.unit() }
        };
        let few: Vec<Sample> = (0..corners).map(|_| bend()).collect();
        // Some of the lines between two corners get points in between.
        let mut many = vec![few[0]];
        for pair in few.windows(2) {
            for part in 1..=random.below(9) {
                let part = part as f64 / 10.0;
                let between = |a: f64, b: f64| a + part * (b - a);
                let seconds = between(pair[0].seconds, pair[1].seconds);
                many.push(Sample { seconds, watts: between(pair[0].watts, pair[1].watts) });
            }
            many.push(pair[1]);
        }
        let (few, many, len) = (joules(&few), joules(&many), many.len());
        let off = (few - many).abs() / few.abs().max(1e-9);
        let what = format!("{few} J from {corners} samples, {many} J from {len} of the same lines");
        assert!(off < 1e-9, "{what}");
        assert!(few > 0.0, "{corners} samples above 0 W: {few} J");
    }
}

#[test]
fn the_rent_is_paid_for_the_waiting_too() {
    for (rent, rate, utilisation, wanted) in [
        (3.6, 1000.0, 1.0, 1.0),
        (3.6, 1000.0, 0.25, 4.0),
        (0.0, 50.0, 0.5, 0.0),
        (2.0, 1e6, 1e-6, 2e6 / 3600.0),
    ] {
        let what = format!("{rent} USD/h, {rate} tokens/s, utilisation {utilisation}");
        let Some(found) = per_million(rent, rate, utilisation) else {
            panic!("{what}: there are tokens, and so there is a price")
        };
        assert!((found - wanted).abs() <= 1e-9 * wanted, "{what}: {found} USD, and not {wanted}");
    }
}

#[test]
fn without_tokens_there_is_no_price() {
    for (rate, utilisation) in [(0.0, 1.0), (1000.0, 0.0), (0.0, 0.0)] {
        let found = per_million(3.6, rate, utilisation);
        assert_eq!(found, None, "{rate} tokens/s, utilisation {utilisation}: no token is written");
    }
}
