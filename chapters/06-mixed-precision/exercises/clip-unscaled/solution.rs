//! Gradients of a step in mixed precision, made ready for the optimizer.

use half::f16;

/// The gradients, tensor by tensor, in f32 and without the `factor` that they contain; if all values together are longer
/// than `longest`, shortened to that length. `None` if a value is not finite.
pub fn ready(scaled: &[Vec<f16>], factor: f32, longest: f32) -> Option<Vec<Vec<f32>>> {
    // EXERCISE: begin
    let unscaled = |tensor: &Vec<f16>| tensor.iter().map(|g| g.to_f32() / factor).collect();
    let mut gradients: Vec<Vec<f32>> = scaled.iter().map(unscaled).collect();
    if !gradients.iter().flatten().all(|g| g.is_finite()) {
        return None;
    }
    let squares: f32 = gradients.iter().flatten().map(|g| g * g).sum();
    let shorter = (longest / squares.sqrt()).min(1.0);
    gradients.iter_mut().flatten().for_each(|g| *g *= shorter);
    Some(gradients)
    // EXERCISE: instead
    // let clipped = scaled.iter().map(|tensor| {
    //     let squares: f16 = tensor.iter().map(|g| g * g).sum();
    //     let shorter = (longest / squares.to_f32().sqrt()).min(1.0);
    //     tensor.iter().map(|g| shorter * g.to_f32() / factor).collect()
    // });
    // Some(clipped.collect())
    // EXERCISE: end
}
