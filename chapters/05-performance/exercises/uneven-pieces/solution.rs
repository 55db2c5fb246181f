//! Gradient accumulation over pieces of different sizes.

/// A batch's mean loss and its gradient, from those of its pieces. Each piece has a number of images,
/// their mean loss, and the gradient of that mean. A piece of no images adds nothing.
/// `None` if there are no images at all.
pub fn whole(pieces: &[(usize, f64, Vec<f64>)]) -> Option<(f64, Vec<f64>)> {
    // EXERCISE: begin
    let pieces = || pieces.iter().filter(|(images, ..)| *images > 0);
    let total: usize = pieces().map(|(images, ..)| images).sum();
    let mut whole = (0.0, vec![0.0; pieces().next()?.2.len()]);
    for (images, loss, gradient) in pieces() {
        let share = *images as f64 / total as f64;
        whole.0 += share * loss;
        whole.1.iter_mut().zip(gradient).for_each(|(sum, g)| *sum += share * g);
    }
    Some(whole)
    // EXERCISE: instead
    // // The mean of the means: correct for equal pieces only.
    // let count = pieces.len() as f64;
    // let loss = pieces.iter().map(|(_, loss, _)| loss / count).sum();
    // let mut gradient = vec![0.0; pieces.first()?.2.len()];
    // for (_, _, part) in pieces {
    //     gradient.iter_mut().zip(part).for_each(|(sum, g)| *sum += g / count);
    // }
    // Some((loss, gradient))
    // EXERCISE: end
}
