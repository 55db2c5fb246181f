use language_model::train::clip::factor;

#[test]
fn only_long_gradients_are_shortened() {
    assert_eq!((factor(0.5, 1.0), factor(1.0, 1.0), factor(4.0, 1.0)), (1.0, 1.0, 0.25));
}
