//! The gradient of softmax and cross-entropy.

/// The derivatives of one image's loss with respect to its scores, into `gradient`. The loss is minus the logarithm
/// of the right class's probability; a probability is e to the power of the score, over the sum of all powers.
pub fn gradient(scores: &[f32], right: usize, gradient: &mut [f32]) {
    // EXERCISE: begin
    let highest = scores.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let sum: f32 = scores.iter().map(|score| (score - highest).exp()).sum();
    for (class, (gradient, score)) in gradient.iter_mut().zip(scores).enumerate() {
        let truth = if class == right { 1.0 } else { 0.0 };
        *gradient = (score - highest).exp() / sum - truth;
    }
    // EXERCISE: instead
    // // Right for two small scores, and infinity over infinity for large ones. And where is `right`?
    // let sum: f32 = scores.iter().map(|score| score.exp()).sum();
    // for (gradient, score) in gradient.iter_mut().zip(scores) {
    //     *gradient = score.exp() / sum;
    // }
    // let _ = right;
    // EXERCISE: end
}
