//! The slowest of several devices.

/// The expected time of a step over `p` devices, one or more. Each draws its time from `times`, which are not empty and in
/// no order, and all wait for the slowest.
pub fn slowest(times: &[f64], p: u32) -> f64 {
    // EXERCISE: begin
    let mut sorted = times.to_vec();
    sorted.sort_by(f64::total_cmp);
    let all_below = |k: usize| (k as f64 / sorted.len() as f64).powf(f64::from(p));
    sorted.iter().enumerate().map(|(k, time)| time * (all_below(k + 1) - all_below(k))).sum()
    // EXERCISE: instead
    // let _ = p;
    // times.iter().sum::<f64>() / times.len() as f64
    // EXERCISE: end
}

/// The mean time of a device over the time of a step over `p` of them.
pub fn efficiency(times: &[f64], p: u32) -> f64 {
    // EXERCISE: begin
    slowest(times, 1) / slowest(times, p)
    // EXERCISE: instead
    // let _ = (times, p);
    // 1.0
    // EXERCISE: end
}
