//! The test of the exercise `standardise`.

#[cfg_attr(feature = "solutions", path = "solution.rs")]
mod exercise;

use exercise::Scaler;
use lab::{check::near, random::SplitMix64};

/// 200 rows of three columns: around 0, around a million, and a hundredth wide around −5.
fn values() -> Vec<f32> {
    let mut random = SplitMix64::new(1);
    let mut uniform = || (random.next() >> 40) as f64 / f64::from(1 << 24);
    let row = |_| {
        [uniform() * 2.0 - 1.0, 1e6 + 100.0 * uniform(), uniform() / 100.0 - 5.0].map(|x| x as f32)
    };
    (0..200).flat_map(row).collect()
}

fn column(values: &[f32], at: usize) -> Vec<f64> {
    values.iter().skip(at).step_by(3).map(|x| f64::from(*x)).collect()
}

#[test]
fn each_column_has_mean_0_and_deviation_1() {
    let mut values = values();
    Scaler::fit(&values, 3).apply(&mut values);
    for at in 0..3 {
        let column = column(&values, at);
        let mean = column.iter().sum::<f64>() / 200.0;
        let square = column.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / 200.0;
        near(mean, 0.0, 1e-5, format!("the mean of column {at}"));
        near(square, 1.0, 1e-4, format!("the mean square of column {at}"));
    }
}

#[test]
fn other_data_are_scaled_by_what_was_fitted() {
    let scaler = Scaler::fit(&[0.0, 10.0, 2.0, 30.0], 2);
    let mut other = [5.0, 20.0, 1.0, 60.0, 0.0, 0.0];
    scaler.apply(&mut other);
    near(other, [4.0, 0.0, 0.0, 4.0, -1.0, -2.0], 1e-6, "other data");
}

#[test]
fn a_constant_column_becomes_zero() {
    for (what, mut values, wanted) in [
        ("the column of 7", vec![7.0, 1.0, 7.0, 3.0], vec![0.0, -1.0, 0.0, 1.0]),
        ("one row is all constants", vec![3.0, -4.0], vec![0.0, 0.0]),
    ] {
        Scaler::fit(&values, 2).apply(&mut values);
        near(values, wanted, 1e-6, what);
    }
}
