//! What this part measures.

#![allow(clippy::unnecessary_wraps, reason = "every experiment may fail; these do not")]

use crate::formats::{
    Format, Overflow, Rounding, fast,
    format::exponent_of,
    sums::{Arithmetic, Kahan, kahan_stall, products, stall},
};
use backprop::random::{SplitMix64, key};
use half::slice::HalfFloatSliceExt;
use half::{bf16, f16};
use lab::{Budget, Experiment, Key, Recorder, Result, Samples, record::ParamList};
use matmul::Input;
use std::hint::black_box;

lab::keys! {
    /// A format's bits.
    pub BITS: counted "mixed_precision.formats.bits", Count, ["format"];
    /// Its largest number.
    pub MAX: calculated "mixed_precision.formats.max", Number, ["format"];
    /// Its smallest normal number.
    pub NORMAL: calculated "mixed_precision.formats.normal", Number, ["format"];
    /// Its smallest number.
    pub SMALLEST: calculated "mixed_precision.formats.smallest", Number, ["format"];
    /// From 1 to the next.
    pub EPSILON: calculated "mixed_precision.formats.epsilon", Number, ["format"];
    /// How many numbers lie between a power of two and the next.
    pub BINADE: calculated "mixed_precision.formats.binade", Count, ["format", "exponent"];
    /// The relative error of rounding.
    pub ROUNDING: counted "mixed_precision.rounding", Number, ["format", "power"];
    /// Bytes read and written in a second.
    CONVERT: measured "mixed_precision.convert", BytesPerSecond, ["to", "how"];
    /// Over the readable way.
    CONVERT_SPEEDUP: measured "mixed_precision.convert.speedup", Ratio, ["to", "how"];
    /// A running sum.
    pub SUMS: counted "mixed_precision.sums", Number, ["sum", "n"];
    /// Where it stops, as predicted.
    pub STALL: calculated "mixed_precision.sums.stall", Number, ["sum"];
    /// The relative error of a dot product.
    pub DOT: counted "mixed_precision.dot", Number, ["sum", "n"];
    /// Half of the gap between 1 and the next number.
    pub HALF_GAP: calculated "mixed_precision.dot.unit", Number, ["sum"];
}

/// What is added again and again.
pub const TERM: f64 = 1e-4;
/// Elements of each conversion: they and their halves fit into the second-level cache.
const NUMBERS: usize = 1 << 16;
/// Random numbers of each magnitude whose rounding is measured.
const TRIES: usize = 2000;

/// In the order of the page.
pub fn experiments() -> Vec<Experiment> {
    lab::experiments! {
        quick "mixed_precision.formats" => &[BITS, MAX, NORMAL, SMALLEST, EPSILON, BINADE], formats,
            "what each format can represent: its limits, and how many numbers lie between one power of two and the next";
        quick ROUNDING.name => &[ROUNDING], rounding,
            "the relative error of rounding to each format, by the magnitude of the number: 21 quantiles of 2000 errors";
        quick CONVERT.name => &[CONVERT, CONVERT_SPEEDUP], convert,
            "how fast f32 becomes f16 and bf16: the readable conversion, the one in integers, and that of half";
        quick SUMS.name => &[SUMS, STALL], sums,
            "where a running sum of 0.0001 stagnates, and which sums do not";
        quick DOT.name => &[DOT, HALF_GAP], dot,
            "the relative error of a dot product of f16 numbers, by its length and by how it is summed";
    }
}

/// The binades at which a format's count of numbers changes, and the last one.
pub fn turning_points(format: Format) -> Vec<i32> {
    let (first, normal) = (exponent_of(format.min_positive()), exponent_of(format.min_normal()));
    (first..=normal).chain([exponent_of(format.max())]).collect()
}

fn formats(rec: &mut Recorder) -> Result<()> {
    for format in Format::ALL {
        let list: ParamList = &[("format", &format.name())];
        rec.one(MAX.at(list), format.max());
        rec.one(NORMAL.at(list), format.min_normal());
        rec.one(SMALLEST.at(list), format.min_positive());
        rec.one(EPSILON.at(list), format.epsilon());
        rec.one(BITS.at(list), format.bits().into());
        for exponent in turning_points(format) {
            let numbers = format.in_binade(exponent).into();
            rec.one(BINADE.at(list).with("exponent", exponent), numbers);
        }
        // Where 1 is: what the table shows.
        rec.one(BINADE.at(list).with("exponent", "one"), format.in_binade(0).into());
    }
    Ok(())
}

