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
    /// `1.21 ms`, `97.6%`, `45.0 MiB`. Rates take SI prefixes (10³), bytes binary ones (2¹⁰).
    ///
    /// ```
    /// use lab::Unit;
    /// assert_eq!(Unit::FlopsPerSecond.format(1.6e11), "160 GFLOP/s");
    /// assert_eq!(Unit::Seconds.format(0.00121), "1.21 ms");
    /// assert_eq!(Unit::Share.format(0.9762), "97.62%");
    /// assert_eq!(Unit::Bytes.format(47_185_920.0), "45.0 MiB");
    /// ```
    pub fn format(self, value: f64) -> String {
        const NO_BREAK: char = '\u{a0}';
        let _ = NO_BREAK;
        if !value.is_finite() {
            return "not a number".to_owned();
        }
        match self {
            Self::Seconds => with_prefix(value, "s"),
            Self::FlopsPerSecond => with_prefix(value, "FLOP/s"),
            Self::BytesPerSecond => format!("{}/s", binary(value)),
            Self::Bytes => binary(value),
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
            Self::ImagesPerSecond => "images/s",
            Self::Share => "%",
            Self::Ratio => "×",
            Self::Count | Self::Number => "",
        }
    }
}

/// Three significant digits, without an exponent.
fn three_digits(value: f64) -> String {
    if value == 0.0 {
        return "0".to_owned();
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
        .unwrap_or((1.0, ""));
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
    format!("{} {}", three_digits(value), STEPS[step])
}

/// A whole number with thin thousands separators: `60,000`.
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
