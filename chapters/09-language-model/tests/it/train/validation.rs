use language_model::{Config, Error, Model, train::validation::loss};

#[test]
fn it_is_the_mean_over_the_windows() {
    let config = Config { vocabulary: 9, context: 8, width: 8, heads: 2, layers: 1, hidden: 8 };
    let model = Model::new(config, 4).unwrap();
    let stream: Vec<u32> = (0..70_u32).map(|i| i * i % 9).collect();
    let each = (0..8).map(|window| {
        let first = window * 8;
        model.loss(&stream[first..first + 8], &stream[first + 1..first + 9], 1).unwrap()
    });
    let wanted = each.sum::<f64>() / 8.0;
    let found = loss(&model, &stream, 8, 100, 1).unwrap();
    assert!((found - wanted).abs() < 1e-6, "{found} {wanted}");
    let first = model.loss(&stream[..8], &stream[1..9], 1).unwrap();
    assert!((loss(&model, &stream, 8, 1, 1).unwrap() - first).abs() < 1e-12);
    assert!(matches!(loss(&model, &stream[..8], 8, 9, 1), Err(Error::TooShort { .. })));
}
