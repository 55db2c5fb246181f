use backprop::activation::{relu, relu_backward};

#[test]
fn only_what_is_above_zero_passes_and_nan_shows() {
    let mut values = [-1.0, 0.0, 2.0, f32::NAN];
    relu(&mut values);
    assert_eq!(values[..3], [0.0, 0.0, 2.0]);
    assert!(values[3].is_nan());
    let mut gradient = [5.0, 6.0, 7.0];
    relu_backward(&values[..3], &mut gradient);
    assert_eq!(gradient, [0.0, 0.0, 7.0]);
}
