//! A number: `{{#measure KEY p=v … [of-limit|as-flop]}}`.

use super::{
    machine::{is_reference, records_page, run_place},
    quotes::{Found, Quotes, SKIPPED},
};
use crate::{html, page::Flavour};
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
    /// As the share of the limit that it is held against: `of-limit`.
    OfLimit,
    /// A count of operations with an SI prefix: `as-flop`.
    Flop,
}

/// What a page asks for.
struct Asked {
    key: String,
    wanted: Params,
    as_: As,
}

impl Asked {
    /// `key p=v … [of-limit|as-flop]`, of a value that an experiment declares.
    fn of(spec: &str, quotes: Quotes) -> Result<Self> {
        let (key, wanted, as_) = parse(spec)?;
        if !quotes.declared(&key) {
            bail!("no experiment declares the value `{key}`");
        }
        Ok(Self { key, wanted, as_ })
    }

    fn name(&self) -> String {
        name(&self.key, &self.wanted)
    }

    /// What each machine has.
    fn found<'a>(&self, quotes: Quotes<'a>) -> Result<Vec<(&'a Records, Found<&'a Value>)>> {
        quotes.each(&format!("the value `{}`", self.name()), |records| {
            records.find_params(&self.key, &self.wanted)
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
        let found = asked.found(self)?;
        if flavour == Flavour::Notebook {
            return in_notebook(&found, asked.as_);
        }
        let mut out = String::from("<span class=\"measure\">");
        if found.is_empty() {
            out.push_str("<span class=\"unmeasured\">not measured yet</span>");
        }
        for (records, found) in &found {
            let machine = self.machine_attributes(records);
            match found {
                Found::Yes(value) => {
                    let _ = write!(
                        out,
                        "<a class=\"measured\" {machine} href=\"{up}{}#{}\" title=\"{}\"><data \
                         value=\"{}\">{}</data></a>",
                        records_page(&records.name),
                        html::value_anchor(&name(&value.key, &value.params)),
                        html::attribute(&tooltip(value, records, asked.as_)?),
                        if asked.as_ == As::OfLimit {
                            value.of_limit().unwrap_or(f64::NAN)
                        } else {
                            value.median
                        },
                        html::text(&shown(value, asked.as_)?),
                    );
                }
                // In a sentence the reason would bury it: a link as a measured number is one, to where the
                // reason stands.
                Found::No(why) => {
                    let _ = write!(
                        out,
                        "<a class=\"unmeasured\" {machine} href=\"{up}{}\" title=\"{}\">not measured \
                         yet</a>",
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
        for (records, found) in asked.found(self)? {
            let Found::Yes(value) = found else { continue };
            let text = html::text(&shown(value, asked.as_)?);
            match flavour {
                Flavour::Html => {
                    let machine = self.machine_attributes(records);
                    let _ = write!(out, "<tspan {machine}>{text}</tspan>");
                }
                // As everywhere in a notebook: the first reference machine's.
                Flavour::Notebook if !is_reference(records) => {}
                Flavour::Notebook => return Ok(text),
            }
        }
        Ok(out)
    }

    /// Why numbers of a page are missing, said once at its end: `specs` are those that the page quotes.
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
        let mut out = String::new();
        for (records, reasons) in &all {
            let _ = write!(
                out,
                "\n\n<div class=\"reasons\" {}><p>What is not measured yet on {}, and why:</p><ul>",
                self.machine_attributes(records),
                html::text(&records.name)
            );
            for why in reasons {
                let _ = write!(out, "<li>{}.</li>", html::text(why));
            }
            out.push_str("</ul></div>\n");
        }
        Ok(out)
    }
}

/// The number of the first reference machine, or of the next one that has it, which is then named.
fn in_notebook(found: &[(&Records, Found<&Value>)], as_: As) -> Result<String> {
    let mut references = found.iter().filter(|(records, _)| is_reference(records)).peekable();
    let first = references.peek().map(|(records, _)| records.name.as_str());
    let best = references.find_map(|(records, found)| match found {
        Found::Yes(value) => Some((records.name.as_str(), value)),
        Found::No(_) => None,
    });
    match best {
        None => Ok("(not measured yet)".to_owned()),
        Some((name, value)) if Some(name) == first => shown(value, as_),
        Some((name, value)) => Ok(format!("{} ({name})", shown(value, as_)?)),
    }
}

/// `key p=v … [of-limit|as-flop]`.
fn parse(spec: &str) -> Result<(String, Params, As)> {
    let mut words = spec.split_whitespace();
    let Some(key) = words.next() else {
        bail!("a measure needs a key: {{{{#measure matmul.ladder n=1024}}}}");
    };
    let (mut wanted, mut as_) = (Params::new(), As::ItIs);
    for word in words {
        match (word.split_once('='), word) {
            (Some((name, value)), _) => {
                wanted.insert(name.to_owned(), value.to_owned());
            }
            (None, "of-limit") => as_ = As::OfLimit,
            (None, "as-flop") => as_ = As::Flop,
            _ => bail!("`{word}` is none of `name=value`, `of-limit` and `as-flop`"),
        }
    }
    Ok((key.to_owned(), wanted, as_))
}

/// A value as a page writes it.
fn shown(value: &Value, as_: As) -> Result<String> {
    let wrong = |what: &str| anyhow!("`{}` {what}", name(&value.key, &value.params));
    let text = match as_ {
        As::ItIs => value.text(),
        As::OfLimit => {
            percent(value.of_limit().ok_or_else(|| wrong("has no limit that it is held against"))?)
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
    let _ = write!(text, "; {}", records.name);
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use lab::Samples;

    #[test]
    fn a_spec_has_a_key_parameters_and_a_flag() {
        let (key, wanted, as_) = parse("a.b n=1 rung=avx2 of-limit").unwrap();
        assert_eq!((key.as_str(), wanted.len(), as_), ("a.b", 2, As::OfLimit));
        assert_eq!(parse("a.b as-flop").unwrap().2, As::Flop);
        assert_eq!(wanted["rung"], "avx2");
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
