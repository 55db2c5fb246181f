//! Copies and kernels side by side.

/// Seconds until the last batch is computed, with room for `buffers` batches on the card (at least one). A batch
/// is the seconds of its copy and those of its computation.
pub fn seconds(batches: &[(f64, f64)], buffers: usize) -> f64 {
    // EXERCISE: begin
    let _ = buffers;
    batches.iter().map(|(copy, compute)| copy + compute).sum()
    // EXERCISE: end
}
