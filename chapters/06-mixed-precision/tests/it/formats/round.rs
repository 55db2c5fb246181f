use backprop::random::SplitMix64;
use half::{bf16, f16};
use mixed_precision::formats::format::Format;
use mixed_precision::formats::round::{Overflow, Rounding};
use proptest::prelude::*;

const SMALL: [Format; 4] = [Format::F16, Format::BF16, Format::E4M3, Format::E5M2];

fn nearest(format: Format, x: f64) -> u32 {
    format.encode(x, Rounding::Nearest, Overflow::Special)
}

/// Every number of a 16-bit format as an f32, every midpoint between neighbours, the f32 numbers next to both,
/// and random bits.
pub fn hard_numbers(format: Format) -> Vec<f32> {
    let mut numbers = vec![0.0, f32::MAX, f32::INFINITY, f32::NAN, f32::from_bits(0x7f80_0001)];
    for code in 0..=format.max_code() {
        let value = format.decode(code);
        let middle = value + 0.5 * format.gap(value);
        for x in [value as f32, middle as f32] {
            let bits = x.to_bits();
            numbers.extend([-1_i32, 0, 1].map(|by| f32::from_bits(bits.wrapping_add_signed(by))));
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
        let mut tries: Vec<f64> = numbers.windows(2).map(|w| f64::midpoint(w[0], w[1])).collect();
        tries.extend(numbers.clone());
        tries.extend(tries.clone().iter().flat_map(|x| [x.next_up(), x.next_down().max(0.0)]));
        let mut random = SplitMix64::new(8);
        tries.extend((0..20_000).map(|_| random.unit() * 2f64.powi(random.below(40) as i32 - 22)));
        for x in tries {
            let wanted = by_search(&numbers, x) as u32;
            assert_eq!(nearest(format, x), wanted, "{} {x:e}", format.name());
            let saturated = format.encode(-x, Rounding::Nearest, Overflow::Saturate);
            assert_eq!(saturated, 0x80 | wanted.min(format.max_code()), "{} {x:e}", format.name());
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
