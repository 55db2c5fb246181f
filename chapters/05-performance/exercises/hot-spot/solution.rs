//! Where is there time to win?

/// One line of a profile.
pub struct Line {
    /// Seconds that it takes.
    pub seconds: f64,
    /// Floating-point operations.
    pub flops: f64,
    /// Bytes read and written.
    pub bytes: f64,
}

/// The least seconds that a machine with this peak (FLOP/s) and bandwidth (B/s) needs, over the seconds
/// that it took.
pub fn share(line: &Line, peak: f64, bandwidth: f64) -> f64 {
    // EXERCISE: begin
    (line.flops / peak).max(line.bytes / bandwidth) / line.seconds
    // EXERCISE: instead
    // let _ = bandwidth; // as if no byte had to travel
    // line.flops / peak / line.seconds
    // EXERCISE: end
}

/// The index of the line with the most seconds to win, and these seconds; `None` where there are none.
pub fn hot_spot(profile: &[Line], peak: f64, bandwidth: f64) -> Option<(usize, f64)> {
    // EXERCISE: begin
    let gains = profile.iter().map(|line| line.seconds * (1.0 - share(line, peak, bandwidth)));
    let best = gains.enumerate().max_by(|a, b| a.1.total_cmp(&b.1));
    best.filter(|(_, gain)| *gain > 0.0)
    // EXERCISE: instead
    // // The slowest line, whatever it could win.
    // let _ = (peak, bandwidth);
    // let times = profile.iter().map(|line| line.seconds);
    // times.enumerate().max_by(|a, b| a.1.total_cmp(&b.1))
    // EXERCISE: end
}
