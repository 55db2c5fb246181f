//! Predict how fast a product can be, before you run it.

/// Floating-point operations of C = A·B with A of m×k and B of k×n. An FMA counts as two.
pub fn operations(m: u64, k: u64, n: u64) -> u64 {
    // EXERCISE: begin
    2 * m * k * n
    // EXERCISE: instead
    // m + k + n
    // EXERCISE: end
}

/// Bytes that have to move at the least: A and B are read once, C is written once. An element has
/// `size` bytes.
pub fn bytes(m: u64, k: u64, n: u64, size: u64) -> u64 {
    // EXERCISE: begin
    (m * k + k * n + m * n) * size
    // EXERCISE: instead
    // (m + k + n) * size
    // EXERCISE: end
}

/// The most FLOP/s that a machine with this peak (FLOP/s) and this bandwidth (B/s) can reach on a program
/// that does `operations` on `bytes`.
pub fn roofline(operations: u64, bytes: u64, peak: f64, bandwidth: f64) -> f64 {
    // EXERCISE: begin
    let intensity = operations as f64 / bytes as f64;
    peak.min(intensity * bandwidth)
    // EXERCISE: instead
    // let _ = (operations, bytes, bandwidth);
    // peak
    // EXERCISE: end
}
