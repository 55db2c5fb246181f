//! The batch from which on arithmetic is the limit of a layer.

/// The smallest batch at which the product of a layer with k inputs and n outputs does at least `ridge` operations
/// for each byte. Inputs and weights have `size` bytes, sums four. `None` if no batch is large enough.
pub fn batch(k: u64, n: u64, size: u64, ridge: f64) -> Option<u64> {
    // EXERCISE: begin
    let [k, n, size] = [k, n, size].map(|x| x as f64);
    let gain = 2.0 * k * n - ridge * (size * k + 4.0 * n);
    (gain > 0.0).then(|| (ridge * size * k * n / gain).ceil() as u64)
    // EXERCISE: instead
    // // As if the weights were all that has to be read.
    // (k > 0 && n > 0).then_some((ridge * size as f64 / 2.0).ceil() as u64)
    // EXERCISE: end
}
