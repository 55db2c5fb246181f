//! What a recorded number means, and how it is written.

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
    /// Images per second.
    #[serde(rename = "images/s")]
    ImagesPerSecond,
    /// Tokens of a text per second.
    #[serde(rename = "tokens/s")]
    TokensPerSecond,
    /// A fraction from 0 to 1, written as a percentage.
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
    /// `value` (in the base unit) as text, to three significant digits: `160 GFLOP/s`,
    /// `1.21 ms`, `43.6%`, `45.0 MiB`. Rates take SI prefixes (10³), as data sheets do, and bytes binary
    /// ones (2¹⁰). The space is a
    /// plain one; a page may make it one that does not break. A minus is the sign and not a hyphen.
    ///
    /// ```
    /// use lab::Unit;
    /// assert_eq!(Unit::FlopsPerSecond.format(1.6e11), "160 GFLOP/s");
    /// assert_eq!(Unit::Seconds.format(0.00121), "1.21 ms");
    /// assert_eq!(Unit::Share.format(0.4362), "43.6%");
    /// assert_eq!(Unit::Bytes.format(47_185_920.0), "45.0 MiB");
    /// ```
    pub fn format(self, value: f64) -> String {
        if !value.is_finite() {
            return "not a number".to_owned();
        }
        match self {
            Self::Seconds => with_prefix(value, "s"),
            Self::FlopsPerSecond => with_prefix(value, "FLOP/s"),
            Self::BytesPerSecond => with_prefix(value, "B/s"),
            Self::Bytes => binary(value),
            Self::Hertz => with_prefix(value, "Hz"),
            Self::ImagesPerSecond => format!("{} images/s", count(value)),
            Self::TokensPerSecond => format!("{} tokens/s", count(value)),
            Self::Share => share(value),
            Self::Ratio => format!("{}×", ratio(value)),
            Self::Count => count(value),
            Self::Number => number(value),
        }
    }
}

/// A number of operations with an SI prefix: `30.9 GFLOP`.
///
/// ```
/// assert_eq!(lab::units::operations(30_940_528_640.0), "30.9 GFLOP");
/// ```
pub fn operations(value: f64) -> String {
    with_prefix(value, "FLOP")
}

/// A fraction in few digits, for running text: whole percent, and two digits below ten.
///
/// ```
/// assert_eq!(lab::units::percent(0.4362), "44%");
/// assert_eq!(lab::units::percent(0.0015), "0.15%");
/// ```
pub fn percent(share: f64) -> String {
    let percent = 100.0 * share;
    match percent.abs() {
        p if p == 0.0 || p >= 9.95 => format!("{}%", decimals(percent, 0)),
        p if p >= 0.995 => format!("{}%", decimals(percent, 1)),
        _ => format!("{}%", significant(percent, 2)),
    }
}

