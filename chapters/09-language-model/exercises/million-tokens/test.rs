//! The test of the exercise `million-tokens`.

#[cfg_attr(feature = "solutions", path = "solution.rs")]
mod exercise;

use exercise::{Sample, joules, per_million};
use lab::check::{SplitMix64, all_near, close, some};

fn taken(of: &[(f64, f64)]) -> f64 {
    joules(&of.iter().map(|&(seconds, watts)| Sample { seconds, watts }).collect::<Vec<_>>())
}

#[test]
fn each_sample_counts_for_the_time_around_it() {
    let burst = [(0.0, 100.0), (9.0, 100.0), (9.25, 500.0), (9.5, 500.0), (9.75, 500.0)];
    let jump = [(0.0, 10.0), (1.0, 10.0), (1.0, 30.0), (2.0, 30.0)];
    all_near([
        ("constant power", taken(&[(0.0, 100.0), (1.0, 100.0), (10.0, 100.0)]), 1000.0),
        ("a straight line upwards", taken(&[(2.0, 0.0), (4.0, 300.0)]), 300.0),
        ("nine quiet seconds, then many samples of a burst", taken(&burst), 900.0 + 75.0 + 250.0),
        ("no sample", taken(&[]), 0.0),
        ("one sample has no duration", taken(&[(5.0, 700.0)]), 0.0),
        ("two samples at one moment", taken(&[(5.0, 700.0), (5.0, 100.0)]), 0.0),
        ("a jump of the power", taken(&jump), 40.0),
    ]);
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
        close(many, few, 1e-9, format!("joules of {len} samples, {corners} of the same lines"));
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
        let what = format!("USD for {rent} USD/h, {rate} tokens/s, utilisation {utilisation}");
        let found = per_million(rent, rate, utilisation);
        let found = some(found, format!("{what}: there are tokens, and so there is a price"));
        close(found, wanted, 1e-9, what);
    }
}

#[test]
fn without_tokens_there_is_no_price() {
    for (rate, utilisation) in [(0.0, 1.0), (1000.0, 0.0), (0.0, 0.0)] {
        let found = per_million(3.6, rate, utilisation);
        assert_eq!(found, None, "{rate} tokens/s, utilisation {utilisation}: no token is written");
    }
}
