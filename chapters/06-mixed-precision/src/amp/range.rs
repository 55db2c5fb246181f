//! How large gradients are, and what f16 makes of them.
//!
//! An f16 has a sign, 5 bits of exponent and 10 of fraction (IEEE 754-2008, binary16). Its normal numbers reach from
//! 2⁻¹⁴ to 65,504. Below, down to 2⁻²⁴, lie subnormal ones, with fewer and fewer bits; below half of that all is zero.

use crate::formats::format::exponent_of;
use half::f16;
use std::collections::BTreeMap;

/// The exponent of the smallest normal number of f16.
pub const NORMAL: i32 = -14;
/// The exponent of the smallest number above zero.
pub const LEAST: i32 = -24;
/// The exponent of the largest numbers.
pub const LARGEST: i32 = 15;

/// The fractions of numbers that become each kind of f16. They add up to 1.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Shares {
    /// Zero, although the number is not.
    pub vanished: f64,
    /// Zero, as the number was.
    pub zero: f64,
    /// Subnormal: less than 11 bits are left.
    pub subnormal: f64,
    /// Normal.
    pub normal: f64,
    /// Infinite, or not a number.
    pub overflow: f64,
}

impl Shares {
    /// What becomes of these numbers when each is multiplied by `scale` and rounded to f16.
    pub fn of(numbers: &[f32], scale: f32) -> Self {
        let mut shares = Self::default();
        for number in numbers {
            let half = f16::from_f32(number * scale);
            *match half.classify() {
                std::num::FpCategory::Zero if *number == 0.0 => &mut shares.zero,
                std::num::FpCategory::Zero => &mut shares.vanished,
                std::num::FpCategory::Subnormal => &mut shares.subnormal,
                std::num::FpCategory::Normal => &mut shares.normal,
                std::num::FpCategory::Infinite | std::num::FpCategory::Nan => &mut shares.overflow,
            } += 1.0;
        }
        let all = numbers.len().max(1) as f64;
        let Self { vanished, zero, subnormal, normal, overflow } = &mut shares;
        for count in [vanished, zero, subnormal, normal, overflow] {
            *count /= all;
        }
        shares
    }
}

/// How many numbers lie between each power of two and the next.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Histogram {
    /// Numbers with 2^e ≤ |g| < 2^(e+1), by e.
    pub counts: BTreeMap<i32, u64>,
    /// Numbers that are zero.
    pub zeros: u64,
}

impl Histogram {
    /// The histogram of finite numbers; others are left out.
    pub fn of(numbers: &[f32]) -> Self {
        let mut found = Self::default();
        for number in numbers.iter().filter(|g| g.is_finite()) {
            match number.abs() {
                0.0 => found.zeros += 1,
                size => *found.counts.entry(exponent_of(size.into())).or_default() += 1,
            }
        }
        found
    }
}

impl Histogram {
    /// How many numbers there are.
    pub fn total(&self) -> u64 {
        self.zeros + self.counts.values().sum::<u64>()
    }

    /// The fraction of the numbers that are not zero in the bin of this exponent.
    pub fn share(&self, exponent: i32) -> f64 {
        let all = (self.total() - self.zeros).max(1);
        *self.counts.get(&exponent).unwrap_or(&0) as f64 / all as f64
    }
}
