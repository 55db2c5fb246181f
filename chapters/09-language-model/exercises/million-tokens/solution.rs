//! The energy of a run, and the price of a token.

/// What a meter says at a moment.
#[derive(Clone, Copy, Debug)]
pub struct Sample {
    /// Seconds since the meter started; none is before the sample that precedes it.
    pub seconds: f64,
    /// The power then.
    pub watts: f64,
}

/// The energy from the first sample to the last; 0 if there are no two.
pub fn joules(samples: &[Sample]) -> f64 {
    // EXERCISE: begin
    let area = |pair: &[Sample]| {
        let watts = f64::midpoint(pair[0].watts, pair[1].watts);
        watts * (pair[1].seconds - pair[0].seconds)
    };
    samples.windows(2).map(area).sum()
    // EXERCISE: instead
    // // As if all samples were equally far apart.
    // let (Some(first), Some(last)) = (samples.first(), samples.last()) else { return 0.0 };
    // let watts: f64 = samples.iter().map(|sample| sample.watts).sum();
    // watts / samples.len() as f64 * (last.seconds - first.seconds)
    // EXERCISE: end
}

/// US dollars of rent for a million tokens: `rent` for each hour, `rate` tokens a second while there is work, which is a
/// fraction `utilisation` of the time.
pub fn per_million(rent: f64, rate: f64, utilisation: f64) -> Option<f64> {
    // EXERCISE: begin
    let tokens = 3600.0 * rate * utilisation;
    (tokens > 0.0).then(|| rent / tokens * 1e6)
    // EXERCISE: instead
    // let _ = utilisation;
    // Some(rent / (3600.0 * rate) * 1e6)
    // EXERCISE: end
}
