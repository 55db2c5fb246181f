use performance::profile::cost::Cost;

#[test]
fn the_lower_bound_is_the_slower_of_the_two() {
    let cost = Cost { products: 90.0, others: 10.0, bytes: 20.0 };
    assert!((cost.seconds(100.0, 10.0) - 2.0).abs() < 1e-12);
    assert!((cost.seconds(10.0, 10.0) - 10.0).abs() < 1e-12);
    assert!((cost.intensity() - 5.0).abs() < 1e-12);
}
