use backprop::check::{differences, differences_by, error, error_f32};

#[test]
fn the_differences_of_a_polynomial_are_its_derivatives() {
    let found = differences(&[2.0, -3.0], |x| x[0] * x[0] * x[1] + x[1]);
    assert!(error(&found, &[-12.0, 5.0]) < 1e-9, "{found:?}");
}

#[test]
fn a_longer_step_costs_its_square() {
    let off = |step| (differences_by(step, &[1.0], |x| x[0].powi(3))[0] - 3.0).abs();
    assert!((off(1e-1) / off(1e-2) - 100.0).abs() < 1.0, "{} {}", off(1e-1), off(1e-2));
    assert!(off(1e-13) > off(1e-5));
}

#[test]
fn an_error_is_relative_and_nothing_hides() {
    assert!((error(&[1.0, 2.0], &[1.0, 1.0]) - 0.5f64.sqrt()).abs() < 1e-12);
    assert_eq!(error(&[3.0], &[0.0]), 3.0);
    assert_eq!(error(&[f64::NAN], &[1.0]), f64::INFINITY);
    assert_eq!(error(&[1.0], &[1.0, 1.0]), f64::INFINITY);
    assert_eq!(error_f32(&[1.0], &[2.0]), 0.5);
}