/// The formats whose rounding is compared; tf32 is f16's mantissa with f32's exponents.
pub const COMPARED: [Format; 5] =
    [Format::TF32, Format::F16, Format::BF16, Format::E4M3, Format::E5M2];

/// The powers of ten at which the error of rounding is measured.
pub const MAGNITUDES: std::ops::RangeInclusive<i32> = -12..=8;

fn rounding(rec: &mut Recorder) -> Result<()> {
    for format in COMPARED {
        for power in MAGNITUDES {
            let quantity = ROUNDING.at(&[("format", &format.name()), ("power", &power)]);
            let mut random = SplitMix64::new(7);
            let errors: Vec<f64> = (0..TRIES)
                .map(|_| {
                    // Evenly distributed over the decade, on a logarithmic scale.
                    let x = 10f64.powf(f64::from(power) + random.unit());
                    ((format.nearest(x) - x) / x).abs()
                })
                .collect();
            if errors.iter().all(|error| error.is_finite()) {
                // The percentiles tell as much as two thousand samples.
                let errors = Samples(errors);
                let percentiles = (0..=20).map(|i| errors.quantile(f64::from(i) / 20.0)).collect();
                rec.record(quantity, Samples(percentiles));
            } else {
                let why = format!("{} ends below numbers of this magnitude", format.name());
                rec.skip_at(quantity, why);
            }
        }
    }
    Ok(())
}

/// The ways to convert, by their names in the records.
const WAYS: [&str; 3] = ["readable", "integer", "half"];

fn convert(rec: &mut Recorder) -> Result<()> {
    let mut random = SplitMix64::new(1);
    let numbers: Vec<f32> = (0..NUMBERS).map(|_| random.normal() as f32).collect();
    let mut bits = vec![0_u16; NUMBERS];
    let mut halves = vec![f16::ZERO; NUMBERS];
    let mut brains = vec![bf16::ZERO; NUMBERS];
    // Four bytes read and two written for each.
    let bytes = 6.0 * NUMBERS as f64;
    for format in [Format::F16, Format::BF16] {
        let to = format.name();
        let mut slowest = f64::NAN;
        for how in WAYS {
            let of = |key: Key| key.at(&[("to", &to), ("how", &how)]);
            let numbers = black_box(&numbers[..]);
            let each = |bits: &mut [u16], convert: fn(f32) -> u16| {
                for (bits, &x) in bits.iter_mut().zip(numbers) {
                    *bits = convert(x);
                }
            };
            let mut work: Box<dyn FnMut()> = match (how, to) {
                ("readable", _) => Box::new(|| {
                    for (bits, &x) in bits.iter_mut().zip(numbers) {
                        *bits =
                            format.encode(x.into(), Rounding::Nearest, Overflow::Special) as u16;
                    }
                }),
                ("integer", "f16") => Box::new(|| each(&mut bits, fast::f16_bits)),
                ("integer", _) => Box::new(|| each(&mut bits, Input::bits)),
                (_, "f16") => Box::new(|| halves.convert_from_f32_slice(numbers)),
                _ => Box::new(|| brains.convert_from_f32_slice(numbers)),
            };
            let rate = rec.time_rate(of(CONVERT), bytes, &mut work);
            if how == "readable" {
                slowest = rate;
            } else {
                rec.one(of(CONVERT_SPEEDUP), rate / slowest);
            }
        }
    }
    black_box((bits, halves, brains));
    Ok(())
}

/// The ways to add up one term again and again: the name in the records, the format, and the method.
pub const ADDERS: [(&str, Format, Adder); 5] = [
    ("bf16", Format::BF16, Adder::Running),
    ("f16", Format::F16, Adder::Running),
    ("f32", Format::F32, Adder::Running),
    ("f16-dice", Format::F16, Adder::Dice),
    ("f16-kahan", Format::F16, Adder::Kahan),
];

/// How terms are added up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Adder {
    /// One after the other, rounded to the nearest.
    Running,
    /// One after the other, with stochastic rounding.
    Dice,
    /// One after the other, with Kahan's correction.
    Kahan,
}

