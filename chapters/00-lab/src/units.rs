//! What a recorded number means, and how it is written for a person.

use serde::{Deserialize, Serialize};

/// The unit of a recorded value. Values are kept in the base unit (FLOP/s, not GFLOP/s).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Unit {
    /// Seconds.
    #[serde(rename = "s")]
    Seconds,
    /// Floating-point operations per second; an FMA counts as two.
    #[serde(rename = "FLOP/s")]
    FlopsPerSecond,
    /// Bytes per second.
    #[serde(rename = "B/s")]
    BytesPerSecond,
    /// Bytes.
    #[serde(rename = "B")]
    Bytes,
    /// Clocks per second.
    #[serde(rename = "Hz")]
    Hertz,
    /// Pictures per second.
    #[serde(rename = "images/s")]
    ImagesPerSecond,
    /// A share from 0 to 1, written as a percentage.
    #[serde(rename = "share")]
    Share,
    /// A ratio of two measurements of one run, written as `3.2×`.
    #[serde(rename = "ratio")]
    Ratio,
    /// A plain count.
    #[serde(rename = "count")]
    Count,
    /// A number without a unit, such as a loss.
    #[serde(rename = "number")]
    Number,
}

impl Unit {
    /// `value` (in the base unit) for a person, to three significant digits: `160 GFLOP/s`,
    /// `1.21 ms`, `97.62%`, `45.0 MiB`. Rates take SI prefixes (10³), bytes binary ones (2¹⁰). The space is a
    /// plain one; a page may make it one that does not break.
    ///
    /// ```
    /// use lab::Unit;
    /// assert_eq!(Unit::FlopsPerSecond.format(1.6e11), "160 GFLOP/s");
    /// assert_eq!(Unit::Seconds.format(0.00121), "1.21 ms");
    /// assert_eq!(Unit::Share.format(0.9762), "97.62%");
    /// assert_eq!(Unit::Bytes.format(47_185_920.0), "45.0 MiB");
    /// ```
    pub fn format(self, value: f64) -> String {
        if !value.is_finite() {
            return "not a number".to_owned();
        }
        match self {
            Self::Seconds => with_prefix(value, "s"),
            Self::FlopsPerSecond => with_prefix(value, "FLOP/s"),
            Self::BytesPerSecond => format!("{}/s", binary(value)),
            Self::Bytes => binary(value),
            Self::Hertz => with_prefix(value, "Hz"),
            Self::ImagesPerSecond => format!("{} images/s", thousands(value)),
            Self::Share => format!("{:.2}%", 100.0 * value),
            Self::Ratio => format!("{}×", three_digits(value)),
            Self::Count => thousands(value),
            Self::Number => three_digits(value),
        }
    }

    /// The unit's name on an axis (`GFLOP/s` when `prefix` is `G`).
    pub fn symbol(self) -> &'static str {
        match self {
            Self::Seconds => "s",
            Self::FlopsPerSecond => "FLOP/s",
            Self::BytesPerSecond => "B/s",
            Self::Bytes => "B",
            Self::Hertz => "Hz",
            Self::ImagesPerSecond => "images/s",
            Self::Share => "%",
            Self::Ratio => "×",
            Self::Count | Self::Number => "",
        }
    }
}

/// A number with a power of ten, and so many digits after the point: `4.7 · 10⁻⁷`.
///
/// ```
/// assert_eq!(lab::units::scientific(9.2648e15, 2), "9.26 · 10¹⁵");
/// ```
pub fn scientific(value: f64, decimals: usize) -> String {
    let text = format!("{value:.decimals$e}");
    text.split_once('e').map_or(text.clone(), |(digits, power)| {
        let power: String = power.chars().map(raised).collect();
        format!("{digits} · 10{power}")
    })
}

/// A digit or a minus as an exponent.
pub(crate) fn raised(c: char) -> char {
    match c.to_digit(10) {
        Some(digit) => ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'][digit as usize],
        None => '⁻',
    }
}

/// Three significant digits, without an exponent as long as a person can count the zeros.
fn three_digits(value: f64) -> String {
    if value == 0.0 {
        return "0".to_owned();
    }
    if value.abs() < 1e-5 || value.abs() >= 1e9 {
        return scientific(value, 2);
    }
    if value.abs() >= 10_000.0 {
        return thousands(value);
    }
    let magnitude = value.abs().log10().floor() as i32;
    let decimals = (2 - magnitude).clamp(0, 9) as usize;
    let text = format!("{value:.decimals$}");
    // 9.996 rounds up to 10.00: format again with the digits of the rounded value.
    let rounded: f64 = text.parse().unwrap_or(value);
    let again = (2 - rounded.abs().log10().floor() as i32).clamp(0, 9) as usize;
    format!("{value:.again$}")
}

fn with_prefix(value: f64, unit: &str) -> String {
    const STEPS: [(f64, &str); 9] = [
        (1e15, "P"),
        (1e12, "T"),
        (1e9, "G"),
        (1e6, "M"),
        (1e3, "k"),
        (1.0, ""),
        (1e-3, "m"),
        (1e-6, "µ"),
        (1e-9, "n"),
    ];
    // Seconds above 1 stay seconds: nobody reads kiloseconds.
    let skip_large = unit == "s";
    let (scale, prefix) = STEPS
        .into_iter()
        .filter(|(scale, _)| !(skip_large && *scale > 1.0))
        .find(|(scale, _)| value.abs() >= *scale * 0.9995)
        // Below the smallest prefix the number itself gets small; zero has no prefix.
        .unwrap_or(if value == 0.0 { (1.0, "") } else { (1e-9, "n") });
    format!("{} {prefix}{unit}", three_digits(value / scale))
}

