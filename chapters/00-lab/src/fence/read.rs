//! From a fence's text to what it declares. What is wrong is said with its line.

use super::{
    Cell, Fence, Limit, Loop, Otherwise, Shape,
    expression::{Expression, Pick, Piece, Quote, Show},
};
use crate::{
    Error, Key, Result,
    machine::Machine,
    plot::{Axis, Scale},
};

/// An axis, and what becomes of a value on it.
type Scaled = (Axis, fn(f64) -> f64);

/// Finds a declared key by its name.
pub(super) type Known<'k> = &'k dyn Fn(&str) -> Option<Key>;

/// What the lines before one have set.
pub(super) struct Reader<'k> {
    known: Known<'k>,
    /// What a key that begins with a dot continues.
    of: String,
    /// Parameters of all keys that have them.
    with: Vec<(String, String)>,
}

impl Fence {
    /// Reads a fence's text; `known` has the declared keys.
    ///
    /// # Errors
    /// [`Error::Message`] with the line, if a key or a parameter is not declared, an axis has no label, there is nothing to
    /// show or no caption, or a line is none that [`crate::fence`] describes.
    pub fn read(text: &str, known: &dyn Fn(&str) -> Option<Key>) -> Result<Self> {
        let mut reader = Reader::of("", known);
        let (mut shape, mut y, mut finding) = (None, None, Vec::new());
        let mut fence = Self::default();
        for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
            let read = (|| {
                let (first, rest) = line.split_once(' ').unwrap_or((line, ""));
                // A label may begin with any word.
                let entry = line.contains(" | ") || (line.contains(" = ") && first != "limit");
                match first {
                    ">" => finding.push(rest),
                    _ if entry => fence.entries.push(reader.entry(line)?),
                    "of" => rest.clone_into(&mut reader.of),
                    "with" => {
                        for word in parts(rest, ' ') {
                            reader.with.push(parameter(&word)?);
                        }
                    }
                    "each" => fence.each.push(list(rest)?),
                    "across" => fence.across.push(list(rest)?),
                    "words" => fence.words.push(list(rest)?),
                    "present" => fence.present = true,
                    "filled" => fence.filled = true,
                    "limits" => fence.limits = true,
                    "limit" => {
                        let (words, quote) =
                            rest.rsplit_once(" = ").ok_or("a limit is `limit WORDS = QUANTITY`")?;
                        let limit = match quote.parse() {
                            Ok(number) => Limit::Number(number),
                            Err(_) => Limit::Of(reader.quote(quote)?),
                        };
                        fence.limit.push((words.to_owned(), limit));
                    }
                    "diagonal" => {
                        let words = rest.strip_suffix(" up to cores");
                        fence.diagonal = Some((words.unwrap_or(rest).to_owned(), words.is_some()));
                    }
                    "bars:" => shape = Some((None, axis(rest)?)),
                    "lines" => {
                        let (over, label) = rest
                            .strip_prefix("over ")
                            .and_then(|rest| rest.split_once(": "))
                            .ok_or("lines are `lines over NAME: LABEL`")?;
                        shape = Some((Some(over.to_owned()), axis(label)?));
                    }
                    "y:" => y = Some(axis(rest)?),
                    _ => {
                        return Err("it is neither `LABEL = QUANTITY` nor `HEAD | CELL`".to_owned());
                    }
                }
                Ok::<_, String>(())
            })();
            read.map_err(|why| Error::message(format!("`{line}`: {why}")))?;
        }
        // A caption is outside the lists.
        reader.with.retain(|(_, value)| !value.contains('{'));
        let complete = fence.complete(shape, y).and_then(|()| reader.caption(&finding.join(" ")));
        fence.caption = complete.map_err(Error::message)?;
        if fence.caption.is_empty() {
            return Err(Error::message("the finding is missing: `> …`"));
        }
        Ok(fence)
    }

    /// Puts the axes in, and holds the whole together.
    fn complete(
        &mut self,
        shape: Option<(Option<String>, Scaled)>,
        y: Option<Scaled>,
    ) -> Result<(), String> {
        let Some((_, first)) = self.entries.first() else {
            return Err("nothing is shown".to_owned());
        };
        let drawn = shape.is_some();
        self.shape = match (shape, y) {
            (Some((Some(over), (x, _))), Some((y, scale))) => {
                let Cell::Number { of, .. } = first else {
                    return Err("a line is `LABEL = QUANTITY`".to_owned());
                };
                let over = declared(of.quote().key, &over)?;
                Some(Shape::Lines { over, x, y, scale })
            }
            (Some((Some(_), _)), None) => return Err("lines need `y: LABEL`".to_owned()),
            (Some((None, (axis, scale))), None) => Some(Shape::Bars { axis, scale }),
            (None, None) => None,
            (_, Some(_)) => return Err("`y:` belongs to lines".to_owned()),
        };
        let lines = matches!(self.shape, Some(Shape::Lines { .. }));
        let limits = [self.limits, !self.limit.is_empty(), self.diagonal.is_some()];
        if limits.iter().filter(|there| **there).count() > 1 {
            return Err("`limits`, `limit` and `diagonal` exclude each other".to_owned());
        }
        if limits[2] && !lines || limits.contains(&true) && !drawn {
            return Err("dashed lines belong to what is drawn, and `diagonal` to lines".to_owned());
        }
        let bars = matches!(self.shape, Some(Shape::Bars { .. }));
        let plain = |cell: &Cell| cell.shows(Show::Median) || (bars && cell.shows(Show::Apart));
        if drawn && !self.entries.iter().all(|(_, cell)| plain(cell)) {
            return Err("what is drawn is a quantity as it is".to_owned());
        }
        Ok(())
    }
}