fn sums(rec: &mut Recorder) -> Result<()> {
    let (most, seeds) = match rec.budget {
        Budget::Quick => (100_000, 3),
        Budget::Full => (10_000_000, 11),
    };
    // 100, 300, 1000, 3000, and so on.
    let counts = |most: usize| -> Vec<usize> {
        let all = (0..).flat_map(|power| [1, 3].map(|digit| digit * 10_usize.pow(power)));
        all.skip(4).take_while(|&n| n <= most).collect()
    };
    for (name, format, adder) in ADDERS {
        let term = format.nearest(TERM);
        let of = |key: Key| key.at(&[("sum", &name)]);
        let predicted = match adder {
            Adder::Running => Some(stall(format, term)),
            Adder::Kahan => Some(kahan_stall(format, term)),
            Adder::Dice => None,
        };
        if let Some(predicted) = predicted {
            rec.one(of(STALL), predicted);
        }
        // Far enough for each sum to stagnate, whatever the budget. A sum in f32 is the CPU's own work.
        let counts = counts(match adder {
            Adder::Kahan => 10_000_000,
            _ if format == Format::F32 => 100_000_000,
            _ => most,
        });
        let runs = if adder == Adder::Dice { seeds } else { 1 };
        let mut sums = vec![Vec::new(); counts.len()];
        for seed in 0..runs {
            let mut arithmetic = match adder {
                Adder::Dice => Arithmetic::stochastic(format, seed),
                _ => Arithmetic::nearest(format),
            };
            let mut add: Box<dyn FnMut(usize) -> f64> = match adder {
                Adder::Kahan => {
                    let mut kahan = Kahan::default();
                    Box::new(move |terms| {
                        for _ in 0..terms {
                            kahan.add(&mut arithmetic, term);
                        }
                        kahan.sum
                    })
                }
                _ if format == Format::F32 => {
                    let mut sum = 0_f32;
                    Box::new(move |terms| {
                        for _ in 0..terms {
                            sum += black_box(term as f32);
                        }
                        sum.into()
                    })
                }
                _ => {
                    let mut sum = 0.0;
                    Box::new(move |terms| {
                        let more = std::iter::repeat_n(term, terms);
                        sum = arithmetic.running(std::iter::once(sum).chain(more));
                        sum
                    })
                }
            };
            let mut done = 0;
            for (&n, sums) in counts.iter().zip(&mut sums) {
                sums.push(add(n - done));
                done = n;
            }
        }
        for (n, sums) in counts.into_iter().zip(sums) {
            rec.record(of(SUMS).with("n", n), Samples(sums));
        }
    }
    Ok(())
}

/// The ways to add up a dot product, by their names in the records.
pub const DOTS: [(&str, Format); 6] = [
    ("bf16", Format::BF16),
    ("f16", Format::F16),
    ("f16-dice", Format::F16),
    ("f16-pairs", Format::F16),
    ("f16-kahan", Format::F16),
    ("f32", Format::F32),
];

fn dot(rec: &mut Recorder) -> Result<()> {
    let (longest, seeds) = match rec.budget {
        Budget::Quick => (14, 5),
        Budget::Full => (16, 21),
    };
    for (name, format) in DOTS {
        rec.one(HALF_GAP.at(&[("sum", &name)]), 0.5 * format.epsilon());
        for n in (4..=longest).step_by(2).map(|power| 1_usize << power) {
            let errors = (0..seeds).map(|seed| dot_error(name, format, n, seed));
            rec.record(DOT.at(&[("sum", &name), ("n", &n)]), Samples(errors.collect()));
        }
    }
    Ok(())
}

/// The relative error of one dot product of `n` numbers from 0 to 1 that are f16 numbers before.
pub fn dot_error(name: &str, format: Format, n: usize, seed: u64) -> f64 {
    let mut random = SplitMix64::new(seed);
    let mut row = || -> Vec<f64> { (0..n).map(|_| Format::F16.nearest(random.unit())).collect() };
    let (x, y) = (row(), row());
    let terms: Vec<f64> = products(&x, &y).collect();
    let exact: f64 = terms.iter().sum();
    let mut arithmetic = match name {
        // Separate random bits: they must not depend on the numbers.
        "f16-dice" => Arithmetic::stochastic(format, key(&[seed, 1])),
        _ => Arithmetic::nearest(format),
    };
    let sum = match name {
        "f16-pairs" => arithmetic.pairwise(&terms),
        "f16-kahan" => arithmetic.kahan(terms),
        _ => arithmetic.running(terms),
    };
    ((sum - exact) / exact).abs()
}
