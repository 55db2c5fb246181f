//! The value that a fraction of the samples lies below.

/// The quantile `q` (0 to 1) of some samples: 0 is the least, 0.5 the median, 1 the largest. Between two
/// neighbours the value follows a straight line (Hyndman and Fan 1996, type 7). `None` without samples.
pub fn quantile(samples: &[f64], q: f64) -> Option<f64> {
    let mut sorted = samples.to_vec();
    sorted.sort_by(f64::total_cmp);
    // EXERCISE: begin
    let at = q * sorted.len().checked_sub(1)? as f64;
    let (below, above) = (sorted[at.floor() as usize], sorted[at.ceil() as usize]);
    Some(below + at.fract() * (above - below))
    // EXERCISE: instead
    // let at = q * sorted.len() as f64;
    // sorted.get(at as usize).copied()
    // EXERCISE: end
}
