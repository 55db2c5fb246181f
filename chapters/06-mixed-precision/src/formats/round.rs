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

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use backprop::random::SplitMix64;
    use half::{bf16, f16};
    use proptest::prelude::*;

    const SMALL: [Format; 4] = [Format::F16, Format::BF16, Format::E4M3, Format::E5M2];

    fn nearest(format: Format, x: f64) -> u32 {
        format.encode(x, Rounding::Nearest, Overflow::Special)
    }

    /// Every number of a 16-bit format as an f32, every midpoint between neighbours, the f32 numbers next to both,
    /// and random bits.
    pub(in super::super) fn hard_numbers(format: Format) -> Vec<f32> {
        let mut numbers = vec![0.0, f32::MAX, f32::INFINITY, f32::NAN, f32::from_bits(0x7f80_0001)];
        for code in 0..=format.max_code() {
            let value = format.decode(code);
            let middle = value + 0.5 * format.gap(value);
            for x in [value as f32, middle as f32] {
                let bits = x.to_bits();
                numbers
                    .extend([-1_i32, 0, 1].map(|by| f32::from_bits(bits.wrapping_add_signed(by))));
            }
        }
        numbers.extend(numbers.clone().iter().map(|x| -x));
        let mut random = SplitMix64::new(1);
        numbers.extend((0..500_000).map(|_| f32::from_bits(random.next() as u32)));
        numbers
    }

    /// A format, numbers, and what each of them becomes.
    type Table = (Format, Vec<f64>, fn(f64) -> u32);

    #[test]
    fn formats_round_as_half_the_cpu_and_bit_arithmetic_do() {
        let (mut random, mut more) = (SplitMix64::new(2), SplitMix64::new(4));
        let doubles = (0..1_000_000).map(|round| {
            let bits = random.next();
            // Half of them with the exponents that f32 has.
            let near = bits & !(0x7ff << 52) | (870 + bits % 300) << 52;
            f64::from_bits(if round % 2 == 0 { bits } else { near })
        });
        // Any numbers, and ties.
        let singles = (0..700_000).map(|round| {
            let bits = more.next() as u32;
            f32::from_bits(if round < 500_000 { bits } else { bits & !0xfff | 0x1000 }).into()
        });
        let hard = |format| hard_numbers(format).into_iter().map(f64::from).collect::<Vec<_>>();
        let numbers =
            |all: &mut dyn Iterator<Item = f64>| all.filter(|x| !x.is_nan()).collect::<Vec<f64>>();
        let tables: [Table; 4] = [
            (Format::F16, hard(Format::F16), |x| f16::from_f32(x as f32).to_bits().into()),
            (Format::BF16, hard(Format::BF16), |x| bf16::from_f32(x as f32).to_bits().into()),
            (Format::F32, numbers(&mut { doubles }), |x| (x as f32).to_bits()),
            (Format::TF32, numbers(&mut { singles }), |x| {
                let bits = (x as f32).to_bits();
                (bits + 0xfff + (bits >> 13 & 1)) >> 13
            }),
        ];
        for (format, numbers, wanted) in tables {
            for x in numbers {
                let (found, wanted) = (nearest(format, x), wanted(x));
                assert_eq!(found, wanted, "{} {x:e} {:#x}", format.name(), x.to_bits());
            }
        }
    }

    #[test]
    fn every_code_comes_back() {
        for format in Format::ALL.into_iter().filter(|format| format.bits() < 32) {
            let modes = [Rounding::Nearest, Rounding::TowardsZero, Rounding::Stochastic(0)];
            for code in 0..1 << format.bits() {
                let value = format.decode(code);
                for rounding in modes {
                    let back = format.encode(value, rounding, Overflow::Special);
                    if value.is_nan() {
                        assert!(format.decode(back).is_nan());
                    } else {
                        assert_eq!(back, code, "{} {value:e} {rounding:?}", format.name());
                    }
                }
            }
        }
    }

    /// The index of the nearest of all `numbers`; in the middle, the even one.
    #[allow(clippy::float_cmp, reason = "both distances are exact")]
    fn by_search(numbers: &[f64], x: f64) -> usize {
        let above = numbers.partition_point(|&v| v < x).min(numbers.len() - 1);
        let below = above.saturating_sub(1);
        let (down, up) = (x - numbers[below], numbers[above] - x);
        if down < up || (down == up && below % 2 == 0) { below } else { above }
    }

    #[test]
    fn fp8_is_the_nearest_of_all_its_numbers() {
        for format in [Format::E4M3, Format::E5M2] {
            // With one more: the number that the first code beyond would have.
            let mut numbers: Vec<f64> = (0..=format.max_code()).map(|c| format.decode(c)).collect();
            numbers.push(format.max() + format.gap(format.max()));
            let mut tries: Vec<f64> =
                numbers.windows(2).map(|w| f64::midpoint(w[0], w[1])).collect();
            tries.extend(numbers.clone());
            tries.extend(tries.clone().iter().flat_map(|x| [x.next_up(), x.next_down().max(0.0)]));
            let mut random = SplitMix64::new(8);
            tries.extend(
                (0..20_000).map(|_| random.unit() * 2f64.powi(random.below(40) as i32 - 22)),
            );
            for x in tries {
                let wanted = by_search(&numbers, x) as u32;
                assert_eq!(nearest(format, x), wanted, "{} {x:e}", format.name());
                let saturated = format.encode(-x, Rounding::Nearest, Overflow::Saturate);
                assert_eq!(
                    saturated,
                    0x80 | wanted.min(format.max_code()),
                    "{} {x:e}",
                    format.name()
                );
            }
        }
    }

    #[test]
    fn too_large_becomes_what_the_specification_says() {
        let code = |format: Format, x, overflow| format.encode(x, Rounding::Nearest, overflow);
        for x in [f64::INFINITY, 1e300, 464.1] {
            assert_eq!(code(Format::E4M3, x, Overflow::Special), 0x7f, "{x}");
            assert_eq!(code(Format::E4M3, -x, Overflow::Special), 0xff, "{x}");
            assert_eq!(code(Format::E4M3, x, Overflow::Saturate), 0x7e, "{x}");
        }
        // Half way to 480, which would be the next number: 448 is even.
        assert_eq!(code(Format::E4M3, 464.0, Overflow::Special), 0x7e);
        for x in [f64::INFINITY, 61440.0, 1e300] {
            assert_eq!(code(Format::E5M2, x, Overflow::Special), 0x7c, "{x}");
            assert_eq!(code(Format::E5M2, -x, Overflow::Saturate), 0xfb, "{x}");
        }
        for format in SMALL {
            let cut = |x| format.decode(format.encode(x, Rounding::TowardsZero, Overflow::Special));
            assert!((cut(1e300) - format.max()).abs() < 1e-9 * format.max());
            assert!(!cut(f64::INFINITY).is_finite());
            let nan = code(format, f64::NAN, Overflow::Saturate);
            assert!(format.decode(nan).is_nan(), "{}", format.name());
        }
    }

    #[test]
    fn tiny_numbers_become_zero_with_their_sign() {
        for format in Format::ALL {
            let smallest = format.min_positive();
            assert_eq!(nearest(format, 0.5 * smallest), 0, "{}: a tie goes to 0", format.name());
            assert_eq!(nearest(format, 0.5001 * smallest), 1);
            for x in [0.0, f64::from_bits(1), 1e-300] {
                assert_eq!(nearest(format, -x), 1 << (format.bits() - 1));
            }
        }
    }

    #[test]
    fn stochastic_rounding_is_right_on_average() {
        const N: u32 = 40_000;
        for format in Format::ALL {
            let tiny = 0.3 * format.min_positive();
            for (seed, x) in [0.1, -1.7, 3.001, 100.3, tiny].into_iter().enumerate() {
                let mut random = SplitMix64::new(seed as u64);
                let mut rounded = || {
                    let mode = Rounding::Stochastic(random.next());
                    format.decode(format.encode(x, mode, Overflow::Special))
                };
                let mean = (0..N).map(|_| rounded() / f64::from(N)).sum::<f64>();
                let gap = format.gap(x);
                // A throw lies within one gap, so its deviation is at most half a gap; five deviations of the mean.
                let allowed = 5.0 * 0.5 * gap / f64::from(N).sqrt();
                assert!((mean - x).abs() <= allowed, "{}: {x} became {mean}", format.name());
                // And it throws at all.
                let first = rounded();
                let exact = (format.nearest(x) - x).abs() < 1e-9 * gap;
                assert!(exact || (0..1000).any(|_| rounded().to_bits() != first.to_bits()));
            }
        }
    }

    proptest! {
        /// The three rules against their definitions, by the numbers on both sides.
        #[test]
        fn rounding_ends_at_a_neighbour(x in -1e6_f64..1e6, random: u64, which in 0_usize..6) {
            let format = Format::ALL[which];
            let cut = format.decode(format.encode(x, Rounding::TowardsZero, Overflow::Saturate));
            prop_assert!(cut.abs() <= x.abs() && cut * x >= 0.0);
            if x.abs() <= format.max() {
                prop_assert!((x - cut).abs() < format.gap(x));
                prop_assert!((x - format.nearest(x)).abs() <= 0.5 * format.gap(x));
                let thrown = format.encode(x, Rounding::Stochastic(random), Overflow::Saturate);
                prop_assert!((x - format.decode(thrown)).abs() < format.gap(x));
            }
        }
    }
}
