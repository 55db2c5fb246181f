//! A number: `{{#measure KEY p=v … [of-limit|as-flop] [@MACHINE]}}`. With `@MACHINE` it is that machine's, whatever
//! machine the reader chooses: a sentence that names a machine marks it.

use super::{
    fences::key,
    machine::{is_reference, run_place},
    quotes::{Found, Quotes, SKIPPED, first_reference, stand_in},
};
use crate::{aside::QUOTE, html, page::Flavour};
use anyhow::{Result, anyhow, bail};
use lab::{
    Records, Unit,
    record::{Params, Value, name},
    units::{operations, percent},
};
use std::fmt::Write as _;

/// How a number is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum As {
    /// In its own unit.
    ItIs,
    /// As the fraction of the limit that it is compared with: `of-limit`.
    OfLimit,
    /// A count of operations with an SI prefix: `as-flop`.
    Flop,
}

/// What a page asks for.
struct Asked {
    key: String,
    wanted: Params,
    as_: As,
    /// The machine whose value it is, if the page names it.
    on: Option<String>,
}

impl Asked {
    /// `key p=v … [of-limit|as-flop] [@MACHINE]`, of a value that an experiment declares.
    fn of(spec: &str, quotes: Quotes) -> Result<Self> {
        let asked = parse(spec)?;
        if key(quotes.chapters, &asked.key).is_none() {
            bail!("no experiment declares the value `{}`", asked.key);
        }
        quotes.has_reference(asked.on.as_deref())?;
        Ok(asked)
    }

    /// What the one machine has that the page names; nothing in a book without reference machines.
    fn pinned<'a>(&self, quotes: Quotes<'a>, on: &str) -> Result<Option<(&'a Records, &'a Value)>> {
        let found = self.found(quotes)?.into_iter().find(|(records, _)| records.name == on);
        match found {
            Some((records, Found::Yes(value))) => Ok(Some((records, value))),
            Some((_, Found::No(why))) => bail!("`{}` on {on}: {why}", self.name()),
            None => Ok(None),
        }
    }

    fn name(&self) -> String {
        name(&self.key, &self.wanted)
    }

    /// What each machine has.
    fn found<'a>(&self, quotes: Quotes<'a>) -> Result<Vec<(&'a Records, Found<&'a Value>)>> {
        quotes.each(&format!("the value `{}`", self.name()), |records| {
            records.find(&self.key, &self.wanted)
        })
    }
}