/// A parameter's name as the key declares it.
fn declared(key: Key, name: &str) -> Result<&'static str, String> {
    let found = key.params.iter().find(|known| **known == name).copied();
    found.ok_or_else(|| {
        format!("`{}` has no parameter `{name}`; it has {}", key.name, key.params.join(", "))
    })
}

/// The parts of a text between separators, but for those in quotes; the quotes are left out.
fn parts(text: &str, separator: char) -> Vec<String> {
    let (mut all, mut quoted) = (vec![String::new()], false);
    for c in text.chars() {
        match c {
            '"' => quoted = !quoted,
            _ if c == separator && !quoted => all.push(String::new()),
            _ => all.last_mut().into_iter().for_each(|part| part.push(c)),
        }
    }
    all.iter().map(|part| part.trim().to_owned()).filter(|part| !part.is_empty()).collect()
}

/// `name=value`.
fn parameter(word: &str) -> Result<(String, String), String> {
    let (name, value) =
        word.split_once('=').ok_or_else(|| format!("`{word}` is not `name=value`"))?;
    Ok((name.to_owned(), value.to_owned()))
}

/// `NAME: a, b "words", c`, `NAME, NAME: a 1, b 2` or `NAME, NAME: *`.
fn list(text: &str) -> Result<Loop, String> {
    let (names, values) = text.split_once(": ").ok_or("a list is `NAME: a, b \"words\"`")?;
    let names = parts(names, ',');
    if values.trim() == "*" {
        return Ok(Loop { names, values: None });
    }
    // The words begin at the first quote, and the separators within them are none.
    let (mut all, mut rest) = (Vec::new(), values);
    while !rest.is_empty() {
        let comma = rest.find(", ").unwrap_or(rest.len());
        let (value, words, end) = match rest.find(" \"").filter(|quote| *quote < comma) {
            Some(quote) => {
                let words = rest[quote + 2..].split('"').next().unwrap_or_default();
                (&rest[..quote], words, quote + 2 + words.len() + 1)
            }
            None => (&rest[..comma], &rest[..comma], comma),
        };
        if value.split(' ').count() < names.len() {
            return Err(format!("`{value}` is not {} values", names.len()));
        }
        all.push((value.to_owned(), words.to_owned()));
        rest = rest.get(end..).unwrap_or_default().trim_start_matches([',', ' ']);
    }
    Ok(Loop { names, values: Some(all) })
}

