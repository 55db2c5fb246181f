//! The test of the exercise `quartiles`.

#[cfg_attr(feature = "solutions", path = "solution.rs")]
#[cfg_attr(not(feature = "solutions"), path = "exercise.rs")]
mod exercise;

use exercise::quantile;
use lab::Samples;

fn quartiles(samples: &[f64]) -> [Option<f64>; 3] {
    [0.25, 0.5, 0.75].map(|q| quantile(samples, q))
}

#[test]
fn an_odd_number_of_samples_has_one_in_the_middle() {
    assert_eq!(quartiles(&[1.0, 2.0, 3.0, 4.0, 10.0]), [Some(2.0), Some(3.0), Some(4.0)]);
}

#[test]
fn an_even_number_has_two() {
    assert_eq!(quartiles(&[1.0, 2.0, 4.0, 8.0]), [Some(1.75), Some(3.0), Some(5.0)]);
}

#[test]
fn one_sample_is_its_own_middle_and_none_have_none() {
    assert_eq!(quartiles(&[7.0]), [Some(7.0); 3]);
    assert_eq!(quartiles(&[]), [None; 3]);
}

#[test]
fn the_ends_are_the_least_and_the_largest() {
    let samples = [4.0, 9.0, 1.0];
    assert_eq!((quantile(&samples, 0.0), quantile(&samples, 1.0)), (Some(1.0), Some(9.0)));
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
            let (found, wanted) = (quantile(&samples, q), Samples(samples.clone()).quantile(q));
            let found = found.unwrap_or_else(|| panic!("{count} samples have no quantile {q}"));
            assert!(
                (found - wanted).abs() < 1e-9,
                "{found} instead of {wanted} for the quantile {q} of {samples:?}"
            );
        }
    }
}
