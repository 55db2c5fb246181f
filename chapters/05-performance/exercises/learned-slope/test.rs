//! The test of the exercise `learned-slope`.

#[cfg_attr(feature = "solutions", path = "solution.rs")]
mod exercise;

use engine::{
    cpu::Ways, model::Model, ops::dense::Dense, program::Numbers, rule::adam, step::Step,
    tensor::Place,
};
use exercise::Prelu;
use lab::random::SplitMix64;

/// Images of a batch: not a multiple of the blocks.
const ROWS: usize = 37;
/// Numbers of an image, and units of the hidden layer.
const SIZES: [usize; 2] = [6, 5];

/// A small network with the operation in the middle, and a batch in it.
fn step(threads: usize) -> Step {
    let model = Model::new(3, SIZES[0], |p| {
        vec![
            Box::new(Dense::new(p, "first", SIZES[0], SIZES[1])),
            Box::new(Prelu::new(p)),
            Box::new(Dense::new(p, "last", SIZES[1], 4)),
        ]
    });
    let mut step = Step::new(model, threads, Ways::default(), 1, adam);
    let pixels = SplitMix64::new(7).normals(ROWS * SIZES[0], 1.0);
    let (images, labels) = step.batch(ROWS);
    images.copy_from_slice(&pixels);
    labels.iter_mut().enumerate().for_each(|(row, label)| *label = row as u32 % 4);
    step
}

/// The mean loss by definition, from the engine's buffer of parameters.
fn loss(step: &Step, values: &[f64]) -> f64 {
    let pixels = SplitMix64::new(7).normals(ROWS * SIZES[0], 1.0);
    let of = |name: &str| {
        let tensors = &step.model.params.tensors;
        let tensor = tensors.iter().find(|named| named.name == name).unwrap().tensor;
        &values[tensor.start..tensor.start + tensor.words()]
    };
    let dense = |name: &str, x: &[f64]| -> Vec<f64> {
        let (weight, bias) = (of(&format!("{name}.weight")), of(&format!("{name}.bias")));
        let sum = |col: usize| -> f64 {
            x.iter().enumerate().map(|(row, x)| x * weight[row * bias.len() + col]).sum()
        };
        (0..bias.len()).map(|col| sum(col) + bias[col]).collect()
    };
    let losses = pixels.chunks_exact(SIZES[0]).enumerate().map(|(row, pixels)| {
        let x: Vec<f64> = pixels.iter().map(|x| f64::from(*x)).collect();
        let hidden = dense("first", &x).into_iter();
        let hidden: Vec<f64> =
            hidden.map(|x| if x > 0.0 { x } else { of("slope")[0] * x }).collect();
        let scores = dense("last", &hidden);
        scores.iter().map(|score| score.exp()).sum::<f64>().ln() - scores[row % 4]
    });
    losses.sum::<f64>() / ROWS as f64
}

#[test]
fn gradients_are_the_central_differences() {
    let mut step = step(2);
    step.gradient(ROWS, Numbers::F32);
    let mut values: Vec<f64> = step.all(Place::Params).iter().map(|p| f64::from(*p)).collect();
    let gradient = step.all(Place::Gradient).to_vec();
    for named in step.model.params.tensors.clone() {
        for (at, gradient) in gradient.iter().enumerate().skip(named.tensor.start) {
            if at >= named.tensor.start + named.tensor.words() {
                break;
            }
            let mut moved = |by: f64| {
                values[at] += by;
                let loss = loss(&step, &values);
                values[at] -= by;
                loss
            };
            let wanted = (moved(1e-6) - moved(-1e-6)) / 2e-6;
            let (found, place) = (f64::from(*gradient), at - named.tensor.start);
            let name = &named.name;
            assert!(
                (found - wanted).abs() < 1e-5,
                "{name}[{place}]: the gradient is {found:.5}, and the loss changes by {wanted:.5}"
            );
        }
    }
}

#[test]
fn the_slope_learns() {
    let mut step = step(1);
    let slope = step.model.params.tensors[2].tensor;
    let first = step.device.slice(slope)[0];
    for _ in 0..20 {
        step.gradient(ROWS, Numbers::F32);
        step.update(1e-2);
    }
    let last = step.device.slice(slope)[0];
    assert!((last - first).abs() > 1e-2, "the slope was {first}, and after 20 steps it is {last}");
}

#[test]
fn threads_do_not_change_a_bit() {
    let bits = |threads: usize| -> Vec<u32> {
        let mut step = step(threads);
        for _ in 0..5 {
            step.gradient(ROWS, Numbers::F32);
            step.update(1e-2);
        }
        step.all(Place::Params).iter().map(|p| p.to_bits()).collect()
    };
    assert!(bits(1) == bits(3), "one thread and three come to other parameters");
}
