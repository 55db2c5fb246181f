//! Rounding to fewer bits of mantissa.

/// `x` with `bits` bits of mantissa (1 to 22), rounded to the nearest, ties to even.
pub fn round(x: f32, bits: u32) -> f32 {
    // EXERCISE: begin
    if !x.is_finite() {
        return x;
    }
    let cut = 23 - bits;
    let word = x.to_bits();
    let odd = word >> cut & 1;
    let half = 1 << (cut - 1);
    f32::from_bits((word + half - 1 + odd) >> cut << cut)
    // EXERCISE: instead
    // // Cuts the other bits off.
    // let cut = 23 - bits;
    // f32::from_bits(x.to_bits() >> cut << cut)
    // EXERCISE: end
}
