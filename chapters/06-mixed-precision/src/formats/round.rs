//! From a number to the bits of a format: by rounding to the nearest, towards zero, or by a throw of dice.

use super::format::{Format, Top, exponent_of, power_of_two};

/// Which of its two neighbours a number becomes that the format does not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rounding {
    /// The nearer one; in the middle, the one whose last bit is 0.
    Nearest,
    /// The one with the smaller magnitude: the bits that do not fit are cut off.
    TowardsZero,
    /// The one with the larger magnitude with a probability that is the fraction of the way to it, so that the expected
    /// result is the number itself. The 64 bits are the random number; each conversion needs others.
    Stochastic(u64),
}

/// What becomes of a number that is too large.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Overflow {
    /// Infinity, or NaN where the format has none.
    Special,
    /// The largest number with its sign, also from infinity.
    Saturate,
}

impl Format {
    // ANCHOR: encode
    /// The code of `x`, rounded once. NaN stays NaN, with its sign. Rounding
    /// towards zero never leaves the finite numbers.
    pub fn encode(self, x: f64, rounding: Rounding, overflow: Overflow) -> u32 {
        let sign = u32::from(x.is_sign_negative()) << (self.bits() - 1);
        if x.is_nan() {
            return sign | self.nan_code(x);
        }
        // |x| is digits times 2^(exponent - 52).
        let exponent = exponent_of(x);
        let fraction = x.to_bits() & ((1 << 52) - 1);
        let digits = fraction | u64::from(x.is_normal()) << 52;
        // The stored exponent; below the smallest one, digits are lost instead.
        let wanted = exponent + self.bias;
        let stored = wanted.max(1);
        let shift = 52 - self.mantissa_bits + (stored - wanted) as u32;
        // What stays, and what is cut off as a fraction of 2^64.
        let fixed = (u128::from(digits) << 64).checked_shr(shift).unwrap_or(0);
        let (kept, cut) = ((fixed >> 64) as u64, fixed as u64);
        let code = ((stored as u64 - 1) << self.mantissa_bits) + kept;
        // One up is the next number, even where the mantissa is full.
        let code = code + u64::from(rounding.goes_up(kept, cut));
        sign | self.held(code, x, rounding, overflow)
    }
    // ANCHOR_END: encode

    /// How many numbers of the format lie in the *binade* from 2 to the power of `exponent` up to, not including,
    /// the double of that.
    pub fn in_binade(self, exponent: i32) -> u32 {
        // The codes of positive numbers are in the order of the numbers.
        let first_from = |exponent: i32| {
            let start = power_of_two(exponent.clamp(-1022, 1023));
            let code = self.encode(start, Rounding::TowardsZero, Overflow::Special);
            code + u32::from(self.decode(code) < start)
        };
        first_from(exponent + 1) - first_from(exponent)
    }

    /// `code` of the magnitude of `x`, or the code for a number that is too large.
    fn held(self, code: u64, x: f64, rounding: Rounding, overflow: Overflow) -> u32 {
        if x.is_finite() && code <= u64::from(self.max_code()) {
            return code as u32;
        }
        let cut_off = x.is_finite() && rounding == Rounding::TowardsZero;
        match overflow {
            Overflow::Special if !cut_off => self.max_code() + 1,
            _ => self.max_code(),
        }
    }

    /// A quiet NaN with as much of the bits of `nan` as there is room for.
    fn nan_code(self, nan: f64) -> u32 {
        match self.top {
            Top::LastIsNan => self.magnitude_mask(),
            Top::InfinityAndNan => {
                let payload = nan.to_bits() & ((1 << 52) - 1);
                let quiet = 1 << (self.mantissa_bits - 1);
                self.infinity_code() | quiet | (payload >> (52 - self.mantissa_bits)) as u32
            }
        }
    }

    /// `x` rounded to the nearest number of the format; infinity (or NaN) where it is too large.
    pub fn nearest(self, x: f64) -> f64 {
        self.decode(self.encode(x, Rounding::Nearest, Overflow::Special))
    }
}

impl Rounding {
    // ANCHOR: goes_up
    /// Whether the last bit of `kept` grows by one, where `cut`/2^64 of it was
    /// cut off.
    fn goes_up(self, kept: u64, cut: u64) -> bool {
        const HALF: u64 = 1 << 63;
        match self {
            Self::Nearest => cut > HALF || (cut == HALF && kept & 1 == 1),
            Self::TowardsZero => false,
            Self::Stochastic(random) => random < cut,
        }
    }
    // ANCHOR_END: goes_up
}