impl Quotes<'_> {
    /// A number. `up` leads from the page to the book's root (`../`).
    ///
    /// # Errors
    /// If no experiment declares the key, or the parameters name no value or several.
    pub fn measure(self, spec: &str, up: &str, flavour: Flavour) -> Result<String> {
        let asked = Asked::of(spec, self)?;
        if let Some(on) = &asked.on {
            return match (asked.pinned(self, on)?, flavour) {
                (None, Flavour::Notebook) => Ok("(not measured yet)".to_owned()),
                (None, Flavour::Html) => {
                    Ok("<span class=\"unmeasured\">not measured yet</span>".to_owned())
                }
                (Some((_, value)), Flavour::Notebook) => shown(value, asked.as_),
                (Some((records, value)), Flavour::Html) => link(records, value, asked.as_, "", up),
            };
        }
        let found = asked.found(self)?;
        if flavour == Flavour::Notebook {
            return in_notebook(&found, asked.as_);
        }
        let mut out = format!("<span class=\"measure\" {QUOTE}>");
        if found.is_empty() {
            out.push_str("<span class=\"unmeasured\">not measured yet</span>");
        }
        // First the numbers, then for whom one of them stands in: the name follows its number.
        let has = |found: &Found<_>| matches!(found, Found::Yes(_));
        let (numbers, lacking): (Vec<_>, Vec<_>) = found.iter().partition(|(_, one)| has(one));
        for (records, one) in numbers.into_iter().chain(lacking) {
            let machine = self.attributes_among(records, &found);
            match one {
                Found::Yes(value) => {
                    out.push_str(&link(records, value, asked.as_, &machine, up)?);
                }
                // In a sentence the reason would bury it: a link as a measured number is one, whose title has it.
                Found::No(why) => {
                    let (class, words) = match stand_in(&found) {
                        Some(other) => ("elsewhere", format!(" on {}", html::text(&other.name))),
                        None => ("unmeasured", "not measured yet".to_owned()),
                    };
                    let _ = write!(
                        out,
                        "<a class=\"{class}\" {machine} href=\"{up}{}\" title=\"{}\">{words}</a>",
                        run_place(&asked.key, records),
                        html::attribute(&format!("{} on {}: {why}", asked.name(), records.name))
                    );
                }
            }
        }
        out.push_str("</span>");
        Ok(out)
    }

    /// A number inside the text of a drawing: what each machine has, and nothing where it has none.
    ///
    /// # Errors
    /// As [`Quotes::measure`].
    pub fn measure_in_drawing(self, spec: &str, flavour: Flavour) -> Result<String> {
        let asked = Asked::of(spec, self)?;
        let mut out = String::new();
        let found = asked.found(self)?;
        for (records, one) in &found {
            let Found::Yes(value) = one else { continue };
            let text = html::text(&shown(value, asked.as_)?);
            match flavour {
                Flavour::Html => {
                    let machine = self.attributes_among(records, &found);
                    let _ = write!(out, "<tspan {machine}>{text}</tspan>");
                }
                // As everywhere in a notebook: the first reference machine's.
                Flavour::Notebook if !is_reference(records) => {}
                Flavour::Notebook => return Ok(text),
            }
        }
        Ok(out)
    }

    /// Why numbers of a page are missing, listed once at its end: `specs` are those that the page quotes.
    /// Nothing where none is missing, or where an experiment has yet to run.
    ///
    /// # Errors
    /// As [`Quotes::measure`].
    pub fn reasons(self, specs: &[String]) -> Result<String> {
        let mut all: Vec<(&Records, Vec<String>)> = Vec::new();
        for spec in specs {
            for (records, found) in Asked::of(spec, self)?.found(self)? {
                let Found::No(why) = found else { continue };
                let Some(why) = why.strip_prefix(SKIPPED) else { continue };
                let at = all.iter().position(|(other, _)| other.name == records.name);
                let at = at.unwrap_or_else(|| {
                    all.push((records, Vec::new()));
                    all.len() - 1
                });
                if !all[at].1.iter().any(|said| said == why) {
                    all[at].1.push(why.to_owned());
                }
            }
        }
        if all.is_empty() {
            return Ok(String::new());
        }
        let mut out = format!("\n\n<div {QUOTE}>");
        for (records, reasons) in &all {
            let _ = write!(
                out,
                "<div class=\"reasons\" {}><p>What is not measured yet on {}, and why:</p><ul>",
                self.machine_attributes(records, &[]),
                html::text(&records.name)
            );
            for why in reasons {
                let _ = write!(out, "<li>{}.</li>", html::text(why));
            }
            out.push_str("</ul></div>");
        }
        Ok(out + "</div>\n")
    }
}

/// A number as a link to its record.
fn link(records: &Records, value: &Value, as_: As, machine: &str, up: &str) -> Result<String> {
    let exact = match as_ {
        As::OfLimit => value.of_limit().unwrap_or(f64::NAN),
        As::ItIs | As::Flop => value.median,
    };
    Ok(format!(
        "<a class=\"measured\" {machine} href=\"{up}{}\" title=\"{}\"><data value=\"{exact}\">{}</data></a>",
        run_place(&value.key, records),
        html::attribute(&tooltip(value, records, as_)?),
        html::text(&shown(value, as_)?),
    ))
}

/// The number of the first reference machine, or of the next one that has it, which is then named.
fn in_notebook(found: &[(&Records, Found<&Value>)], as_: As) -> Result<String> {
    let first = found.iter().find(|(records, _)| is_reference(records));
    match first_reference(found) {
        Err(_) => Ok("(not measured yet)".to_owned()),
        Ok((records, value)) if first.is_some_and(|(first, _)| first.name == records.name) => {
            shown(value, as_)
        }
        Ok((records, value)) => Ok(format!("{} ({})", shown(value, as_)?, records.name)),
    }
}

/// `key p=v … [of-limit|as-flop] [@MACHINE]`.
fn parse(spec: &str) -> Result<Asked> {
    let mut words = spec.split_whitespace();
    let Some(key) = words.next() else {
        bail!("a measure needs a key: {{{{#measure matmul.ladder n=1024}}}}");
    };
    let (mut wanted, mut as_, mut on) = (Params::new(), As::ItIs, None);
    for word in words {
        match (word.split_once('='), word) {
            (Some((name, value)), _) => {
                wanted.insert(name.to_owned(), value.to_owned());
            }
            (None, "of-limit") => as_ = As::OfLimit,
            (None, "as-flop") => as_ = As::Flop,
            (None, machine) if machine.starts_with('@') => on = Some(machine[1..].to_owned()),
            _ => bail!("`{word}` is none of `name=value`, `of-limit`, `as-flop` and `@MACHINE`"),
        }
    }
    Ok(Asked { key: key.to_owned(), wanted, as_, on })
}

