//! What a rank gives to the sum of all gradients.

/// What the rank gives to the all-reduce: `mean` is the mean gradient of its `mine` images, out of a batch of `whole`
/// images on `ranks` ranks. A rank without images has an undefined mean. The sum over all ranks is the mean
/// gradient of the batch.
#[allow(unused_variables, reason = "which of these numbers matter is the exercise")]
pub fn given(mean: &[f32], mine: usize, whole: usize, ranks: usize) -> Vec<f32> {
    // EXERCISE: begin
    if mine == 0 {
        return vec![0.0; mean.len()];
    }
    let share = mine as f32 / whole as f32;
    mean.iter().map(|g| g * share).collect()
    // EXERCISE: instead
    // // Correct for equal parts only.
    // mean.iter().map(|g| g / ranks as f32).collect()
    // EXERCISE: end
}
