use backprop::dropout::Dropout;

#[test]
fn the_share_is_kept_and_so_is_the_mean() {
    for rate in [0.0, 0.2, 0.5, 0.9] {
        let dropout = Dropout::new(rate).unwrap();
        let mask = dropout.mask::<f64>(17, 100_000);
        let out = mask.iter().filter(|m| **m == 0.0).count() as f64 / 1e5;
        assert!((out - rate).abs() < 0.01, "{out} of {rate}");
        assert!((mask.iter().sum::<f64>() / 1e5 - 1.0).abs() < 0.05);
    }
    assert!(Dropout::new(0.0).unwrap().mask::<f32>(1, 1000).iter().all(|m| *m == 1.0));
}

#[test]
fn another_step_leaves_out_other_units() {
    let dropout = Dropout::new(0.5).unwrap();
    assert_ne!(dropout.mask::<f32>(1, 64), dropout.mask::<f32>(2, 64));
    assert_eq!(dropout.mask::<f32>(1, 64), dropout.mask::<f32>(1, 64));
}

#[test]
fn impossible_shares_are_refused() {
    for rate in [-0.1, 1.0, f64::NAN] {
        assert!(Dropout::new(rate).is_err(), "{rate}");
    }
}
