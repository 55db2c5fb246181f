use performance::memory::{limit::Limit, predict};

#[test]
fn the_largest_batch_fits_and_one_more_does_not() {
    for model in [predict::mlp().unwrap(), predict::cnn()] {
        for limit in [8, 16, 40].map(|mib| Limit(mib << 20)) {
            let most = limit.largest_batch(&model, 2).unwrap();
            assert!(most > 0, "{} in {limit:?}", model.name);
            assert!(limit.check(&model, most, 2).unwrap() <= limit.0);
            let error = limit.check(&model, most + 1, 2).unwrap_err().to_string();
            assert!(error.contains(&format!("take {most} at a time")), "{error}");
            assert!(error.contains(&format!("the limit is {}.", limit.0 >> 20)), "{error}");
        }
    }
}

#[test]
fn what_can_never_fit_is_said_so() {
    let model = predict::mlp().unwrap();
    assert_eq!(Limit(1 << 20).largest_batch(&model, 1).unwrap(), 0);
    let error = Limit(1 << 20).check(&model, 1, 1).unwrap_err().to_string();
    assert!(error.contains("single image") && error.contains("several devices"), "{error}");
}
