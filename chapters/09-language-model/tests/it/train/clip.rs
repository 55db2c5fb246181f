use lab::random::numbers;
use language_model::train::clip::{factor, norm};

#[test]
fn the_norm_is_that_of_f64() {
    for len in [0, 1, 8191, 8193, 100_003] {
        let gradient = numbers(len, 3);
        let wanted = gradient.iter().map(|g| f64::from(*g).powi(2)).sum::<f64>().sqrt();
        let found = norm(&gradient);
        assert!((found - wanted).abs() <= 1e-6 * wanted, "{len}: {found} {wanted}");
    }
    assert!(norm(&[1.0, f32::NAN]).is_nan());
}

#[test]
fn only_long_gradients_are_shortened() {
    assert_eq!((factor(0.5, 1.0), factor(1.0, 1.0), factor(4.0, 1.0)), (1.0, 1.0, 0.25));
}