/// `value` with so many decimals, its thousands apart: `−0.35`, `1,234.5`.
///
/// ```
/// assert_eq!(lab::units::decimals(-0.351, 2), "−0.35");
/// ```
pub fn decimals(value: f64, digits: usize) -> String {
    let text = format!("{:.digits$}", value.abs());
    // What rounds to nothing has no sign.
    let sign = if value < 0.0 && text.contains(|c| ('1'..='9').contains(&c)) { "−" } else { "" };
    let whole = text.split_once('.').map_or(text.as_str(), |(whole, _)| whole);
    let mut out = sign.to_owned();
    for (i, digit) in whole.chars().enumerate() {
        if i > 0 && (whole.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out + &text[whole.len()..]
}

/// A difference, with its sign and so many decimals: `+0.26`, `−10.2`.
///
/// ```
/// assert_eq!(lab::units::difference(0.257, 2), "+0.26");
/// ```
pub fn difference(value: f64, digits: usize) -> String {
    let text = decimals(value, digits);
    if value > 0.0 && text.contains(|c| ('1'..='9').contains(&c)) {
        format!("+{text}")
    } else {
        text
    }
}

/// A number with a power of ten, to so many significant digits: `4.7×10⁻⁷`. A one before the power is
/// left out where it is exact.
///
/// ```
/// assert_eq!(lab::units::scientific(4.73e-7, 2), "4.7×10⁻⁷");
/// assert_eq!(lab::units::scientific(1e-8, 2), "10⁻⁸");
/// ```
pub fn scientific(value: f64, digits: usize) -> String {
    if value == 0.0 {
        return "0".to_owned();
    }
    let after = digits.saturating_sub(1);
    let text = format!("{:.after$e}", value.abs());
    let (mantissa, power) = text.split_once('e').unwrap_or((&text, "0"));
    let sign = if value < 0.0 { "−" } else { "" };
    let exact = format!("1e{power}").parse() == Ok(value.abs());
    let mantissa = if exact { String::new() } else { format!("{mantissa}×") };
    format!("{sign}{mantissa}{}", power_of_ten(power))
}

/// How far two results are apart: few are near 1, and nothing at all is said in words.
///
/// ```
/// assert_eq!(lab::units::apart(4.73e-7), "4.7×10⁻⁷");
/// assert_eq!(lab::units::apart(0.0), "0, bit for bit");
/// ```
pub fn apart(value: f64) -> String {
    if value == 0.0 { "0, bit for bit".to_owned() } else { scientific(value, 2) }
}

/// A number that was chosen (a size, a learning rate, a tick), in the digits that it has, four of many: `512`,
/// `0.0005`, `20,000`, `10⁷`, `5×10⁸`.
///
/// ```
/// assert_eq!(lab::units::plain(5e-4), "0.0005");
/// assert_eq!(lab::units::plain(1e-8), "10⁻⁸");
/// assert_eq!(lab::units::plain(10f64.powf(-7.5)), "3.162×10⁻⁸");
/// ```
pub fn plain(value: f64) -> String {
    let size = value.abs();
    if size == 0.0 {
        return "0".to_owned();
    }
    let power = size.log10();
    if (power - power.round()).abs() < 1e-9 && !(-3.5..5.5).contains(&power) {
        let sign = if value < 0.0 { "−" } else { "" };
        return format!("{sign}{}", power_of_ten(&power.round().to_string()));
    }
    if !(1e-4..1e6).contains(&size) {
        let text = format!("{value:.3e}").replace('-', "−");
        let (mantissa, power) = text.split_once('e').unwrap_or((&text, "0"));
        let mantissa = mantissa.trim_end_matches('0').trim_end_matches('.');
        return format!("{mantissa}×{}", power_of_ten(power));
    }
    let digits = (3.0 - power.floor()).clamp(0.0, 8.0) as usize;
    let text = format!("{value:.digits$}");
    let rounded = text.parse::<f64>().unwrap_or(value);
    if rounded.abs() >= 10_000.0 {
        return if rounded.abs() < 1e6 { decimals(rounded, 0) } else { plain(rounded) };
    }
    let text = if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        text
    };
    text.replace('-', "−")
}

/// `10⁻⁴`, from the digits of the power.
pub fn power_of_ten(power: &str) -> String {
    const RAISED: [char; 10] = ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'];
    let raised = power.chars().map(|c| match c.to_digit(10) {
        Some(digit) => RAISED[digit as usize],
        None => '⁻',
    });
    "10".chars().chain(raised).collect()
}

/// The decimals that `value` needs for so many significant digits, also where rounding adds one: 9.996 is
/// `10.0`.
fn significant(value: f64, digits: i32) -> String {
    let needed =
        |value: f64| (digits - 1 - value.abs().log10().floor() as i32).clamp(0, 9) as usize;
    let first = needed(value);
    let rounded: f64 = format!("{value:.first$}").parse().unwrap_or(value);
    decimals(value, if rounded == 0.0 { first } else { needed(rounded) })
}

/// Three significant digits, without an exponent as long as the zeros can be counted.
fn number(value: f64) -> String {
    match value.abs() {
        0.0 => "0".to_owned(),
        size if !(0.999_5e-3..9_999_999.5).contains(&size) => scientific(value, 3),
        _ => significant(value, 3),
    }
}

/// Three significant digits, two of a small part; never a power of ten, which would stand next to the sign ×.
fn ratio(value: f64) -> String {
    match value.abs() {
        0.0 => "0".to_owned(),
        size if size < 0.01 => significant(value, 2),
        _ => significant(value, 3),
    }
}

/// A fraction as a percentage, to three digits. Below one percent two are enough; above 90%, as with an accuracy
/// of 98.13%, it is the distance to 100% that counts, and two decimals say it.
fn share(value: f64) -> String {
    let percent = 100.0 * value;
    let text = match percent.abs() {
        0.0 => "0".to_owned(),
        100.0 => decimals(percent, 0),
        p if p < 0.995 => significant(percent, 2),
        p if p < 9.995 => decimals(percent, 2),
        p if (89.95..100.0).contains(&p) => decimals(percent, 2),
        _ => significant(percent, 3),
    };
    format!("{text}%")
}

/// A whole number with its thousands apart: `60,000`.
fn count(value: f64) -> String {
    if value.abs() < 100.0 && value.fract() != 0.0 { number(value) } else { decimals(value, 0) }
}

/// SI's prefixes, the largest first.
const PREFIXES: [(f64, &str); 11] = [
    (1e21, "Z"),
    (1e18, "E"),
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

fn with_prefix(value: f64, unit: &str) -> String {
    // Seconds above 1 stay seconds: kiloseconds are unusual.
    let skip_large = unit == "s";
    let (scale, prefix) = PREFIXES
        .into_iter()
        .filter(|(scale, _)| !(skip_large && *scale > 1.0))
        .find(|(scale, _)| value.abs() >= *scale * 0.9995)
        // Below the smallest prefix the number itself gets small; zero has no prefix.
        .unwrap_or(if value == 0.0 { (1.0, "") } else { (1e-9, "n") });
    let number = if value == 0.0 { "0".to_owned() } else { significant(value / scale, 3) };
    format!("{number} {prefix}{unit}")
}

/// Bytes, each 1,024 times the one before.
const BYTES: [&str; 5] = ["B", "KiB", "MiB", "GiB", "TiB"];

fn binary(value: f64) -> String {
    let mut value = value;
    let mut step = 0;
    while value.abs() >= 1023.95 && step + 1 < BYTES.len() {
        value /= 1024.0;
        step += 1;
    }
    let number = if step == 0 { decimals(value, 0) } else { significant(value, 3) };
    format!("{number} {}", BYTES[step])
}

/// The first number of a text, in its base unit: the other way round than [`Unit::format`]. A unit that it does not write
/// counts as none, and a power of ten can't be read.
///
/// ```
/// assert_eq!(lab::units::read(" in 1.25 ms, or 3"), Some(0.00125));
/// assert_eq!(lab::units::read("4.7×10⁻⁷"), None);
/// ```
pub fn read(text: &str) -> Option<f64> {
    let (before, text) = text.split_at(text.find(|c: char| c.is_ascii_digit())?);
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.' && c != ',');
    let (digits, rest) = text.split_at(end.unwrap_or(text.len()));
    let number: f64 = digits.trim_end_matches(['.', ',']).replace(',', "").parse().ok()?;
    let sign = if before.ends_with(['−', '-']) { -1.0 } else { 1.0 };
    let word = rest.split_whitespace().next().unwrap_or_default();
    let word = word.trim_end_matches(|c| ".,;:)".contains(c));
    let prefixed = || {
        let units = ["s", "FLOP/s", "FLOP", "B/s", "Hz"];
        let mut prefixes = units.into_iter().filter_map(|unit| word.strip_suffix(unit));
        prefixes.find_map(|prefix| PREFIXES.iter().find(|(_, known)| *known == prefix))
    };
    let scale = match (word, BYTES.iter().position(|unit| *unit == word)) {
        (power, _) if power.starts_with("×10") => return None,
        ("%", _) => 0.01,
        (_, Some(step)) => 1024_f64.powi(step as i32),
        _ => prefixed().map_or(1.0, |(scale, _)| *scale),
    };
    Some(sign * number * scale)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn every_unit_is_written_as_people_do() {
        let table: &[(Unit, f64, &str)] = &[
            // Three digits, also where rounding adds one; bytes are whole and binary.
            (Unit::Seconds, 0.999_96, "1.00 s"),
            (Unit::Seconds, 0.000_999_96, "1.00 ms"),
            (Unit::Seconds, 0.0, "0 s"),
            (Unit::Seconds, -0.002_5, "−2.50 ms"),
            (Unit::Seconds, 5400.0, "5,400 s"),
            (Unit::Seconds, 3e-11, "0.0300 ns"),
            (Unit::Seconds, f64::NAN, "not a number"),
            (Unit::FlopsPerSecond, 999.96e9, "1.00 TFLOP/s"),
            (Unit::Bytes, 0.0, "0 B"),
            (Unit::Bytes, 1023.96, "1.00 KiB"),
            (Unit::Bytes, 1e18, "909,495 TiB"),
            (Unit::Count, 138_357_544.0, "138,357,544"),
            (Unit::Count, -1234.0, "−1,234"),
            (Unit::Count, 12.5, "12.5"),
            (Unit::Count, 0.0, "0"),
            (Unit::ImagesPerSecond, 28_499.6, "28,500 images/s"),
            (Unit::TokensPerSecond, 1234.6, "1,235 tokens/s"),
            (Unit::Share, 0.899_96, "90.00%"),
            (Unit::Share, 0.9813, "98.13%"),
            (Unit::Share, 0.999_99, "100.00%"),
            (Unit::Share, 1.0, "100%"),
            (Unit::Share, 0.099_96, "10.0%"),
            (Unit::Share, 0.009_96, "1.00%"),
            (Unit::Share, 0.000_042, "0.0042%"),
            (Unit::Share, 0.0, "0%"),
            (Unit::Share, -0.4551, "−45.5%"),
            (Unit::Ratio, 12_345.6, "12,346×"),
            (Unit::Ratio, 0.053_21, "0.0532×"),
            (Unit::Ratio, 0.000_496, "0.00050×"),
            (Unit::Ratio, 0.0, "0×"),
            (Unit::Number, 0.001, "0.00100"),
            (Unit::Number, 0.000_5, "5.00×10⁻⁴"),
            (Unit::Number, 1.57e-10, "1.57×10⁻¹⁰"),
            (Unit::Number, 1e-20, "10⁻²⁰"),
            (Unit::Number, -2e30, "−2.00×10³⁰"),
            (Unit::Number, 2359.4, "2,359"),
        ];
        for (unit, value, text) in table {
            assert_eq!(unit.format(*value), *text, "{unit:?} {value}");
        }
    }

    #[test]
    fn shorter_forms_keep_the_same_signs() {
        for (share, text) in [
            (0.6743, "67%"),
            (0.0832, "8.3%"),
            (0.0015, "0.15%"),
            (0.009_96, "1.0%"),
            (0.0996, "10%"),
            (0.0, "0%"),
            (-0.5, "−50%"),
        ] {
            assert_eq!(percent(share), text);
        }
        for (value, text) in
            [(0.257, "+0.26"), (-0.0351, "−0.04"), (-0.001, "0.00"), (0.001, "0.00")]
        {
            assert_eq!(difference(value, 2), text);
        }
        assert_eq!(decimals(153_778.198, 1), "153,778.2");
        assert_eq!(decimals(-999.96, 1), "−1,000.0");
        for (value, text) in
            [(4.73e-7, "4.7×10⁻⁷"), (1e-8, "10⁻⁸"), (-9.96e4, "−1.0×10⁵"), (0.0, "0")]
        {
            assert_eq!(scientific(value, 2), text);
        }
        for (value, text) in [
            (5e-4, "0.0005"),
            (1e-8, "10⁻⁸"),
            (5e8, "5×10⁸"),
            (-1e7, "−10⁷"),
            (9999.9, "10,000"),
            (-12_345.6, "−12,346"),
            (999_999.9, "10⁶"),
        ] {
            assert_eq!(plain(value), text);
        }
        assert_eq!(operations(5.88e21), "5.88 ZFLOP");
    }

    proptest! {
        #[test]
        fn what_is_written_is_what_was_measured(value in 1e-9_f64..1e6) {
            for unit in [
                Unit::Seconds, Unit::FlopsPerSecond, Unit::BytesPerSecond, Unit::Bytes, Unit::Share, Unit::Ratio,
                Unit::ImagesPerSecond,
            ] {
                let text = unit.format(-value);
                // Bytes are whole.
                let few = if unit == Unit::Bytes { 0.5 } else { 0.0 };
                let read = read(&text).unwrap();
                prop_assert!((read + value).abs() < 0.006 * value + few, "{value} became {text}, read as {read}");
            }
        }

        #[test]
        fn no_value_of_any_unit_is_too_odd(value: f64) {
            for unit in [
                Unit::Seconds, Unit::FlopsPerSecond, Unit::BytesPerSecond, Unit::Bytes, Unit::Share,
                Unit::ImagesPerSecond, Unit::Ratio, Unit::Count, Unit::Number, Unit::Hertz,
            ] {
                let text = unit.format(value);
                prop_assert!(!text.is_empty() && !text.contains('-'), "{text}");
            }
            for text in [percent(value), difference(value, 1), scientific(value, 2), plain(value)] {
                prop_assert!(!text.is_empty() && !text.contains('-'), "{text}");
            }
        }
    }
}
