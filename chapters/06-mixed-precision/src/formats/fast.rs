//! f32 to f16 in integer operations on the bits, without a branch, so that a compiler can use vectors.
//!
//! The same for bf16 is in chapter 1, [`matmul::Input::bits`]; it needs no case for small numbers, because bf16
//! has f32's exponents.

// ANCHOR: f16_bits
/// The bits of the f16 that is nearest to `x`, ties to even.
#[inline]
pub fn f16_bits(x: f32) -> u16 {
    let bits = x.to_bits();
    let magnitude = bits & 0x7fff_ffff;
    // With an exponent that f16 has: another bias, and 13 bits fewer. A carry
    // is one more in the exponent, and at the end infinity.
    let moved = magnitude.wrapping_sub((127 - 15) << 23);
    let normal = moved.wrapping_add(0xfff + (moved >> 13 & 1)) >> 13;
    // Below 2^-14: the leading 1 becomes a digit, and moves to its position.
    let digits = magnitude & 0x7f_ffff | 0x80_0000;
    let shift = 126_u32.saturating_sub(magnitude >> 23).clamp(1, 25);
    let odd = digits >> shift & 1;
    let subnormal = (digits + (1 << (shift - 1)) - 1 + odd) >> shift;
    let nan = 0x7e00 | (magnitude >> 13 & 0x3ff);
    let found = match magnitude {
        0..0x3880_0000 => subnormal,
        0x3880_0000..0x4780_0000 => normal,
        0x4780_0000..=0x7f80_0000 => 0x7c00, // infinity
        _ => nan,
    };
    (bits >> 16 & 0x8000 | found) as u16
}
// ANCHOR_END: f16_bits
