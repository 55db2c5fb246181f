//! Softmax and cross-entropy of each token's scores: how improbable was the token that came? The derivative of both
//! together is short: probability minus label (chapter 3).

use engine::sums::{largest, replace_and_sum};
use lab::vectors::{exp, wide};

/// The losses of some tokens, in nats: minus the logarithm of the probability of each target. `scores` has a row of
/// `vocabulary` for each; they become their own derivatives, times `scale`: 1 over the number of tokens, for a mean.
pub fn backward(
    scores: &mut [f32],
    targets: &[u32],
    losses: &mut [f32],
    vocabulary: usize,
    scale: f32,
) {
    let rows = scores.chunks_exact_mut(vocabulary).zip(targets);
    for ((row, target), loss) in rows.zip(losses) {
        let target = *target as usize;
        let highest = wide!(|| largest(row));
        let right = row[target] - highest;
        let sum = wide!(|| replace_and_sum(row, |score| exp(score - highest)));
        *loss = sum.ln() - right;
        let factor = scale / sum;
        wide!(|| row.iter_mut().for_each(|p| *p *= factor));
        row[target] -= scale;
    }
}
