//! Softmax, cross-entropy and their gradient, as fast as you can.

#![allow(clippy::inline_always, reason = "what a vector loop calls is compiled for its CPU")]

/// The mean loss of a batch: minus the logarithm of the probability of each row's label. The scores, rows of `classes`
/// values, become the loss' derivatives: (probability − target) / rows, where the target is 1 for the label and 0 for
/// the other classes.
///
/// A score that is NaN or +∞ makes the loss NaN. A class with a score of −∞ has a probability of 0.
pub fn loss_and_gradient(scores: &mut [f32], labels: &[u8], classes: usize) -> f64 {
    // EXERCISE: begin
    // Correct for small scores only: e to the power of 100 is too large for f32.
    let mut loss = 0.0;
    for (row, label) in scores.chunks_exact_mut(classes).zip(labels) {
        let sum: f32 = row.iter().map(|score| score.exp()).sum();
        loss += f64::from(sum.ln() - row[usize::from(*label)]);
        for score in &mut *row {
            *score = score.exp() / sum / labels.len() as f32;
        }
        row[usize::from(*label)] -= 1.0 / labels.len() as f32;
    }
    loss / labels.len() as f64
    // EXERCISE: end
}
