//! How far a sum of products is off when its inputs are rounded to bf16, by the number of its terms.

use backprop::random::SplitMix64;
use half::bf16;

/// Root of the mean square of bf16's rounding error, relative to that of the numbers, for numbers that are uniform between 0
/// and 1 (or −1 and 1).
///
/// Between 2⁻ʲ⁻¹ and 2⁻ʲ neighbours are 2⁻ʲ⁻⁸ apart, so the error is uniform in ±2⁻ʲ⁻⁹ and its mean square 2⁻²ʲ⁻¹⁸/3. A
/// number lies there with probability 2⁻ʲ⁻¹. The sum over all j is 2⁻¹⁸/3 · 4/7, the numbers' mean square is 1/3.
pub fn one_rounding() -> f64 {
    (2.0_f64.powi(-16) / 7.0).sqrt()
}

lab::named! {
    /// What is summed, and how.
    pub enum Sum("sum") {
        /// Terms of both signs, sums in f32.
        Centred = "centred",
        /// Positive terms, sums in f32.
        Positive = "positive",
        /// Terms of both signs, each sum rounded to bf16.
        Narrow = "narrow",
    }
}

impl Sum {
    /// The relative error of a sum of `k` products that is to be expected: root of the mean square of the error over that
    /// of the sum.
    // ANCHOR: predicted
    pub fn predicted(self, k: f64) -> f64 {
        let inputs = 2.0_f64.sqrt() * one_rounding();
        match self {
            // Error and sum both grow as the root of k.
            Self::Centred => inputs,
            // The sum grows as k: a term is 1/4 on average, its variance is
            // 7/144, the mean of its square 1/9.
            Self::Positive => {
                let sum = k * k / 16.0 + k * 7.0 / 144.0;
                inputs * (k / 9.0 / sum).sqrt()
            }
            // Each of k roundings is off by a fraction of the sum so far.
            Self::Narrow => {
                let sums = one_rounding() * f64::midpoint(k, 1.0).sqrt();
                inputs.hypot(sums)
            }
        }
    }
    // ANCHOR_END: predicted

    /// The relative error of `sums` sums of `k` products of random numbers, against f64.
    pub fn measured(self, k: usize, sums: usize, seed: u64) -> f64 {
        let mut random = SplitMix64::new(seed);
        let mut number = || match self {
            Self::Positive => random.unit() as f32,
            _ => 2.0 * random.unit() as f32 - 1.0,
        };
        let (mut apart, mut size) = (0.0, 0.0);
        for _ in 0..sums {
            let (mut exact, mut rounded) = (0.0_f64, 0.0_f32);
            for _ in 0..k {
                let (a, b) = (number(), number());
                exact += f64::from(a) * f64::from(b);
                rounded += bf16::from_f32(a).to_f32() * bf16::from_f32(b).to_f32();
                if self == Self::Narrow {
                    rounded = bf16::from_f32(rounded).to_f32();
                }
            }
            apart += (f64::from(rounded) - exact).powi(2);
            size += exact * exact;
        }
        (apart / size).sqrt()
    }
}
