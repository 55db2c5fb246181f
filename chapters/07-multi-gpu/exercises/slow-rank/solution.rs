//! Which rank is slow?

/// The rank that usually takes more than `limit` times what the others take, and how many times. `seconds[step][rank]` is
/// what a rank's own part of a step took; every step has a number for each rank. `None` if no rank is slow, if there is
/// only one, or if there are no steps.
pub fn slow(seconds: &[Vec<f64>], limit: f64) -> Option<(usize, f64)> {
    // EXERCISE: begin
    let median = |mut values: Vec<f64>| {
        values.sort_by(f64::total_cmp);
        let (low, high) = (values.len().checked_sub(1)? / 2, values.len() / 2);
        Some(f64::midpoint(values[low], values[high]))
    };
    let of_rank = |rank: usize| median(seconds.iter().map(|step| step[rank]).collect());
    let mut usual = (0..seconds.first()?.len()).map(of_rank).collect::<Option<Vec<f64>>>()?;
    let slowest = (0..usual.len()).max_by(|a, b| usual[*a].total_cmp(&usual[*b]))?;
    let times = usual.remove(slowest) / median(usual)?;
    (times > limit).then_some((slowest, times))
    // EXERCISE: instead
    // let last = seconds.last()?;
    // let mean = last.iter().sum::<f64>() / last.len() as f64;
    // let slowest = (0..last.len()).max_by(|a, b| last[*a].total_cmp(&last[*b]))?;
    // let times = last[slowest] / mean;
    // (times > limit).then_some((slowest, times))
    // EXERCISE: end
}
