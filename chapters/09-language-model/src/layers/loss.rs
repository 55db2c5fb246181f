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

#[cfg(test)]
mod tests {
    use super::*;
    use backprop::{check::error_f32, softmax};
    use lab::random::numbers;

    #[test]
    fn equals_chapter_threes_softmax() {
        for (rows, vocabulary) in [(1, 1), (4, 7), (3, 50)] {
            let scores: Vec<f32> = numbers(rows * vocabulary, 1).iter().map(|x| 9.0 * x).collect();
            let targets: Vec<u32> = (0..rows).map(|row| (row * 5 % vocabulary) as u32).collect();
            let labels: Vec<u8> = targets.iter().map(|t| *t as u8).collect();
            let (loss, gradient) =
                softmax::loss_and_gradient(&scores, &labels, vocabulary).unwrap();
            let (mut found, mut losses) = (scores.clone(), vec![0.0; rows]);
            backward(&mut found, &targets, &mut losses, vocabulary, 1.0 / rows as f32);
            assert!(vocabulary == 1 || error_f32(&found, &gradient) < 1e-5);
            let mean = losses.iter().sum::<f32>() / rows as f32;
            assert!((f64::from(mean) - loss).abs() < 1e-5, "{mean} {loss}");
            let (mut again, mut scores) = (vec![0.0; rows], scores);
            forward(&mut scores, &targets, &mut again, vocabulary);
            assert_eq!(again, losses);
        }
    }

    #[test]
    fn what_is_not_a_number_shows() {
        let (mut scores, mut losses) = ([0.0, f32::NAN, 1.0, f32::INFINITY], [0.0; 2]);
        backward(&mut scores, &[0, 1], &mut losses, 2, 1.0);
        assert!(losses.iter().all(|loss| loss.is_nan()), "{losses:?}");
    }
}
