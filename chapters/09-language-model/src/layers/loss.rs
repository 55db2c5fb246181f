//! Softmax and cross-entropy of each token's scores: how improbable was the token that came? The derivative of both
//! together is short: probability minus label (chapter 3).

use crate::product::{largest, replace_and_sum};
use lab::vectors::{exp, wide};

/// The losses of some tokens, in nats: minus the logarithm of the probability of each target. `scores` has a row of
/// `vocabulary` for each; they become powers of e on the way.
pub fn forward(scores: &mut [f32], targets: &[u32], losses: &mut [f32], vocabulary: usize) {
    for_each(scores, targets, losses, vocabulary, |_, _, _| {});
}

/// [`forward`], and the scores become their own derivatives, times `scale`: 1 over the number of tokens, for a mean.
pub fn backward(
    scores: &mut [f32],
    targets: &[u32],
    losses: &mut [f32],
    vocabulary: usize,
    scale: f32,
) {
    for_each(scores, targets, losses, vocabulary, |powers, target, sum| {
        let factor = scale / sum;
        wide!(|| powers.iter_mut().for_each(|p| *p *= factor));
        powers[target] -= scale;
    });
}

/// Replaces each row by its powers of e, the highest taken off, notes its loss, and hands it on with their sum.
fn for_each(
    scores: &mut [f32],
    targets: &[u32],
    losses: &mut [f32],
    vocabulary: usize,
    then: impl Fn(&mut [f32], usize, f32),
) {
    let rows = scores.chunks_exact_mut(vocabulary).zip(targets);
    for ((row, target), loss) in rows.zip(losses) {
        let target = *target as usize;
        let highest = wide!(|| largest(row));
        let right = row[target] - highest;
        let sum = wide!(|| replace_and_sum(row, |score| exp(score - highest)));
        *loss = sum.ln() - right;
        then(row, target, sum);
    }
}
