//! What a batch normalisation keeps for predictions.

use crate::definition::moments;
use crate::steps::{error, step_of};
use backprop::check::wide;
use engine::{
    model::Model,
    ops::{batch_norm::BatchNorm, dense::Dense, position::Position},
    program::Numbers,
    step::Step,
    tensor::Place,
};

const CHANNELS: usize = 24;
const PIXELS: usize = 9;

/// A normalisation of `rows` images whose numbers lie around `far`, and a dense layer behind it.
fn step(rows: usize, far: f32) -> (Step, Vec<Vec<f64>>) {
    let model = Model::new(3, PIXELS * CHANNELS, |p| {
        let pixels = Position::new(p, "pixels", [PIXELS, CHANNELS]);
        p.values.fill(0.0); // it makes rows of them, and adds nothing
        vec![
            Box::new(pixels),
            Box::new(BatchNorm::new(p, "norm", CHANNELS)),
            Box::new(Dense::new(p, "dense", PIXELS * CHANNELS, 10)),
        ]
    });
    let mut step = step_of(model, 2);
    let images = step.batch(rows).0;
    for (at, number) in images.iter_mut().enumerate() {
        *number = far + (at.wrapping_mul(2_654_435_761) >> 9 & 255) as f32 / 256.0;
    }
    let batch = images.chunks_exact(PIXELS * CHANNELS).map(wide).collect();
    (step, batch)
}

#[test]
fn running_statistics_move_by_a_tenth_to_the_unbiased_ones_of_the_batch() {
    for (rows, far) in [(1, 0.0), (7, -3.0), (48, 0.0), (35, 1000.0), (128, 1e4)] {
        let (mut step, batch) = step(rows, far);
        let [mean, variance] = moments(&batch, CHANNELS);
        let count = (rows * PIXELS) as f64;
        for steps in 1..4 {
            step.gradient(rows, Numbers::F32);
            let kept = step.all(Place::Kept).to_vec();
            let part = 1.0 - 0.9_f64.powi(steps);
            for c in 0..CHANNELS {
                let [found, spread] = [kept[c], kept[64 + c]].map(f64::from);
                let wanted = part * variance[c] * count / (count - 1.0) + 1.0 - part;
                let scale = f64::from(far).abs().max(1.0);
                assert!((found - part * mean[c]).abs() < 1e-6 * scale, "{far}: {found}");
                assert!((spread - wanted).abs() < 1e-5 * wanted, "{far}: {spread}, not {wanted}");
            }
        }
    }
}

#[test]
fn a_prediction_takes_the_running_statistics_and_leaves_them_alone() {
    let (mut step, _) = step(35, -3.0);
    let untrained = step.predict(35);
    for _ in 0..200 {
        step.gradient(35, Numbers::F32);
    }
    let kept = step.all(Place::Kept).to_vec();
    let [training, predicted] = [step.gradient(35, Numbers::F32), step.predict(35)];
    step.predict(35);
    // Predictions divide by the unbiased variance.
    assert!(error(&predicted, &training) < 1e-2);
    assert!(error(&untrained, &training) > 0.1);
    assert!(error(step.all(Place::Kept), &kept) < 1e-6);
}
