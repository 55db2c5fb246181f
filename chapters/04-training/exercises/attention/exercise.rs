//! Scaled dot-product attention, one head. Vaswani and others 2017, equation 1.

/// How much of each value each question gets: questions×keys, a softmax over the keys of Q·Kᵀ/√d.
/// Q is questions×d, K is keys×d, row after row; `width` is d.
pub fn shares(questions: &[f32], keys: &[f32], width: usize) -> Vec<f32> {
    let (rows, cols) = (questions.len() / width, keys.len() / width);
    let mut shares = vec![0.0; rows * cols];
    // EXERCISE: begin
    shares.fill(1.0 / cols as f32); // whatever is asked, every key gets the same share
    // EXERCISE: end
    shares
}

/// The mixtures: questions×`width`, shares·V. V is keys×`width`.
pub fn mixed(shares: &[f32], values: &[f32], width: usize) -> Vec<f32> {
    let keys = values.len() / width;
    let mut out = vec![0.0; shares.len() / keys * width];
    // EXERCISE: begin
    let _ = &mut out; // no answer to any question
    // EXERCISE: end
    out
}
