//! Scaled dot-product attention, one head. Vaswani and others 2017, equation 1.

/// How much of each value each query gets: queries×keys, a softmax over the keys of Q·Kᵀ/√d.
/// Q is queries×d, K is keys×d, row after row; `width` is d.
pub fn weights(queries: &[f32], keys: &[f32], width: usize) -> Vec<f32> {
    let (rows, cols) = (queries.len() / width, keys.len() / width);
    let mut weights = vec![0.0; rows * cols];
    // EXERCISE: begin
    let scale = 1.0 / (width as f32).sqrt();
    for (row, query) in weights.chunks_exact_mut(cols).zip(queries.chunks_exact(width)) {
        for (score, key) in row.iter_mut().zip(keys.chunks_exact(width)) {
            *score = scale * query.iter().zip(key).map(|(q, k)| q * k).sum::<f32>();
        }
        let highest = row.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        let mut sum = 0.0;
        for score in row.iter_mut() {
            *score = (*score - highest).exp();
            sum += *score;
        }
        for power in row {
            *power /= sum;
        }
    }
    // EXERCISE: instead
    // weights.fill(1.0 / cols as f32); // every key gets the same weight for any query
    // EXERCISE: end
    weights
}

/// The weighted sums: queries×`width`, weights·V. V is keys×`width`.
pub fn mixed(weights: &[f32], values: &[f32], width: usize) -> Vec<f32> {
    let keys = values.len() / width;
    let mut out = vec![0.0; weights.len() / keys * width];
    // EXERCISE: begin
    for (out, row) in out.chunks_exact_mut(width).zip(weights.chunks_exact(keys)) {
        for (weight, value) in row.iter().zip(values.chunks_exact(width)) {
            for (out, value) in out.iter_mut().zip(value) {
                *out += weight * value;
            }
        }
    }
    // EXERCISE: instead
    // let _ = &mut out; // no output for any query
    // EXERCISE: end
    out
}
