//! The test of the exercise `quartiles`.

#[cfg_attr(feature = "solutions", path = "solution.rs")]
mod exercise;

use exercise::quantile;
use lab::Samples;
use lab::check::{all, near, some};

fn quartiles(samples: &[f64]) -> [Option<f64>; 3] {
    [0.25, 0.5, 0.75].map(|q| quantile(samples, q))
}

#[test]
fn by_hand() {
    all([
        (
            "an odd number of samples has one in the middle",
            quartiles(&[1.0, 2.0, 3.0, 4.0, 10.0]),
            [Some(2.0), Some(3.0), Some(4.0)],
        ),
        (
            "an even number has two",
            quartiles(&[1.0, 2.0, 4.0, 8.0]),
            [Some(1.75), Some(3.0), Some(5.0)],
        ),
        ("one sample is its own middle", quartiles(&[7.0]), [Some(7.0); 3]),
        ("none have none", quartiles(&[]), [None; 3]),
    ]);
    let ends = [0.0, 1.0].map(|q| quantile(&[4.0, 9.0, 1.0], q));
    assert_eq!(ends, [Some(1.0), Some(9.0)], "the ends are the least and the largest");
}

#[test]
fn an_outlier_moves_the_mean_and_nothing_else() {
    // 51 samples of 20 µs, in steps of a nanosecond. Into one of them falls another program's work.
    let mut samples: Vec<f64> = (0..51).map(|i| f64::from(20_000 + i * 20 % 51)).collect();
    let mean = |samples: &[f64]| samples.iter().sum::<f64>() / samples.len() as f64;
    let (quiet, truth) = (quartiles(&samples), mean(&samples));
    assert_eq!(quiet, [Some(20_012.5), Some(20_025.0), Some(20_037.5)]);
    let largest = samples.iter().position(|&sample| sample > 20_049.0).expect("it is there");
    samples[largest] *= 1000.0;
    assert!(mean(&samples) > 20.0 * truth);
    assert_eq!(quartiles(&samples), quiet);
}

#[test]
fn it_is_the_quantile_of_the_book() {
    for count in 1..40 {
        let samples: Vec<f64> = (0..count).map(|i| f64::from(i * i * 7 % 31)).collect();
        for q in (0..=20).map(|twentieth| f64::from(twentieth) / 20.0) {
            let wanted = Samples(samples.clone()).quantile(q);
            let found = quantile(&samples, q);
            let found = some(found, format!("{count} samples have no quantile {q}"));
            near(found, wanted, 1e-9, format!("the quantile {q} of {samples:?}"));
        }
    }
}
