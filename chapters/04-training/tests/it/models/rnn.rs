use crate::models::dense::{Plain, equals_plain};
use dfdx::prelude::*;
use training::models::model::CLASSES;
use training::models::rnn::{GATES, HIDDEN, Rnn, SEEN};

/// The definition, in f64: scores of one image.
fn plain(parameters: &mut Plain, image: &[f64]) -> Vec<f64> {
    let rows: Vec<Vec<f64>> = image.chunks_exact(SEEN).map(<[f64]>::to_vec).collect();
    let inputs = parameters.affine(&rows, GATES);
    let weight = parameters.take(HIDDEN * GATES);
    let bias = parameters.take(GATES);
    let sigmoid = |x: f64| 1.0 / (1.0 + (-x).exp());
    let mut state = vec![0.0; HIDDEN];
    for input in inputs {
        let mut sums = bias.to_vec();
        for (h, row) in state.iter().zip(weight.chunks_exact(GATES)) {
            sums.iter_mut().zip(row).for_each(|(sum, w)| *sum += h * w);
        }
        for (at, h) in state.iter_mut().enumerate() {
            let [i, j, k] = [at, HIDDEN + at, 2 * HIDDEN + at];
            let r = sigmoid(input[i] + sums[i]);
            let z = sigmoid(input[j] + sums[j]);
            let n = (input[k] + r * sums[k]).tanh();
            *h = (1.0 - z) * n + z * *h;
        }
    }
    parameters.affine(&[state], CLASSES).remove(0)
}

#[test]
fn equals_the_definition_and_its_slopes() {
    equals_plain::<Rnn<f32, Cpu>>(plain);
}
