//! The test of the exercise `dense-backward`.

#[cfg_attr(feature = "solutions", path = "solution.rs")]
mod exercise;

use backprop::check::{differences, error};
use exercise::{bias, input, weights};
use lab::random::SplitMix64;

/// Σ dY·(X·W + b), in f64: a loss whose derivative with respect to Y is dY.
fn loss(x: &[f64], w: &[f64], b: &[f64], dy: &[f32]) -> f64 {
    let (outputs, batch) = (b.len(), dy.len() / b.len());
    let inputs = x.len() / batch;
    let mut sum = 0.0;
    for i in 0..batch {
        for j in 0..outputs {
            let y: f64 = (0..inputs).map(|p| x[i * inputs + p] * w[p * outputs + j]).sum();
            sum += (y + b[j]) * f64::from(dy[i * outputs + j]);
        }
    }
    sum
}

fn wide(values: &[f32]) -> Vec<f64> {
    values.iter().map(|v| f64::from(*v)).collect()
}

#[test]
fn derivatives_are_those_of_finite_differences() {
    let mut random = SplitMix64::new(1);
    for (batch, inputs, outputs) in [(1, 3, 2), (5, 7, 4), (8, 2, 9), (4, 4, 4)] {
        let lengths = [batch * inputs, inputs * outputs, outputs, batch * outputs];
        let [x, w, b, dy] = lengths.map(|len| random.normals(len, 1.0));
        let [x64, w64, b64] = [&x, &w, &b].map(|values| wide(values));
        let dw = weights(&x, &dy, batch, inputs, outputs);
        let dx = input(&w, &dy, batch, inputs, outputs);
        for (what, found, wanted) in [
            ("dW", dw, differences(&w64, |w| loss(&x64, w, &b64, &dy))),
            ("dX", dx, differences(&x64, |x| loss(x, &w64, &b64, &dy))),
            ("db", bias(&dy, outputs), differences(&b64, |b| loss(&x64, &w64, b, &dy))),
        ] {
            let error = error(&wide(&found), &wanted);
            assert!(error < 1e-5, "{what} of {batch}×{inputs}×{outputs} is off by {error}");
        }
    }
}
