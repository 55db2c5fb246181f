use half::{bf16, f16};
use mixed_precision::formats::format::{Format, exponent_of};

/// Equal, with −0 different from 0, and all NaNs alike.
fn same(a: f64, b: f64) -> bool {
    a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan())
}

/// The formula of OFP8, in floating point, by fields that are cut out of the text of the bits.
fn by_the_specification(code: u32, exponent_bits: usize, bias: i32, infinities: bool) -> f64 {
    let text = format!("{code:08b}");
    let field = |text: &str| i32::from_str_radix(text, 2).unwrap();
    let (s, e) = (field(&text[..1]), field(&text[1..=exponent_bits]));
    let mantissa = &text[1 + exponent_bits..];
    let m = f64::from(field(mantissa)) / 2f64.powi(mantissa.len() as i32);
    let sign = (-1f64).powi(s);
    let ones = text[1..].bytes().all(|bit| bit == b'1');
    let top = text[1..=exponent_bits].bytes().all(|bit| bit == b'1');
    match (infinities, top) {
        (true, true) if m == 0.0 => sign * f64::INFINITY,
        (true, true) => f64::NAN,
        (false, true) if ones => f64::NAN,
        _ if e == 0 => sign * 2f64.powi(1 - bias) * m,
        _ => sign * 2f64.powi(e - bias) * (1.0 + m),
    }
}

/// A format, codes, and what each of them stands for.
type Table = (Format, Vec<u32>, fn(u32) -> f64);

#[test]
fn every_code_is_the_number_of_half_the_cpu_and_the_specification() {
    let mut random = backprop::random::SplitMix64::new(3);
    let codes = |bits: u32| (0..1_u32 << bits).collect::<Vec<_>>();
    let some = (0..1_000_000).map(|_| random.next() as u32).collect();
    let tables: [Table; 6] = [
        (Format::F16, codes(16), |code| f16::from_bits(code as u16).to_f64()),
        (Format::BF16, codes(16), |code| bf16::from_bits(code as u16).to_f64()),
        (Format::TF32, codes(19), |code| f32::from_bits(code << 13).into()),
        (Format::F32, some, |code| f32::from_bits(code).into()),
        (Format::E4M3, codes(8), |code| by_the_specification(code, 4, 7, false)),
        (Format::E5M2, codes(8), |code| by_the_specification(code, 5, 15, true)),
    ];
    for (format, codes, wanted) in tables {
        for code in codes {
            let (found, wanted) = (format.decode(code), wanted(code));
            let name = format.name();
            assert!(same(found, wanted), "{name} {code:#x}: {found:e}, not {wanted:e}");
        }
    }
}

/// OFP8's limits, and IEEE 754's parameters.
#[test]
#[allow(clippy::float_cmp, reason = "powers of two and sums of few of them are exact")]
fn limits_are_the_published_ones() {
    let two = |exponent| 2f64.powi(exponent);
    for (format, max, normal, smallest, epsilon) in [
        (Format::F32, f64::from(f32::MAX), two(-126), two(-149), two(-23)),
        (Format::F16, 65504.0, two(-14), two(-24), two(-10)),
        (Format::BF16, bf16::MAX.to_f64(), two(-126), two(-133), two(-7)),
        (Format::E4M3, 448.0, two(-6), two(-9), two(-3)),
        (Format::E5M2, 57344.0, two(-14), two(-16), two(-2)),
    ] {
        assert_eq!(format.max(), max, "{}", format.name());
        assert_eq!(format.min_normal(), normal, "{}", format.name());
        assert_eq!(format.min_positive(), smallest, "{}", format.name());
        assert_eq!(format.epsilon(), epsilon, "{}", format.name());
        assert_eq!(format.gap(1.5), epsilon, "{}", format.name());
        assert_eq!(format.gap(0.0), smallest, "{}", format.name());
    }
    assert!(Format::F16.gap(f64::INFINITY).is_nan());
}

#[test]
fn binades_hold_what_a_count_finds() {
    for format in [Format::TF32, Format::F16, Format::BF16, Format::E4M3, Format::E5M2] {
        let mut counts = std::collections::BTreeMap::new();
        for code in 1..=format.max_code() {
            *counts.entry(exponent_of(format.decode(code))).or_insert(0) += 1;
        }
        for exponent in -150..=130 {
            let counted = counts.get(&exponent).copied().unwrap_or(0);
            let name = format.name();
            assert_eq!(format.in_binade(exponent), counted, "{name}, 2^{exponent}");
        }
    }
    assert_eq!(Format::F32.in_binade(0), 1 << 23);
    assert_eq!(Format::F32.in_binade(-149), 1);
    assert_eq!(Format::F32.in_binade(-150), 0);
}

#[test]
fn neighbours_have_nothing_between_them() {
    for format in [Format::F16, Format::BF16, Format::E4M3, Format::E5M2] {
        let mut numbers: Vec<f64> = (0..1 << format.bits())
            .map(|code| format.decode(code))
            .filter(|value| value.is_finite())
            .collect();
        numbers.sort_by(f64::total_cmp);
        numbers.dedup(); // −0 = 0
        for code in 0..1 << format.bits() {
            let value = format.decode(code);
            let found = format.neighbours(code);
            if value.is_nan() {
                assert_eq!(found, (None, None));
                continue;
            }
            let below = numbers.partition_point(|&v| v < value);
            let above = numbers.partition_point(|&v| v <= value);
            let wanted = (below.checked_sub(1).map(|at| numbers[at]), numbers.get(above).copied());
            assert_eq!(found, wanted, "{} {code:#x}", format.name());
        }
    }
}
