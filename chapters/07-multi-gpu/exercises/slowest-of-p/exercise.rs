//! The slowest of several devices.

/// The expected time of a step over `p` devices, one or more. Each draws its time from `times`, which are not empty and in
/// no order, and all wait for the slowest.
pub fn slowest(times: &[f64], p: u32) -> f64 {
    // EXERCISE: begin
    let _ = p;
    times.iter().sum::<f64>() / times.len() as f64
    // EXERCISE: end
}

/// The mean time of a device over the time of a step over `p` of them.
pub fn efficiency(times: &[f64], p: u32) -> f64 {
    // EXERCISE: begin
    let _ = (times, p);
    1.0
    // EXERCISE: end
}
