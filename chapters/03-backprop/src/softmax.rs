//! How wrong is the model? Softmax turns scores into probabilities, cross-entropy the probability of the
//! label into a loss to minimise. Together their derivative is short: probability minus label.

use crate::{
    Error, Result,
    error::{count, rows},
    real::Real,
};

// ANCHOR: softmax
/// e to the power of each score minus the highest, their sum, and the highest.
/// e¹⁰⁰⁰ is too large for any float. With the highest taken off, no ratio
/// changes, and the largest power is 1.
fn powers<T: Real>(scores: &[T]) -> (Vec<T>, T, T) {
    let first = scores.first().copied().unwrap_or(T::ZERO);
    let higher = |a: T, b: &T| if *b > a { *b } else { a };
    let highest = scores.iter().fold(first, higher);
    let powers: Vec<T> = scores.iter().map(|s| (*s - highest).exp()).collect();
    let sum = powers.iter().copied().sum();
    (powers, sum, highest)
}

/// Probabilities: e to the power of each score, over the sum of all powers.
pub fn softmax<T: Real>(scores: &[T]) -> Vec<T> {
    let (powers, sum, _) = powers(scores);
    powers.into_iter().map(|power| power / sum).collect()
}

/// Minus the logarithm of the probability of the label.
pub fn cross_entropy<T: Real>(scores: &[T], right: usize) -> T {
    let (_, sum, highest) = powers(scores);
    // ln(power / sum), without a power so small that it becomes zero.
    sum.ln() - (scores[right] - highest)
}
// ANCHOR_END: softmax

/// The mean loss of a batch and its derivatives with respect to the scores: (probability − target) / batch,
/// where the target is 1 for the right class and 0 for the others. `scores` is batch×classes.
///
/// A score that is not a number makes the loss NaN.
///
/// # Errors
/// [`Error::EmptyBatch`], [`Error::Rows`], [`Error::Count`], [`Error::Label`].
// ANCHOR: gradient
pub fn loss_and_gradient<T: Real>(
    scores: &[T],
    labels: &[u8],
    classes: usize,
) -> Result<(f64, Vec<T>)> {
    let batch = check(scores, labels, classes)?;
    let mean = T::ONE / T::of(batch as f64);
    let (mut loss, mut gradient) = (0.0, Vec::with_capacity(scores.len()));
    for (row, label) in scores.chunks_exact(classes).zip(labels) {
        let right = usize::from(*label);
        loss += cross_entropy(row, right).wide(); // as f64
        for (class, probability) in softmax(row).into_iter().enumerate() {
            let truth = if class == right { T::ONE } else { T::ZERO };
            gradient.push((probability - truth) * mean);
        }
    }
    Ok((loss / batch as f64, gradient))
}
// ANCHOR_END: gradient

/// How many rows the scores have, if the labels fit them.
fn check<T>(scores: &[T], labels: &[u8], classes: usize) -> Result<usize> {
    let batch = rows("scores", scores.len(), classes)?;
    count("labels", labels.len(), batch)?;
    check_labels(labels, classes)?;
    Ok(batch)
}

/// Fails unless each label is one of the classes.
pub(crate) fn check_labels(labels: &[u8], classes: usize) -> Result<()> {
    match labels.iter().find(|label| usize::from(**label) >= classes) {
        Some(&label) => Err(Error::Label { label, classes }),
        None => Ok(()),
    }
}

/// The class with the highest score; the first of them, if there are several.
pub fn best<T: Real>(scores: &[T]) -> usize {
    let mut best = 0;
    for (class, score) in scores.iter().enumerate() {
        if *score > scores[best] {
            best = class;
        }
    }
    best
}

/// The accuracy: the fraction of rows whose best class is the label, from 0 to 1.
///
/// # Errors
/// As [`loss_and_gradient`].
pub fn accuracy<T: Real>(scores: &[T], labels: &[u8], classes: usize) -> Result<f64> {
    let batch = check(scores, labels, classes)?;
    let right = scores
        .chunks_exact(classes)
        .zip(labels)
        .filter(|(row, label)| best(row) == usize::from(**label));
    Ok(right.count() as f64 / batch as f64)
}

/// [`loss_and_gradient`] without a single allocation: the scores, rows of `width` values of which the first
/// `classes` count, become the gradient, and the rest of each row zeros.
///
/// # Panics
/// If a label is none of the classes.
pub fn loss_in_place(scores: &mut [f32], labels: &[u8], classes: usize, width: usize) -> f64 {
    let mean = 1.0 / labels.len() as f32;
    let mut loss = 0.0;
    for (row, label) in scores.chunks_exact_mut(width).zip(labels) {
        let (row, rest) = row.split_at_mut(classes);
        rest.fill(0.0);
        let highest = row.iter().fold(row[0], |high, s| if *s > high { *s } else { high });
        let right = row[usize::from(*label)] - highest;
        let mut sum = 0.0;
        for score in &mut *row {
            *score = (*score - highest).exp();
            sum += *score;
        }
        loss += f64::from(sum.ln() - right);
        for power in &mut *row {
            *power /= sum;
        }
        row[usize::from(*label)] -= 1.0;
        for value in row {
            *value *= mean;
        }
    }
    loss / labels.len() as f64
}
