//! What stands between braces in a caption, and behind the equals sign of a bar: quantities, and what is made of them.

use crate::{
    Error, Key, Records, Result, Unit,
    key::Quantity,
    machine::Machine,
    record::Value,
    units::{apart, decimals, difference, plain},
};

/// Names that stand for values: each with the value, and the words that labels have for it.
pub(super) type Bindings = Vec<(String, String, String)>;

/// `template` with each `{name}` replaced by its words, or else by its value.
pub(super) fn filled(template: &str, bindings: &Bindings, in_words: bool) -> String {
    bindings.iter().fold(template.to_owned(), |text, (name, value, words)| {
        text.replace(&format!("{{{name}}}"), if in_words { words } else { value })
    })
}

/// Which of a quantity's values is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pick {
    It,
    Lowest,
    Highest,
    /// The first that was measured.
    Any,
    Count,
    /// How many are 0.
    Zeros,
    /// The one with the smallest value of this parameter.
    First(&'static str),
    /// The one with the largest.
    Last(&'static str),
}

/// What of the value is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Show {
    Median,
    OfLimit,
    /// The lowest sample, the highest, or both.
    Low,
    High,
    Range,
    /// From the lower to the upper.
    Quartiles,
    /// How many samples there are.
    Samples,
    /// Without the unit.
    Plain,
    Decimals(usize),
    /// As a percentage with so many decimals.
    Percent(usize),
    /// As a difference of percentages.
    Points,
    /// As a difference.
    Apart,
    /// A parameter, as it was recorded.
    Parameter(&'static str),
}

/// A declared key with parameters, whose values may be `{name}`.
#[derive(Clone, Debug)]
pub(super) struct Quote {
    pub key: Key,
    pub params: Vec<(&'static str, String)>,
    pub pick: Pick,
    pub show: Show,
}

impl Quote {
    pub fn at(&self, bindings: &Bindings) -> Quantity {
        self.params.iter().fold(self.key.at(&[]), |quantity, (name, value)| {
            quantity.with(name, filled(value, bindings, false))
        })
    }

    /// With those parameters alone that are the same everywhere.
    pub fn fixed(&self) -> Quantity {
        let fixed = self.params.iter().filter(|(_, value)| !value.contains('{'));
        fixed.fold(self.key.at(&[]), |quantity, (name, value)| quantity.with(name, value))
    }

    /// Whether a parameter is `{name}`.
    pub fn varies(&self, name: &str) -> bool {
        self.params.iter().any(|(_, value)| value.contains(&format!("{{{name}}}")))
    }

    /// Whether it shows this of the quantity as it is.
    pub fn is_it(&self, show: Show) -> bool {
        (self.pick, self.show) == (Pick::It, show)
    }

    fn value<'r>(&self, bindings: &Bindings, records: &'r Records) -> Result<&'r Value> {
        let quantity = self.at(bindings);
        let by_height = |a: &&Value, b: &&Value| a.median.total_cmp(&b.median);
        let found = match self.pick {
            Pick::It | Pick::Count | Pick::Zeros => return records.get(&quantity),
            Pick::Any => records.every(&quantity)?.into_iter().next(),
            Pick::Lowest => records.every(&quantity)?.into_iter().min_by(by_height),
            Pick::Highest => records.every(&quantity)?.into_iter().max_by(by_height),
            Pick::First(over) => records.over(over, &quantity)?.first().map(|(_, value)| *value),
            Pick::Last(over) => records.over(over, &quantity)?.last().map(|(_, value)| *value),
        };
        found.ok_or_else(|| Error::Key(format!("`{quantity}` has no such value")))
    }

    fn number(&self, bindings: &Bindings, records: &Records) -> Result<f64> {
        match self.pick {
            Pick::Count => return Ok(records.every(self.at(bindings))?.len() as f64),
            Pick::Zeros => {
                let all = records.every(self.at(bindings))?;
                return Ok(all.iter().filter(|value| value.median == 0.0).count() as f64);
            }
            _ => {}
        }
        let value = self.value(bindings, records)?;
        match self.show {
            Show::OfLimit => value.of_limit().ok_or_else(|| self.lacks("limit", bindings)),
            Show::Low => Ok(value.samples.quantile(0.0)),
            Show::High => Ok(value.samples.quantile(1.0)),
            _ => Ok(value.median),
        }
    }

    fn lacks(&self, what: &str, bindings: &Bindings) -> Error {
        Error::Key(format!("`{}` has no {what}", self.at(bindings)))
    }

    fn text(&self, bindings: &Bindings, records: &Records) -> Result<String> {
        if matches!(self.pick, Pick::Count | Pick::Zeros) {
            return Ok(Unit::Count.format(self.number(bindings, records)?));
        }
        let value = self.value(bindings, records)?;
        let end = |q| value.unit.format(value.samples.quantile(q));
        Ok(match self.show {
            Show::Median => value.text(),
            Show::OfLimit => Unit::Share.format(self.number(bindings, records)?),
            Show::Low | Show::High => value.unit.format(self.number(bindings, records)?),
            Show::Range => format!("{} to {}", end(0.0), end(1.0)),
            Show::Quartiles => {
                [value.low, value.high].map(|end| value.unit.format(end)).join(" to ")
            }
            Show::Plain => Unit::Number.format(value.median),
            Show::Decimals(digits) => decimals(value.median, digits),
            Show::Percent(digits) => format!("{}%", decimals(100.0 * value.median, digits)),
            Show::Points => format!("{} points", difference(100.0 * value.median, 1)),
            Show::Apart => apart(value.median),
            Show::Samples => Unit::Count.format(value.count() as f64),
            Show::Parameter(name) => {
                let text = value.param(name).ok_or_else(|| self.lacks(name, bindings))?;
                // A large number is easier to read with its thousands apart, one in powers of ten without them.
                match text.parse() {
                    Ok(number) if number >= 1e4 => Unit::Count.format(number),
                    Ok(number) if text.contains('e') => plain(number),
                    _ => text.to_owned(),
                }
            }
        })
    }
}

