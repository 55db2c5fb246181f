use backprop::{Error, check, dense::Dense, random::SplitMix64};

fn numbers(len: usize, random: &mut SplitMix64) -> Vec<f64> {
    (0..len).map(|_| random.normal()).collect()
}

#[test]
fn derivatives_are_those_of_finite_differences() {
    let mut random = SplitMix64::new(3);
    for (batch, inputs, outputs) in [(1, 1, 1), (1, 5, 3), (7, 3, 11), (4, 17, 2)] {
        let mut layer = Dense::zeros(inputs, outputs).unwrap();
        layer.weights = numbers(inputs * outputs, &mut random);
        layer.bias = numbers(outputs, &mut random);
        let x = numbers(batch * inputs, &mut random);
        // A loss whose derivative with respect to each output is known: a weighted sum.
        let dy = numbers(batch * outputs, &mut random);
        let loss = |layer: &Dense<f64>, x: &[f64]| {
            let y = layer.forward(x).unwrap();
            y.iter().zip(&dy).map(|(y, dy)| y * dy).sum::<f64>()
        };
        let gradient = layer.backward_weights(&x, &dy).unwrap();
        let weights = check::differences(&layer.weights, |w| {
            loss(&Dense { weights: w.to_vec(), ..layer.clone() }, &x)
        });
        assert!(check::error(&gradient.weights, &weights) < 1e-8);
        let bias = check::differences(&layer.bias, |b| {
            loss(&Dense { bias: b.to_vec(), ..layer.clone() }, &x)
        });
        assert!(check::error(&gradient.bias, &bias) < 1e-8);
        let inputs = check::differences(&x, |x| loss(&layer, x));
        assert!(check::error(&layer.backward_input(&dy).unwrap(), &inputs) < 1e-8);
    }
}

#[test]
fn what_does_not_fit_is_refused() {
    let layer = Dense::<f32>::zeros(3, 2).unwrap();
    assert!(matches!(layer.forward(&[]), Err(Error::EmptyBatch)));
    assert!(matches!(layer.forward(&[0.0; 4]), Err(Error::Rows { .. })));
    assert!(matches!(layer.backward_input(&[]), Err(Error::EmptyBatch)));
    assert!(matches!(layer.backward_weights(&[0.0; 6], &[0.0; 2]), Err(Error::Count { .. })));
    assert!(Dense::<f32>::zeros(0, 2).is_err() && Dense::<f32>::zeros(2, 0).is_err());
}
