//! The rule that a verdict is by: what was measured, and what was asked for.

use super::{
    expression::{Bindings, Expression},
    read::{Known, Reader},
};
use crate::{Error, Key, Records, Result};

/// Comparisons, joined by `and`: `A > B`, `A < B` or `A within 10% of B`. A and B are expressions as in a caption (see
/// [`crate::fence`]) or numbers, such as `1.2` or `80%`; `it` is the first key.
///
/// ```
/// use lab::{Key, Samples, Unit, fence::Rule, testing};
///
/// const RATE: Key = Key::measured("demo.rate", Unit::FlopsPerSecond, &["n"]);
/// let rule = Rule::read("demo.rate n=64 / it n=8 > 1.5", &|name| (name == RATE.name).then_some(RATE))?;
///
/// let rate = |n: u32, rate| RATE.at(&[("n", &n)]).value(Samples::one(rate));
/// let records = testing::records(&testing::demo("demo", &[RATE]), &[rate(8, 1e9), rate(64, 2e9)], &[]);
/// assert_eq!(rule.compare(&records)?, [(true, "2.00×, asked for: more than 1.5".to_owned())]);
/// # Ok::<(), lab::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Rule(Vec<(Side, Asked, Side)>);

/// How what was measured is to stand to what was asked for.
#[derive(Clone, Copy, Debug)]
enum Asked {
    More,
    Less,
    /// As a fraction of it.
    Within(f64),
}

#[allow(clippy::large_enum_variant, reason = "there are a few dozen in a book")]
#[derive(Clone, Debug)]
enum Side {
    /// A number, and how it is written.
    Number(f64, String),
    Of(Expression),
}

impl Rule {
    /// Reads a rule; `known` has the declared keys.
    ///
    /// # Errors
    /// [`Error::Message`] if a key or a parameter is not declared, or a part is no comparison.
    pub fn read(text: &str, known: Known) -> Result<Self> {
        let first = text.split(' ').find(|word| known(word).is_some());
        let reader = Reader::of(first.unwrap_or_default(), known);
        let read = text.split(" and ").map(|part| {
            comparison(part, &reader).map_err(|why| Error::message(format!("`{part}`: {why}")))
        });
        Ok(Self(read.collect::<Result<_>>()?))
    }

    /// The first key, if a quantity is compared.
    pub fn key(&self) -> Option<Key> {
        let sides = self.0.iter().flat_map(|(value, _, bound)| [value, bound]);
        sides.into_iter().find_map(|side| match side {
            Side::Of(expression) => Some(expression.quote().key),
            Side::Number(..) => None,
        })
    }

    /// Whether each comparison holds, and what was compared, in words.
    ///
    /// # Errors
    /// As [`Records::find`].
    pub fn compare(&self, records: &Records) -> Result<Vec<(bool, String)>> {
        let compare = |(value, asked, bound): &(Side, Asked, Side)| {
            let ((value, found), (bound, limit)) = (value.of(records)?, bound.of(records)?);
            let (holds, how) = match asked {
                Asked::More => (value > bound, "more than".to_owned()),
                Asked::Less => (value < bound, "less than".to_owned()),
                Asked::Within(part) => {
                    ((value / bound - 1.0).abs() <= *part, format!("within {}% of", 100.0 * part))
                }
            };
            Ok((holds, format!("{found}, asked for: {how} {limit}")))
        };
        self.0.iter().map(compare).collect()
    }
}

fn comparison(text: &str, reader: &Reader) -> Result<(Side, Asked, Side), String> {
    for (word, asked) in [(" > ", Asked::More), (" < ", Asked::Less)] {
        if let Some((value, bound)) = text.split_once(word) {
            return Ok((Side::read(value, reader)?, asked, Side::read(bound, reader)?));
        }
    }
    let within = text.split_once(" within ").and_then(|(value, rest)| {
        let (percent, bound) = rest.split_once("% of ")?;
        Some((value, percent.parse::<f64>().ok()? / 100.0, bound))
    });
    let (value, part, bound) =
        within.ok_or("a rule is `QUANTITY > BOUND`, with `<`, or with `within 10% of`")?;
    Ok((Side::read(value, reader)?, Asked::Within(part), Side::read(bound, reader)?))
}

impl Side {
    fn read(text: &str, reader: &Reader) -> Result<Self, String> {
        let text = text.trim();
        let (digits, unit) = text.strip_suffix('%').map_or((text, 1.0), |digits| (digits, 0.01));
        match digits.parse::<f64>() {
            Ok(number) => Ok(Self::Number(number * unit, text.to_owned())),
            Err(_) => Ok(Self::Of(reader.expression(text)?)),
        }
    }

    /// Its number, and how it reads.
    fn of(&self, records: &Records) -> Result<(f64, String)> {
        let none = Bindings::new();
        Ok(match self {
            Self::Number(number, text) => (*number, text.clone()),
            Self::Of(expression) => {
                (expression.number(&none, records)?, expression.text(&none, records)?)
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Samples, Unit, record::Limit, testing};

    const RATE: Key = Key::measured("demo.rate", Unit::FlopsPerSecond, &["who"]);

    fn rule(text: &str) -> Result<Rule> {
        Rule::read(text, &|name| (name == RATE.name).then_some(RATE))
    }

    #[test]
    fn a_rule_compares_medians_ends_shares_and_ratios() -> Result<()> {
        let peak = Limit { name: "the peak".to_owned(), value: 4e9 };
        let value = |who: &str, samples: &[f64]| {
            RATE.at(&[("who", &who)]).against(peak.clone()).value(Samples(samples.to_vec()))
        };
        let values = [value("ours", &[2e9, 3e9, 1e9]), value("theirs", &[1e9])];
        let records = testing::records(&testing::demo("demo", &[RATE]), &values, &[]);
        for (text, holds) in [
            ("demo.rate who=ours > it who=theirs", true),
            ("demo.rate who=ours / it who=theirs < 2", false),
            ("demo.rate who=ours low > it who=theirs high", false),
            ("demo.rate who=ours of-limit > 49%", true),
            ("demo.rate who=theirs of-limit within 10% of 0.275", true),
            ("demo.rate who=theirs of-limit within 10% of 0.28", false),
            ("demo.rate who=ours against it who=theirs > 99%", true),
            ("count demo.rate > 2", false),
            ("max demo.rate > min demo.rate", true),
            ("2 > 1", true),
        ] {
            assert_eq!(rule(text)?.compare(&records)?[0].0, holds, "{text}");
        }
        let both = rule("demo.rate who=ours > 1 and it who=theirs low > 5e9")?;
        let words = both.compare(&records)?;
        assert_eq!(words.iter().map(|(holds, _)| *holds).collect::<Vec<_>>(), [true, false]);
        assert_eq!(words[1].1, "1.00 GFLOP/s, asked for: more than 5e9");
        assert_eq!((both.key(), rule("2 > 1")?.key()), (Some(RATE), None));
        assert!(rule("demo.rate who=nobody > 1")?.compare(&records).is_err());
        Ok(())
    }

    #[test]
    fn a_rule_that_is_wrong_says_where() {
        for (text, why) in [
            ("demo.gone > 1", "`demo.gone > 1`: no experiment declares `demo.gone`"),
            ("demo.rate n=1 > 1", "has no parameter `n`"),
            ("demo.rate", "a rule is `QUANTITY > BOUND`"),
            ("demo.rate within ten% of 1", "a rule is"),
            ("demo.rate > ", "a quantity needs a key"),
        ] {
            let error = rule(text).expect_err(text).to_string();
            assert!(error.contains(why), "{text}: {error}");
        }
    }
}
