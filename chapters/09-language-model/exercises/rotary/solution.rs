//! Rotary positions. Su and others 2021, "RoFormer: enhanced transformer with rotary position embedding".

/// The angles at position 1 are powers of this.
pub const BASE: f64 = 10_000.0;

/// Turns the pairs (i, i + n/2) of a head of n values, an even number, each by the angle position · 10000^(−2i/n).
pub fn turn(head: &mut [f32], position: usize) {
    // EXERCISE: begin
    let half = head.len() / 2;
    let (left, right) = head.split_at_mut(half);
    for (i, (x, y)) in left.iter_mut().zip(right).enumerate() {
        let angle = position as f64 * BASE.powf(-(i as f64) / half as f64);
        let (sin, cos) = (angle.sin() as f32, angle.cos() as f32);
        (*x, *y) = (*x * cos - *y * sin, *x * sin + *y * cos);
    }
    // EXERCISE: instead
    // // The position, added to each value.
    // for value in head {
    //     *value += position as f32;
    // }
    // EXERCISE: end
}