/// A quantity, or one over another: as a ratio, or how much it is above or below it.
#[derive(Clone, Debug)]
pub(super) enum Expression {
    Of(Quote),
    Ratio(Quote, Quote),
    Against(Quote, Quote),
}

impl Expression {
    /// The quantity, or the upper one.
    pub fn quote(&self) -> &Quote {
        match self {
            Self::Of(quote) | Self::Ratio(quote, _) | Self::Against(quote, _) => quote,
        }
    }

    pub fn number(&self, bindings: &Bindings, records: &Records) -> Result<f64> {
        let of = |quote: &Quote| quote.number(bindings, records);
        match self {
            Self::Of(quote) => of(quote),
            Self::Ratio(above, below) => Ok(of(above)? / of(below)?),
            Self::Against(above, below) => Ok(of(above)? / of(below)? - 1.0),
        }
    }

    pub fn text(&self, bindings: &Bindings, records: &Records) -> Result<String> {
        match self {
            Self::Of(quote) => quote.text(bindings, records),
            Self::Ratio(..) => Ok(Unit::Ratio.format(self.number(bindings, records)?)),
            Self::Against(..) => {
                let percent = 100.0 * self.number(bindings, records)?;
                Ok(format!("{}%", difference(percent, 1)))
            }
        }
    }
}

/// A part of a caption.
#[allow(clippy::large_enum_variant, reason = "there are a few hundred in a book")]
#[derive(Clone, Debug)]
pub(super) enum Piece {
    Text(String),
    Number(Expression),
    Machine(fn(&Machine) -> String),
    /// Left out where one of its numbers is missing.
    Optional(Vec<Piece>),
}

/// A caption from one machine's records.
pub(super) fn caption(pieces: &[Piece], records: &Records) -> Result<String> {
    let text = |piece: &Piece| match piece {
        Piece::Text(text) => Ok(text.clone()),
        Piece::Number(expression) => expression.text(&Bindings::new(), records),
        Piece::Machine(fact) => Ok(fact(&records.machine)),
        Piece::Optional(pieces) => Ok(caption(pieces, records).unwrap_or_default()),
    };
    pieces.iter().map(text).collect()
}
