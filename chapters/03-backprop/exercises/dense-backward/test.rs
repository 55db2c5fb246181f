//! The test of the exercise `dense-backward`.

#[cfg_attr(feature = "solutions", path = "solution.rs")]
#[cfg_attr(not(feature = "solutions"), path = "exercise.rs")]
mod exercise;

use backprop::{check, random::SplitMix64};
use exercise::{bias, input, weights};

fn numbers(len: usize, random: &mut SplitMix64) -> Vec<f32> {
    (0..len).map(|_| random.normal() as f32).collect()
}

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
        let (x, w) = (numbers(batch * inputs, &mut random), numbers(inputs * outputs, &mut random));
        let (b, dy) = (numbers(outputs, &mut random), numbers(batch * outputs, &mut random));
        let (x64, w64, b64) = (wide(&x), wide(&w), wide(&b));
        for (what, found, wanted) in [
            (
                "dW",
                weights(&x, &dy, batch, inputs, outputs),
                check::differences(&w64, |w| loss(&x64, w, &b64, &dy)),
            ),
            (
                "dX",
                input(&w, &dy, batch, inputs, outputs),
                check::differences(&x64, |x| loss(x, &w64, &b64, &dy)),
            ),
            ("db", bias(&dy, outputs), check::differences(&b64, |b| loss(&x64, &w64, b, &dy))),
        ] {
            let error = check::error(&wide(&found), &wanted);
            assert!(error < 1e-5, "{what} of {batch}×{inputs}×{outputs} is off by {error}");
        }
    }
}
