use engine::sums::{dot, largest, replace_and_sum, triple};
use lab::{random::numbers, vectors::wide};

#[test]
fn sums_are_those_of_f64_at_any_length() {
    for len in [0, 1, 15, 16, 17, 100, 1000] {
        let (x, y) = (numbers(len, 1), numbers(len, 2));
        let wanted: f64 = x.iter().zip(&y).map(|(x, y)| f64::from(*x) * f64::from(*y)).sum();
        assert!((f64::from(wide!(|| dot(&x, &y))) - wanted).abs() < 1e-5, "{len}");
        let three: f64 = wanted - f64::from(wide!(|| triple(&x, &y, &vec![1.0; len])));
        assert!(three.abs() < 1e-5, "{len}");
        let most = x.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        assert_eq!(wide!(|| largest(&x)), most);
        let mut doubled = x.clone();
        let sum = f64::from(wide!(|| replace_and_sum(&mut doubled, |x| 2.0 * x)));
        let wanted: f64 = x.iter().map(|x| 2.0 * f64::from(*x)).sum();
        assert!((sum - wanted).abs() < 1e-4, "{len}: {sum} {wanted}");
        assert!(doubled.iter().zip(&x).all(|(d, x)| *d == 2.0 * x));
    }
    assert_eq!(largest(&[f32::NAN, -3.0]), -3.0);
}
