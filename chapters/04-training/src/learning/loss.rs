//! How wrong is the model? Softmax turns scores into probabilities, cross-entropy turns the probability of
//! the label into a loss to minimise.
//!
//! dfdx computes the same on the device, together with its gradient. These functions are the readable
//! version; they also count the progress of a run on the host, in `f64`.

use crate::models::model::CLASSES;
use backprop::softmax::best;
use serde::{Deserialize, Serialize};

/// Probabilities: e to the power of each score, over the sum of all powers.
pub fn softmax(scores: &[f32]) -> Vec<f64> {
    let (highest, sum) = highest_and_sum(scores);
    scores.iter().map(|score| f64::from(score - highest).exp() / sum).collect()
}

/// Minus the logarithm of the probability of the label.
pub fn cross_entropy(scores: &[f32], right: usize) -> f64 {
    let (highest, sum) = highest_and_sum(scores);
    // ln(power / sum), without a power so small that it becomes zero.
    sum.ln() - f64::from(scores[right] - highest)
}

/// The highest score, and the sum of the powers below it: e^1000 is too large for any float, and subtracting changes no
/// ratio.
fn highest_and_sum(scores: &[f32]) -> (f32, f64) {
    let highest = scores.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    (highest, scores.iter().map(|score| f64::from(score - highest).exp()).sum())
}

/// Losses and correct predictions, added up over batches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Tally {
    /// The sum of the images' losses.
    pub loss: f64,
    /// How many predictions were correct.
    pub right: u64,
    /// How many images there were.
    pub seen: u64,
}

impl Tally {
    /// Counts a batch: its scores (batch · 10) and its labels. Returns the batch's mean loss, NaN if any
    /// score is NaN.
    pub fn add(&mut self, scores: &[f32], labels: &[u8]) -> f64 {
        let mut loss = 0.0;
        for (scores, label) in scores.chunks_exact(CLASSES).zip(labels) {
            let right = usize::from(*label);
            loss += if scores.iter().all(|s| s.is_finite()) {
                cross_entropy(scores, right)
            } else {
                f64::NAN // `f32::max` ignores NaN, so it must not reach the formula
            };
            self.right += u64::from(best(scores) == right);
        }
        self.loss += loss;
        self.seen += labels.len() as u64;
        loss / labels.len() as f64
    }

    /// The mean loss of an image.
    pub fn mean_loss(&self) -> f64 {
        self.loss / self.seen as f64
    }

    /// The accuracy, from 0 to 1.
    pub fn accuracy(&self) -> f64 {
        self.right as f64 / self.seen as f64
    }
}

impl std::ops::AddAssign for Tally {
    fn add_assign(&mut self, other: Self) {
        self.loss += other.loss;
        self.right += other.right;
        self.seen += other.seen;
    }
}
