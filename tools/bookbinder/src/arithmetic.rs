//! Formulas of numbers, computed: `16/12 = 1.3` holds as far as its digits say. A unit may follow, and with it come
//! thousands or percent: `64 \cdot 512 \cdot 4 = 128` before KiB.

use anyhow::{Result, bail};

/// That both sides of each `=` and `\approx` are the same number, where both are numbers.
///
/// # Errors
/// If they are not.
pub fn holds(tex: &str) -> Result<()> {
    for pair in sides(tex).windows(2) {
        if let (Some(left), Some(_)) = (value(&pair[0]), value(&pair[1]))
            && !agrees(left, &pair[1])
        {
            bail!("`{}` is {left:.6}, and the formula says `{}`", pair[0], pair[1]);
        }
    }
    Ok(())
}

/// Whether an answer that begins with a number is computed by this formula; none if it begins with none.
pub fn gives(tex: &str, answer: &str) -> Option<bool> {
    let answer = plain(answer);
    Reader(&answer).sum()?;
    Some(sides(tex).iter().any(|side| value(side).is_some_and(|value| agrees(value, &answer))))
}

/// What `=` and `\approx` join.
fn sides(tex: &str) -> Vec<String> {
    tex.replace("\\approx", "=").split('=').map(plain).collect()
}

/// Without what only sets numbers apart.
fn plain(tex: &str) -> String {
    let marks = ["{,}", "\\,", ",", "\\left", "\\right", " "];
    marks.iter().fold(tex.trim().to_owned(), |text, mark| text.replace(mark, ""))
}

/// The number that a side is, whatever unit stands behind it.
fn value(side: &str) -> Option<f64> {
    let mut reader = Reader(side);
    let value = reader.sum()?;
    let rest = reader.0.trim_end_matches('.');
    let unit =
        rest.strip_prefix("\\text{").is_some_and(|unit| unit.find('}') == Some(unit.len() - 1));
    (rest.is_empty() || unit).then_some(value)
}

/// Whether a number is what is said, up to half of the last digit and to the prefix of a unit.
fn agrees(value: f64, said: &str) -> bool {
    let first = said.find(|c: char| c.is_ascii_digit()).unwrap_or(0);
    let digits = Reader(&said[first..]).digits();
    let last = match digits.split_once('.') {
        Some((_, decimals)) => 0.1_f64.powi(decimals.len() as i32),
        None => 10_f64.powi((digits.len() - digits.trim_end_matches('0').len()) as i32),
    };
    let off = last / digits.parse().unwrap_or(1.0_f64).max(last) / 1.999;
    let factors = (-6..7).flat_map(|power| [1000_f64, 1024.0].map(|k| k.powi(power)));
    let said = Reader(said).sum().unwrap_or_default();
    factors.chain([100.0, 0.01]).any(|factor| (value * factor - said).abs() <= off * said.abs())
}

/// What is left of a formula to read. Each method takes one part of it, if it is one of numbers.
struct Reader<'t>(&'t str);

impl<'t> Reader<'t> {
    fn eat(&mut self, word: &str) -> bool {
        let rest = self.0.strip_prefix(word);
        self.0 = rest.unwrap_or(self.0);
        rest.is_some()
    }

    fn digits(&mut self) -> &'t str {
        let end = self.0.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(self.0.len());
        let (digits, rest) = self.0.split_at(end);
        self.0 = rest;
        digits.trim_end_matches('.')
    }

    /// 1 behind one word, -1 behind the other.
    fn either(&mut self, more: &str, less: &str) -> Option<f64> {
        if self.eat(more) { Some(1.0) } else { self.eat(less).then_some(-1.0) }
    }

    fn sum(&mut self) -> Option<f64> {
        let mut sum = self.product()?;
        while let Some(sign) = self.either("+", "-") {
            sum += sign * self.product()?;
        }
        Some(sum)
    }

    fn product(&mut self) -> Option<f64> {
        let mut product = self.power()?;
        loop {
            let close = ["(", "\\ln", "\\sqrt", "\\frac"].iter().any(|at| self.0.starts_with(at));
            let Some(exponent) = self.either("\\cdot", "/").or(close.then_some(1.0)) else {
                return Some(product);
            };
            product *= self.power()?.powf(exponent);
        }
    }

    fn power(&mut self) -> Option<f64> {
        let mut value = self.atom()?;
        if self.eat("^") {
            // Without braces it is one digit.
            let digit = self.0.chars().next().and_then(|digit| digit.to_digit(10)).map(f64::from);
            self.0 = &self.0[digit.map_or(0, |_| 1)..];
            value = value.powf(digit.or_else(|| self.atom())?);
        }
        Some(if self.eat("\\%") || self.eat("%") { value / 100.0 } else { value })
    }

    fn atom(&mut self) -> Option<f64> {
        match () {
            () if self.eat("-") => self.power().map(|value| -value),
            () if self.eat("\\frac") => Some(self.atom()? / self.atom()?),
            () if self.eat("\\sqrt") => self.atom().map(f64::sqrt),
            () if self.eat("\\ln") => self.power().map(f64::ln),
            () if self.eat("(") || self.eat("{") => {
                let sum = self.sum()?;
                (self.eat(")") || self.eat("}")).then_some(sum)
            }
            () => self.digits().parse().ok(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_formula_of_numbers_holds_to_its_digits() {
        for right in [
            "16/12 = 1.3",
            "64 \\cdot 512 \\cdot 4 = 128",
            "\\frac{4 + 8}{4 \\cdot 8} = 0.375 \\text{ loads}",
            "10 \\cdot (1 - 0.9^{32}) \\approx 9.66",
            "716/870 \\approx 82\\%",
            "C = \\sqrt{2 \\cdot 49 \\cdot 10{,}800} \\approx 1{,}030",
            "2.0 / (3 \\ln 2) \\approx 0.96",
            "n = 2 \\text{ s}, \\qquad \\frac{1}{2} = 0.5",
        ] {
            holds(right).expect(right);
        }
        for wrong in
            ["16/12 = 1.4", "2^{10} = 1{,}025", "a = 3 \\cdot 4 = 13", "1/8 \\approx 13.5\\%"]
        {
            assert!(holds(wrong).is_err(), "{wrong}");
        }
        let given = ["1.3 GFLOP/s", "4 GFLOP/s", "Twice"].map(|answer| gives("16/12", answer));
        assert_eq!(given, [Some(true), Some(false), None]);
        assert_eq!(gives("S = 1/65{,}536", "1/65,536 of it"), Some(true));
    }
}
