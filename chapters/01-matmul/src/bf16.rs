//! bf16: the upper half of an f32. The same range, 8 bits of precision instead of 24.

#![allow(
    clippy::inline_always,
    reason = "what a kernel calls must be compiled for the kernel's CPU"
)]

pub use half::bf16;

/// A type that a product can take as bf16: a bf16 itself, or an f32 that is rounded to the nearest one.
pub trait Input: Copy + Send + Sync + sealed::Sealed + 'static {
    /// The bits of the nearest bf16, ties to even.
    fn bits(self) -> u16;

    /// The value of the nearest bf16, as an f32.
    #[inline(always)]
    fn rounded(self) -> f32 {
        f32::from_bits(u32::from(self.bits()) << 16)
    }
}

impl Input for bf16 {
    #[inline(always)]
    fn bits(self) -> u16 {
        self.to_bits()
    }
}

impl Input for f32 {
    // ANCHOR: round
    #[inline(always)]
    fn bits(self) -> u16 {
        let bits = self.to_bits();
        // Half of the last bit that stays, less one if that bit is even:
        // ties go to even.
        let rounded = bits.wrapping_add(0x7fff + (bits >> 16 & 1));
        // A NaN must not be rounded up to infinity: its first digit makes it a
        // quiet NaN.
        let nan = bits | 0x0040_0000;
        ((if self.is_nan() { nan } else { rounded }) >> 16) as u16
    }
    // ANCHOR_END: round
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for super::bf16 {}
    impl Sealed for f32 {}
}

#[cfg(test)]
mod tests {
    use super::{Input, bf16};

    #[test]
    fn rounds_as_half_does() {
        // Every upper half, with lower halves below, at and above a tie.
        for upper in 0..=0xffff_u32 {
            for lower in [0, 1, 0x7fff, 0x8000, 0x8001, 0xffff] {
                let x = f32::from_bits(upper << 16 | lower);
                assert_eq!(x.bits(), bf16::from_f32(x).to_bits(), "{x:e}");
            }
        }
    }

    #[test]
    fn a_bf16_stays_what_it_is() {
        for bits in 0..=0xffff_u16 {
            assert_eq!(bf16::from_bits(bits).bits(), bits);
        }
    }
}