fn binary(value: f64) -> String {
    const STEPS: [&str; 5] = ["B", "KiB", "MiB", "GiB", "TiB"];
    let mut value = value;
    let mut step = 0;
    while value.abs() >= 1023.95 && step + 1 < STEPS.len() {
        value /= 1024.0;
        step += 1;
    }
    let number = if step == 0 { format!("{value:.0}") } else { three_digits(value) };
    format!("{number} {}", STEPS[step])
}

/// A whole number with its thousands apart: `60,000`.
fn thousands(value: f64) -> String {
    if value.abs() < 100.0 && value.fract() != 0.0 {
        return three_digits(value);
    }
    let digits = format!("{:.0}", value.abs());
    let mut out = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    if value < 0.0 { format!("-{out}") } else { out }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn numbers_have_three_digits_also_where_rounding_adds_one() {
        let seconds = |value| Unit::Seconds.format(value);
        assert_eq!(seconds(0.999_96), "1.00 s");
        assert_eq!(seconds(0.000_999_96), "1.00 ms");
        assert_eq!(seconds(9.996), "10.0 s");
        assert_eq!(seconds(0.0), "0 s");
        assert_eq!(seconds(-0.002_5), "-2.50 ms");
        assert_eq!(seconds(5400.0), "5400 s");
        assert_eq!(seconds(3e-11), "0.0300 ns");
        assert_eq!(Unit::FlopsPerSecond.format(999.96e9), "1.00 TFLOP/s");
        assert_eq!(Unit::FlopsPerSecond.format(3.1e12), "3.10 TFLOP/s");
        assert_eq!(Unit::FlopsPerSecond.format(0.0), "0 FLOP/s");
        assert_eq!(Unit::Hertz.format(3.4e9), "3.40 GHz");
    }

    #[test]
    fn bytes_are_whole_and_binary() {
        assert_eq!(Unit::Bytes.format(0.0), "0 B");
        assert_eq!(Unit::Bytes.format(1.0), "1 B");
        assert_eq!(Unit::Bytes.format(1023.96), "1.00 KiB");
        assert_eq!(Unit::BytesPerSecond.format(11.6 * 1024.0 * 1024.0 * 1024.0), "11.6 GiB/s");
        assert_eq!(Unit::Bytes.format(1e18), "909,495 TiB");
    }

    #[test]
    fn counts_shares_and_ratios_are_written_as_people_do() {
        assert_eq!(Unit::Count.format(138_357_544.0), "138,357,544");
        assert_eq!(Unit::Count.format(-1234.0), "-1,234");
        assert_eq!(Unit::Count.format(12.5), "12.5");
        assert_eq!(Unit::ImagesPerSecond.format(28_499.6), "28,500 images/s");
        assert_eq!(Unit::Share.format(1.0), "100.00%");
        assert_eq!(Unit::Ratio.format(3.2), "3.20×");
        assert_eq!(Unit::Ratio.format(12_345.6), "12,346×");
        assert_eq!(Unit::Number.format(0.093_46), "0.0935");
        assert_eq!(Unit::Number.format(1e-20), "1.00 · 10⁻²⁰");
        assert_eq!(Unit::Number.format(3_440_944_414_720.0), "3.44 · 10¹²");
        assert_eq!(Unit::Number.format(2e30), "2.00 · 10³⁰");
    }

    #[test]
    fn what_is_not_a_number_is_said() {
        for value in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            assert_eq!(Unit::Seconds.format(value), "not a number");
        }
    }

    #[test]
    fn a_unit_is_written_in_json_as_on_an_axis() {
        assert_eq!(serde_json::to_string(&Unit::FlopsPerSecond).unwrap(), "\"FLOP/s\"");
        let same = [Unit::Seconds, Unit::BytesPerSecond, Unit::Bytes, Unit::ImagesPerSecond];
        for unit in same.into_iter().chain([Unit::Hertz]) {
            assert_eq!(serde_json::to_value(unit).unwrap(), unit.symbol());
        }
    }

    proptest! {
        #[test]
        fn what_is_written_is_what_was_measured(value in 1e-9_f64..1e6) {
            let text = Unit::Seconds.format(value);
            let (number, unit) = text.split_once(' ').unwrap();
            let scale = match unit {
                "s" => 1.0,
                "ms" => 1e-3,
                "µs" => 1e-6,
                _ => 1e-9,
            };
            let read: f64 = number.replace(',', "").parse().unwrap();
            prop_assert!((read * scale / value - 1.0).abs() < 0.006, "{value} became {text}");
        }

        #[test]
        fn no_value_of_any_unit_is_too_odd(value: f64) {
            for unit in [
                Unit::Seconds, Unit::FlopsPerSecond, Unit::BytesPerSecond, Unit::Bytes, Unit::Share,
                Unit::ImagesPerSecond, Unit::Ratio, Unit::Count, Unit::Number, Unit::Hertz,
            ] {
                prop_assert!(!unit.format(value).is_empty());
            }
        }
    }
}
