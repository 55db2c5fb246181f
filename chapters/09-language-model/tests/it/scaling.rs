use lab::random::SplitMix64;
use language_model::scaling::PowerLaw;

#[test]
fn a_law_is_found_from_its_own_points() {
    for law in [
        PowerLaw { factor: 12.0, exponent: 0.13 },
        PowerLaw { factor: 0.5, exponent: 0.9 },
        PowerLaw { factor: 3.0, exponent: 0.0 },
    ] {
        let points = [4e4, 8e4, 1.4e5, 2.7e5].map(|n| (n, law.at(n)));
        let found = PowerLaw::fit(&points).unwrap();
        assert!((found.exponent - law.exponent).abs() < 1e-9, "{found:?}");
        assert!((found.at(5e5) / law.at(5e5) - 1.0).abs() < 1e-9, "{found:?}");
    }
}

#[test]
fn small_errors_of_the_losses_stay_small() {
    let law = PowerLaw { factor: 12.0, exponent: 0.13 };
    let mut random = SplitMix64::new(1);
    for _ in 0..100 {
        let points =
            [4e4, 8e4, 1.4e5, 2.7e5].map(|n| (n, law.at(n) * (1.0 + 0.003 * random.normal())));
        let found = PowerLaw::fit(&points).unwrap();
        assert!((found.at(5e5) / law.at(5e5) - 1.0).abs() < 0.02, "{found:?}");
    }
}

#[test]
fn a_floor_makes_the_prediction_too_good() {
    let true_loss = |n: f64| 1.0 + 12.0 * n.powf(-0.2);
    let law = PowerLaw::fit(&[4e4, 8e4, 1.4e5, 2.7e5].map(|n| (n, true_loss(n)))).unwrap();
    let off = |n: f64| law.at(n) / true_loss(n) - 1.0;
    assert!(off(5e5) < 0.0 && off(5e5) > -0.02 && off(1e8) < -0.1);
}

#[test]
fn points_without_a_line_have_no_law() {
    for points in [
        &[][..],
        &[(1e5, 2.0)],
        &[(1e5, 2.0), (1e5, 1.9)],
        &[(1e5, 2.0), (2e5, f64::NAN)],
        &[(0.0, 2.0), (2e5, 1.9)],
        &[(1e5, 2.0), (2e5, -1.0)],
    ] {
        assert_eq!(PowerLaw::fit(points), None, "{points:?}");
    }
}
