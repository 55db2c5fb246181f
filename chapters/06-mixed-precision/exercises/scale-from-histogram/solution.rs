//! A static loss scale, from the sizes of gradients.

use mixed_precision::amp::range::Histogram;

/// The exponent k of the smallest factor 2^k, k ≥ 0, with which the fewest gradients become zero in
/// f16, while the largest stay `room` bins below the last one of f16, which begins with 2¹⁵.
pub fn exponent(gradients: &Histogram, room: i32) -> i32 {
    // EXERCISE: begin
    let bins = || gradients.counts.iter().filter(|(_, count)| **count > 0).map(|(e, _)| *e);
    let Some(largest) = bins().max() else { return 0 };
    let most = (15 - room - largest).max(0);
    let saved = bins().filter(|e| e + most >= -25).min();
    saved.map_or(0, |smallest| (-25 - smallest).max(0))
    // EXERCISE: instead
    // let _ = (gradients, room);
    // 16 // PyTorch's first factor, whatever the gradients are
    // EXERCISE: end
}
