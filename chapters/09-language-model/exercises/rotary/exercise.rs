//! Rotary positions. Su and others 2021, "RoFormer: enhanced transformer with rotary position embedding".

/// The angles at position 1 are powers of this.
pub const BASE: f64 = 10_000.0;

/// Turns the pairs (i, i + n/2) of a head of n values, an even number, each by the angle position · 10000^(−2i/n).
pub fn turn(head: &mut [f32], position: usize) {
    // EXERCISE: begin
    // The position, added to each value.
    for value in head {
        *value += position as f32;
    }
    // EXERCISE: end
}
