use backprop::{
    Error, check, dropout::Dropout, mlp::Mlp, random::SplitMix64, softmax::loss_and_gradient,
};

fn example(sizes: &[usize], batch: usize) -> (Mlp<f64>, Vec<f64>, Vec<u8>) {
    let mut model = Mlp::new(sizes, 5).unwrap();
    let mut random = SplitMix64::new(6);
    for bias in model.layers.iter_mut().flat_map(|layer| &mut layer.bias) {
        *bias = 0.3 * random.normal();
    }
    let x = (0..batch * sizes[0]).map(|_| random.normal()).collect();
    let labels = (0..batch).map(|_| random.below(model.classes()) as u8).collect();
    (model, x, labels)
}

#[test]
fn the_whole_networks_gradient_is_that_of_finite_differences() {
    let shapes: [(&[usize], usize); 5] = [
        (&[4, 3], 1),
        (&[5, 7, 3], 6),
        (&[3, 8, 5, 4], 1),
        (&[6, 9, 7, 5, 2], 11),
        (&[1, 1, 1], 2),
    ];
    for (sizes, batch) in shapes {
        let (model, x, labels) = example(sizes, batch);
        for rate in [0.0, 0.4] {
            let noise = Some((Dropout::new(rate).unwrap(), 77));
            let loss = |model: &Mlp<f64>, x: &[f64]| {
                let pass = model.forward(x, noise).unwrap();
                loss_and_gradient(&pass.scores, &labels, model.classes()).unwrap()
            };
            let pass = model.forward(&x, noise).unwrap();
            let (_, scores) = loss(&model, &x);
            let gradient = model.backward(&pass, &scores, true).unwrap();
            let wanted = check::differences(&model.parameters(), |values| {
                let mut moved = model.clone();
                moved.set_parameters(values).unwrap();
                loss(&moved, &x).0
            });
            let error = check::error(&gradient.flat(), &wanted);
            assert!(error < 1e-7, "{sizes:?} dropout {rate}: {error}");
            let wanted = check::differences(&x, |x| loss(&model, x).0);
            assert!(check::error(&gradient.input.unwrap(), &wanted) < 1e-7);
        }
    }
}

#[test]
fn the_inputs_gradient_is_there_when_asked_for() {
    let (model, x, labels) = example(&[5, 7, 3], 2);
    let pass = model.forward(&x, None).unwrap();
    let (_, scores) = loss_and_gradient(&pass.scores, &labels, 3).unwrap();
    let [with, without] = [true, false].map(|input| model.backward(&pass, &scores, input).unwrap());
    assert_eq!(with.layers, without.layers);
    assert_eq!((with.input.unwrap().len(), without.input), (10, None));
}

#[test]
fn parameters_come_out_and_go_back() {
    let (model, ..) = example(&[5, 7, 3], 1);
    let values = model.parameters();
    assert_eq!(values.len(), 5 * 7 + 7 + 7 * 3 + 3);
    let mut other = Mlp::zeros(&[5, 7, 3]).unwrap();
    other.set_parameters(&values).unwrap();
    assert_eq!(other, model);
    assert!(other.set_parameters(&values[1..]).is_err());
}

#[test]
fn what_does_not_fit_is_refused() {
    assert!(Mlp::<f32>::new(&[784], 0).is_err());
    assert!(Mlp::<f32>::new(&[784, 0, 10], 0).is_err());
    let (model, x, _) = example(&[5, 7, 3], 2);
    assert!(matches!(model.forward(&[], None), Err(Error::EmptyBatch)));
    assert!(matches!(model.forward(&x[1..], None), Err(Error::Rows { .. })));
    let pass = model.forward(&x, None).unwrap();
    assert!(matches!(model.backward(&pass, &[0.0; 3], false), Err(Error::Count { .. })));
}
