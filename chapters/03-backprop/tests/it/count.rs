use backprop::Error;
use backprop::count::{Layer, Model};

#[test]
fn vgg16_has_its_published_number_of_parameters() {
    let counts = Model::vgg16().count().unwrap();
    assert_eq!(counts.parameters, 138_357_544);
    assert_eq!(counts.rows.last().unwrap().output, [1000]);
    // 15.47 thousand million multiplications with an addition each, as torchvision counts them.
    assert!((counts.forward / 2e9 - 15.47).abs() < 0.01, "{}", counts.forward);
    let first = 2.0 * 27.0 * 64.0 * 224.0 * 224.0;
    assert!((counts.backward - (2.0 * counts.forward - first)).abs() < 1.0);
    assert_eq!(counts.largest, 64 * 224 * 224);
    assert_eq!(counts.unrolled, 9 * 64 * 224 * 224);
}

#[test]
fn the_articles_network_by_hand() {
    let counts = Model::named("mlp").unwrap().count().unwrap();
    assert_eq!(counts.parameters, 784 * 128 + 128 + 128 * 10 + 10);
    let (one, two) = (2.0 * 784.0 * 128.0, 2.0 * 128.0 * 10.0);
    assert_eq!((counts.forward, counts.backward), (one + two, one + 2.0 * two));
    // The image, the hidden units, their mask, the scores.
    assert_eq!(counts.kept, 784 + 128 + 128 + 10);
}

#[test]
fn a_convolution_by_hand() {
    let conv = Layer::Conv { channels: 5, size: 3, stride: 2, padding: 1 };
    let model = Model {
        name: "c".into(),
        input: vec![2, 8, 6],
        layers: vec![conv, Layer::Pool { size: 2 }],
    };
    let counts = model.count().unwrap();
    assert_eq!(counts.rows[0].output, [5, 4, 3]);
    assert_eq!(counts.rows[0].parameters, 5 * 2 * 9 + 5);
    assert_eq!(counts.rows[0].forward, 2.0 * f64::from(5 * 2 * 9 * 4 * 3));
    assert_eq!(counts.rows[0].unrolled, 2 * 9 * 4 * 3);
    assert_eq!(counts.rows[1].output, [5, 2, 1]);
    assert_eq!(counts.kept, 2 * 8 * 6 + 5 * 4 * 3 + 2 * 5 * 2);
}

#[test]
fn a_description_is_read_back_and_mistakes_are_named() {
    let model = Model::vgg16();
    let text = serde_json::to_string(&model).unwrap();
    assert_eq!(Model::from_json(&text).unwrap(), model);
    let short = r#"{"name": "s", "input": [1, 8, 8], "layers": [{"conv": {"channels": 4, "size": 3}}, "relu", "flatten", {"dense": {"units": 10}}]}"#;
    assert_eq!(Model::from_json(short).unwrap().count().unwrap().parameters, 40 + 144 * 10 + 10);
    for bad in ["", "{}", r#"{"name": "s", "input": [1], "layers": ["cook"]}"#] {
        assert!(Model::from_json(bad).unwrap_err().to_string().contains("one looks like"));
    }
}

#[test]
fn models_that_cannot_be_are_refused() {
    let counted = |input: &[usize], layers: &[Layer]| {
        Model { name: "m".into(), input: input.to_vec(), layers: layers.to_vec() }.count()
    };
    let conv = |size, stride| Layer::Conv { channels: 4, size, stride, padding: 0 };
    for layers in [
        vec![Layer::Dense { units: 3 }],
        vec![Layer::Flatten, conv(1, 1)],
        vec![conv(9, 1)],
        vec![conv(3, 0)],
        vec![conv(0, 1)],
        vec![Layer::Pool { size: 0 }],
        vec![Layer::Flatten, Layer::Dense { units: 0 }],
        vec![Layer::Dropout { rate: 1.5 }],
        vec![Layer::Flatten, Layer::Dense { units: usize::MAX }],
    ] {
        let error = counted(&[3, 8, 8], &layers).unwrap_err();
        assert!(matches!(error, Error::Layer { .. }), "{error}");
    }
    assert!(counted(&[], &[Layer::Relu]).is_err() && counted(&[3], &[]).is_err());
    assert!(Model::named("vgg99").is_err() && Model::named("784").is_err());
    assert_eq!(Model::named("784-10").unwrap().count().unwrap().parameters, 7850);
}
