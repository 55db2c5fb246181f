//! The clock that a power budget allows.

/// A chip's lanes, as far as power is concerned. The power of a lane is proportional to its clock times the
/// square of its voltage. Voltages are fractions of the one at `top`: the voltage is 1 there and falls in
/// proportion to the clock, but not below `floor`.
#[derive(Clone, Copy, Debug)]
pub struct Chip {
    /// The highest clock in Hz.
    pub top: f64,
    /// The lowest voltage with which the transistors switch, from 0 to 1.
    pub floor: f64,
    /// Watts of one lane at `top`.
    pub lane: f64,
    /// Watts that all lanes together may take.
    pub budget: f64,
}

/// Watts of one lane at this clock.
pub fn power(chip: Chip, clock: f64) -> f64 {
    // EXERCISE: begin
    let speed = clock / chip.top;
    chip.lane * speed * speed.max(chip.floor).powi(2)
    // EXERCISE: instead
    // let _ = chip.floor; // as if the voltage did not change
    // chip.lane * clock / chip.top
    // EXERCISE: end
}

/// The highest clock at which `lanes` lanes keep to the budget; never above `top`.
pub fn clock(chip: Chip, lanes: usize) -> f64 {
    // What a lane may take, as a fraction of what it takes at `top`.
    let share = chip.budget / (lanes as f64 * chip.lane);
    // EXERCISE: begin
    let ideal = share.cbrt(); // the voltage follows the clock
    let speed = if ideal >= chip.floor { ideal } else { share / chip.floor.powi(2) };
    chip.top * speed.min(1.0)
    // EXERCISE: instead
    // chip.top * share.min(1.0)
    // EXERCISE: end
}

/// The peak of `lanes` lanes at that clock, in FLOP/s.
pub fn peak(chip: Chip, lanes: usize) -> f64 {
    2.0 * lanes as f64 * clock(chip, lanes)
}