/// A value as a page writes it.
fn shown(value: &Value, as_: As) -> Result<String> {
    let wrong = |what: &str| anyhow!("`{}` {what}", name(&value.key, &value.params));
    let text = match as_ {
        As::ItIs => value.text(),
        As::OfLimit => {
            percent(value.of_limit().ok_or_else(|| wrong("has no limit that it is compared with"))?)
        }
        As::Flop if matches!(value.unit, Unit::Count | Unit::Number) => operations(value.median),
        As::Flop => return Err(wrong("is no count of operations")),
    };
    Ok(text.replace(' ', "\u{a0}"))
}

/// How a number came about. What the machine is, is said once on a page, in its list of machines.
fn tooltip(value: &Value, records: &Records, as_: As) -> Result<String> {
    let count = value.count();
    let own = if as_ == As::Flop { shown(value, as_)? } else { value.text() };
    let mut text = match count {
        1 => format!("{own}: one sample"),
        _ => format!(
            "{own}: median of {count} samples, half of them between {} and {}",
            value.unit.format(value.low),
            value.unit.format(value.high)
        ),
    };
    if let (Some(limit), Some(share)) = (&value.limit, value.of_limit()) {
        let _ = if as_ == As::OfLimit {
            write!(text, "; the limit is {}, {}", limit.name, value.unit.format(limit.value))
        } else {
            write!(text, "; {} of {}", percent(share), limit.name)
        };
    }
    if let Some((low, bars, high)) = strip(&value.samples.0) {
        let [low, high] = [low, high].map(|sample| value.unit.format(sample));
        let _ = write!(text, "; samples from {low} {bars} to {high}");
    }
    let _ = write!(text, "; {}", records.name);
    Ok(text)
}

/// Fewer samples are no distribution.
const FEW: usize = 5;

/// The smallest sample, the largest, and between them how many lie where: a bar for each of sixteen equal parts.
fn strip(samples: &[f64]) -> Option<(f64, String, f64)> {
    const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let low = samples.iter().copied().fold(f64::INFINITY, f64::min);
    let high = samples.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let known = samples.iter().all(|sample| sample.is_finite());
    if samples.len() < FEW || !known || low >= high {
        return None;
    }
    let mut counts = [0_usize; 16];
    for sample in samples {
        let part = (sample - low) / (high - low) * counts.len() as f64;
        counts[(part as usize).min(counts.len() - 1)] += 1;
    }
    let most = counts.into_iter().max().unwrap_or(1);
    let bar = |count: usize| match count {
        0 => '·',
        _ => BARS[(count * BARS.len()).div_ceil(most) - 1],
    };
    Some((low, counts.into_iter().map(bar).collect(), high))
}

#[cfg(test)]
mod tests {
    use super::*;
    use lab::Samples;

    #[test]
    fn a_strip_shows_where_the_samples_lie() {
        let uniform: Vec<f64> = (0..160).map(f64::from).collect();
        assert_eq!(strip(&uniform), Some((0.0, "█".repeat(16), 159.0)));
        // Eight of nine samples are in the first part, and the outlier alone in the last.
        let mut outlier = vec![1.0; 8];
        outlier.push(17.0);
        assert_eq!(strip(&outlier), Some((1.0, format!("█{}▁", "·".repeat(14)), 17.0)));
        for none in [&uniform[..4], &[2.0; 9], &[f64::NAN, 1.0, 2.0, 3.0, 4.0], &[]] {
            assert_eq!(strip(none), None);
        }
    }

    #[test]
    fn a_spec_has_a_key_parameters_and_a_flag() {
        let asked = parse("a.b n=1 rung=avx2 of-limit @far").unwrap();
        assert_eq!((asked.key.as_str(), asked.wanted.len(), asked.as_), ("a.b", 2, As::OfLimit));
        assert_eq!((asked.wanted["rung"].as_str(), asked.on.as_deref()), ("avx2", Some("far")));
        let asked = parse("a.b as-flop").unwrap();
        assert_eq!((asked.as_, asked.on), (As::Flop, None));
        assert!(parse("").is_err() && parse("a.b of-limits").is_err());
    }

    #[test]
    fn operations_are_written_with_a_prefix_and_nothing_else_is() {
        let value = |unit| Value::new("a.b", &[], unit, Samples(vec![30_940_528_640.0]));
        let flop = |unit| shown(&value(unit), As::Flop);
        assert_eq!(flop(Unit::Count).unwrap(), "30.9\u{a0}GFLOP");
        assert!(flop(Unit::Seconds).unwrap_err().to_string().contains("no count of operations"));
    }
}
