//! What a printed rate contains.

/// The units of a card, with dense matrices and f32 sums.
#[derive(Clone, Copy, Debug)]
pub struct Units {
    /// How many there are.
    pub count: f64,
    /// Multiply-adds of each in a clock.
    pub multiply_adds: f64,
    /// The clock, in GHz.
    pub ghz: f64,
}

/// The factor, 1, 2 or 4, that a printed rate (TFLOP/s) contains, within 3%; `None` if it is none of these.
pub fn hidden(units: Units, printed: f64) -> Option<u32> {
    // EXERCISE: begin
    let peak = units.count * units.multiply_adds * 2.0 * units.ghz / 1e3;
    let near = |factor: &u32| (printed / peak / f64::from(*factor) - 1.0).abs() <= 0.03;
    [1, 2, 4].into_iter().find(near)
    // EXERCISE: instead
    // let peak = units.count * units.multiply_adds * units.ghz / 1e3;
    // let factor = (printed / peak).round() as u32;
    // (factor > 0).then_some(factor)
    // EXERCISE: end
}

/// The MFU by the true peak, if somebody has found `claimed` by a printed rate that contains `factor`.
pub fn mfu(claimed: f64, factor: u32) -> f64 {
    // EXERCISE: begin
    claimed * f64::from(factor)
    // EXERCISE: instead
    // claimed / f64::from(factor)
    // EXERCISE: end
}
