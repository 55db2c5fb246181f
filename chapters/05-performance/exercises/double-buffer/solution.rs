//! Copies and kernels side by side.

/// Seconds until the last batch is computed, with room for `buffers` batches on the card (at least one). A batch
/// is the seconds of its copy and those of its computation.
pub fn seconds(batches: &[(f64, f64)], buffers: usize) -> f64 {
    // EXERCISE: begin
    let (mut copied, mut computed) = (0.0_f64, 0.0_f64);
    let mut done: Vec<f64> = Vec::new();
    for (at, (copy, compute)) in batches.iter().enumerate() {
        let free = at.checked_sub(buffers).map_or(0.0, |before| done[before]);
        copied = copied.max(free) + copy;
        computed = computed.max(copied) + compute;
        done.push(computed);
    }
    computed
    // EXERCISE: instead
    // let _ = buffers;
    // batches.iter().map(|(copy, compute)| copy + compute).sum()
    // EXERCISE: end
}