/// `LABEL, OPTION, …`, and what becomes of a value on the axis.
fn axis(text: &str) -> Result<Scaled, String> {
    let mut parts = text.split(", ");
    let label = parts.next().filter(|label| !label.is_empty()).ok_or("an axis needs a label")?;
    let (mut axis, mut scale): (_, fn(f64) -> f64) =
        (Axis::new(label, Scale::Linear), |value| value);
    for option in parts {
        let number = |text: &str| text.parse::<f64>().map_err(|_| format!("`{text}` is no number"));
        match option {
            "log" => axis.scale = Scale::Log,
            "toggled" => axis = axis.toggled(),
            "×1e3" => scale = |value| 1e3 * value,
            "×1e6" => scale = |value| 1e6 * value,
            "÷1e3" => scale = |value| value / 1e3,
            "÷1e6" => scale = |value| value / 1e6,
            "÷1e9" => scale = |value| value / 1e9,
            "÷1e12" => scale = |value| value / 1e12,
            "MiB" => scale = |value| value / f64::from(1 << 20),
            "GiB" => scale = |value| value / f64::from(1 << 30),
            "%" => scale = |share| 100.0 * share,
            "wrong %" => scale = |share| 100.0 * (1.0 - share),
            _ => {
                axis = match (option.split_once(' '), option.split_once("..")) {
                    (Some(("from", base)), _) => axis.from(number(base)?),
                    (Some(("ticks", all)), _) => {
                        axis.ticks(all.split(' ').map(number).collect::<Result<Vec<_>, _>>()?)
                    }
                    (_, Some((low, high))) => axis.range(number(low)?, number(high)?),
                    _ => return Err(format!("an axis has no option `{option}`")),
                }
            }
        }
    }
    Ok((axis, scale))
}

impl<'k> Reader<'k> {
    pub fn of(key: &str, known: Known<'k>) -> Self {
        Self { known, of: key.to_owned(), with: Vec::new() }
    }

    /// `LABEL = QUANTITY` or `HEAD | CELL`.
    fn entry(&self, line: &str) -> Result<(String, Cell), String> {
        if let Some((head, cell)) = line.split_once(" | ") {
            return Ok((head.trim().to_owned(), self.cell(cell.trim())?));
        }
        let (label, quote) = line.rsplit_once(" = ").unwrap_or_default();
        let of = Expression::Of(self.quote(quote)?);
        Ok((label.trim().to_owned(), Cell::Number { of, otherwise: Otherwise::Dash }))
    }

    fn cell(&self, text: &str) -> Result<Cell, String> {
        let (of, otherwise) = match (text.strip_suffix(" or-why"), text.split_once(" or \"")) {
            (Some(of), _) => (of, Otherwise::Why),
            (None, Some((of, words))) => {
                (of, Otherwise::Words(words.trim_end_matches('"').to_owned()))
            }
            (None, None) => (text, Otherwise::Dash),
        };
        match text.strip_prefix('"') {
            Some(words) => Ok(Cell::Words(words.trim_end_matches('"').to_owned())),
            None => Ok(Cell::Number { of: self.expression(of)?, otherwise }),
        }
    }

    pub fn expression(&self, text: &str) -> Result<Expression, String> {
        for (word, made) in [
            (" / ", Expression::Ratio as fn(Quote, Quote) -> Expression),
            (" against ", Expression::Against),
        ] {
            if let Some((above, below)) = text.split_once(word) {
                return Ok(made(self.quote(above)?, self.quote(below)?));
            }
        }
        Ok(Expression::Of(self.quote(text)?))
    }

