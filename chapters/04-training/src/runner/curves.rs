//! The curves of a run as a figure.

use crate::learning::metrics::Epoch;
use lab::{
    plot::{Axis, Scale, few},
    run::curves::{above, lines},
};

/// Loss and accuracy over the epochs of one run, one above the other.
pub fn curves(history: &[Epoch]) -> String {
    let epochs: Vec<f64> = history.iter().map(|epoch| epoch.epoch as f64).collect();
    let plot = |label: &str, of: [fn(&Epoch) -> f64; 2]| {
        let points = |of: fn(&Epoch) -> f64| {
            epochs.iter().copied().zip(history.iter().map(of)).collect::<Vec<_>>()
        };
        let x = Axis::new("epoch", Scale::Linear).ticks(few(&epochs));
        lines(x, label, [("training", points(of[0])), ("test", points(of[1]))])
    };
    let loss = plot("loss", [|e| e.train_loss, |e| e.test_loss]);
    let accuracy =
        plot("accuracy (%)", [|e| 100.0 * e.train_accuracy, |e| 100.0 * e.test_accuracy]);
    above(&loss, &accuracy)
}