    /// `[min|max|any|count|zeros|first NAME|last NAME] KEY name=value …`, and what is shown of it, as [`crate::fence`] has it.
    fn quote(&self, text: &str) -> Result<Quote, String> {
        const PICKS: [&str; 7] = ["min", "max", "any", "count", "zeros", "first", "last"];
        let words = parts(text, ' ');
        let mut words = words.iter().map(String::as_str).peekable();
        let (mut pick, mut along) = (Pick::It, None);
        if let Some(word) = words.next_if(|word| PICKS.contains(word)) {
            pick = match word {
                "min" => Pick::Lowest,
                "max" => Pick::Highest,
                "any" => Pick::Any,
                "count" => Pick::Count,
                "zeros" => Pick::Zeros,
                _ => {
                    along = Some((word, words.next().unwrap_or_default()));
                    Pick::It
                }
            };
        }
        let name = words.next().ok_or("a quantity needs a key")?;
        let name =
            if name.starts_with('.') { format!("{}{name}", self.of) } else { name.to_owned() };
        let name = if name == "it" { self.of.clone() } else { name };
        let key = (self.known)(&name).ok_or_else(|| format!("no experiment declares `{name}`"))?;
        if let Some((word, over)) = along {
            let over = declared(key, over)?;
            pick = if word == "first" { Pick::First(over) } else { Pick::Last(over) };
        }
        let mut quote = Quote { key, params: Vec::new(), pick, show: Show::Median };
        for word in words {
            match word.strip_prefix('@') {
                Some(name) => quote.show = Show::Parameter(declared(key, name)?),
                None if word == "of-limit" => quote.show = Show::OfLimit,
                None if word == "low" => quote.show = Show::Low,
                None if word == "high" => quote.show = Show::High,
                None if word == "range" => quote.show = Show::Range,
                None if word == "quartiles" => quote.show = Show::Quartiles,
                None if word == "samples" => quote.show = Show::Samples,
                None if word == "plain" => quote.show = Show::Plain,
                None if word == "apart" => quote.show = Show::Apart,
                None if word == "points" => quote.show = Show::Points,
                None => {
                    let (name, value) = parameter(word)?;
                    if let "decimals" | "percent" = &name[..] {
                        let wrong = |_| format!("`{value}` is no number of decimals");
                        let digits = value.parse().map_err(wrong)?;
                        let decimals = name == "decimals";
                        quote.show =
                            if decimals { Show::Decimals(digits) } else { Show::Percent(digits) };
                        continue;
                    }
                    quote.params.push((declared(key, &name)?, value));
                }
            }
        }
        for (name, value) in &self.with {
            let named = quote.params.iter().any(|(known, _)| known == name);
            if let (false, Ok(name)) = (named, declared(key, name)) {
                quote.params.push((name, value.clone()));
            }
        }
        Ok(quote)
    }

    /// A caption's parts: text, `{…}` and `[…]`.
    fn caption(&self, text: &str) -> Result<Vec<Piece>, String> {
        let mut pieces = Vec::new();
        let mut rest = text;
        while let Some(at) = rest.find(['{', '[']) {
            let (before, after) = rest.split_at(at);
            if !before.is_empty() {
                pieces.push(Piece::Text(before.to_owned()));
            }
            let close = if after.starts_with('{') { '}' } else { ']' };
            let (inside, next) = after[1..]
                .split_once(close)
                .ok_or_else(|| format!("`{after}` has no `{close}`"))?;
            pieces.push(match (close, inside) {
                (']', _) => Piece::Optional(self.caption(inside)?),
                (_, "machine") => Piece::Machine(Machine::in_words),
                (_, "cpu") => Piece::Machine(|machine| machine.cpu.clone()),
                (_, "cores") => Piece::Machine(|machine| machine.cores.to_string()),
                _ => Piece::Number(self.expression(inside)?),
            });
            rest = next;
        }
        if !rest.is_empty() {
            pieces.push(Piece::Text(rest.to_owned()));
        }
        Ok(pieces)
    }
}
