//! Records on a page: numbers, figures and tables, one for each machine, and the pages that list them.

use crate::{expand::Flavour, html};
use anyhow::{Result, anyhow, bail};
use lab::{
    Chapter, Drawing, Error, Records, TableData, Unit,
    record::{Params, Run, Value, name},
    units::{operations, percent},
};
use std::fmt::Write as _;

/// The folder of the reader's own machine.
pub const YOURS: &str = "yours";

/// Whether the machine is one that the book's own numbers come from: neither the reader's nor one that was sent in.
pub fn is_reference(records: &Records) -> bool {
    !records.contributed && records.name != YOURS
}

/// What pages quote from: the chapters say which keys there are, the machines what was measured.
#[derive(Clone, Copy)]
pub struct Quotes<'a> {
    /// The chapters.
    pub chapters: &'a [Chapter],
    /// The reference machines in order, then those that readers sent in, then the reader's own.
    pub records: &'a [Records],
}

/// What stands before the reason why a value was skipped.
const SKIPPED: &str = "not measured: ";

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

/// What one machine has for a quote: the thing itself, or why not.
enum Found<T> {
    Yes(T),
    No(String),
}

impl<'a> Quotes<'a> {
    /// The machine that a page shows first: the reader's if it was measured, else the first reference.
    pub fn default_machine(self) -> Option<&'a Records> {
        self.records.iter().find(|records| records.name == YOURS).or_else(|| self.records.first())
    }

    /// A number: `KEY p=v … [of-limit|as-flop]`. `up` leads from the page to the book's root (`../`).
    ///
    /// # Errors
    /// If no experiment declares the key, or the parameters name no value or several.
    pub fn measure(self, spec: &str, up: &str, flavour: Flavour) -> Result<String> {
        let (key, wanted, as_) = parse(spec)?;
        if !self.declared(&key) {
            bail!("no experiment declares the value `{key}`");
        }
        let what = name(&key, &wanted);
        let found = self.each(|records| records.find_params(&key, &wanted))?;
        let shown = |value: &Value| shown(value, as_);
        if flavour == Flavour::Notebook {
            return match found.iter().find(|(records, _)| is_reference(records)) {
                None => Ok("(not measured yet)".to_owned()),
                Some((first, _)) => {
                    let best = found.iter().find(|(records, found)| {
                        is_reference(records) && matches!(found, Found::Yes(_))
                    });
                    match best {
                        Some((records, Found::Yes(value))) if records.name == first.name => {
                            shown(value)
                        }
                        Some((records, Found::Yes(value))) => {
                            Ok(format!("{} ({})", shown(value)?, records.name))
                        }
                        _ => match &found[0].1 {
                            Found::No(_) => Ok("(not measured yet)".to_owned()),
                            Found::Yes(value) => shown(value),
                        },
                    }
                }
            };
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
                        html::attribute(&tooltip(value, records, as_)?),
                        if as_ == As::OfLimit {
                            value.of_limit().unwrap_or(f64::NAN)
                        } else {
                            value.median
                        },
                        html::text(&shown(value)?),
                    );
                }
                // In a sentence the reason would bury it: a link as a measured number is one, to where the
                // reason stands.
                Found::No(why) => {
                    let _ = write!(
                        out,
                        "<a class=\"unmeasured\" {machine} href=\"{up}{}\" title=\"{}\">not measured \
                         yet</a>",
                        run_place(&key, records),
                        html::attribute(&format!("{what} on {}: {why}", records.name))
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
        let (key, wanted, as_) = parse(spec)?;
        if !self.declared(&key) {
            bail!("no experiment declares the value `{key}`");
        }
        let mut out = String::new();
        for (records, found) in self.each(|records| records.find_params(&key, &wanted))? {
            let Found::Yes(value) = found else { continue };
            let text = html::text(&shown(value, as_)?);
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
            let (key, wanted, _) = parse(spec)?;
            for (records, found) in self.each(|records| records.find_params(&key, &wanted))? {
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

    /// A figure, by its key.
    ///
    /// # Errors
    /// If no chapter has such a figure, or drawing it fails for another reason than missing records.
    pub fn figure(self, key: &str, up: &str, flavour: Flavour) -> Result<String> {
        let figure = self
            .chapters
            .iter()
            .flat_map(|chapter| &chapter.figures)
            .find(|figure| figure.key == key)
            .ok_or_else(|| anyhow!("no chapter has the figure `{key}`"))?;
        let found = self.each(|records| (figure.draw)(records))?;
        if flavour == Flavour::Notebook {
            return Ok(match first_reference(&found) {
                Ok((_, drawing)) => format!(
                    "<img alt=\"{}\" width=\"600\" src=\"data:image/svg+xml;base64,{}\">\n\n*{}*",
                    html::attribute(&drawing.alt),
                    base64(standalone(&drawing.svg).as_bytes()),
                    drawing.caption
                ),
                Err(why) => format!("*(figure: {why})*"),
            });
        }
        let mut out = format!("<div class=\"figure\" id=\"figure-{}\">", html::value_anchor(key));
        if found.is_empty() {
            out.push_str("<figure><p class=\"unmeasured\">Not measured yet.</p></figure>");
        }
        for (records, found) in &found {
            let machine = self.machine_attributes(records);
            match found {
                Found::Yes(Drawing { svg, caption, alt }) => {
                    let _ = write!(
                        out,
                        "<figure {machine}><div class=\"plot\">{}</div><figcaption>{} {}</figcaption>\
                         </figure>",
                        in_page(svg, alt, &format!("{key}-{}", records.name))?,
                        html::text(caption),
                        source(key, records, up),
                    );
                }
                Found::No(why) => {
                    let _ = write!(
                        out,
                        "<figure {machine}><p class=\"unmeasured\">On {}: {}.</p></figure>",
                        html::text(&records.name),
                        html::text(why)
                    );
                }
            }
        }
        out.push_str("</div>");
        Ok(html::one_line(&out))
    }

    /// A table, by its key.
    ///
    /// # Errors
    /// As [`Quotes::figure`].
    pub fn table(self, key: &str, up: &str, flavour: Flavour) -> Result<String> {
        let table = self
            .chapters
            .iter()
            .flat_map(|chapter| &chapter.tables)
            .find(|table| table.key == key)
            .ok_or_else(|| anyhow!("no chapter has the table `{key}`"))?;
        let found = self.each(|records| (table.make)(records))?;
        if flavour == Flavour::Notebook {
            return Ok(match first_reference(&found) {
                Ok((_, table)) => markdown_table(table),
                Err(why) => format!("*(table: {why})*"),
            });
        }
        let mut out =
            format!("<div class=\"measured-table\" id=\"table-{}\">", html::value_anchor(key));
        if found.is_empty() {
            out.push_str("<p class=\"unmeasured\">Not measured yet.</p>");
        }
        for (records, found) in &found {
            let machine = self.machine_attributes(records);
            match found {
                Found::Yes(table) => {
                    let _ = write!(
                        out,
                        "<div class=\"table-wrapper\" {machine}>{}</div>",
                        html_table(table, &source(key, records, up))
                    );
                }
                Found::No(why) => {
                    let _ = write!(
                        out,
                        "<p class=\"unmeasured\" {machine}>On {}: {}.</p>",
                        html::text(&records.name),
                        html::text(why)
                    );
                }
            }
        }
        out.push_str("</div>");
        Ok(html::one_line(&out))
    }

    /// Why no machine has a figure or a table, if none has; nothing if one has it or there is none to have it.
    ///
    /// # Errors
    /// As [`Quotes::figure`].
    pub fn missing(self, key: &str, table: bool) -> Result<Option<String>> {
        let all = self.chapters.iter();
        let found = if table {
            let all = all.flat_map(|chapter| &chapter.tables).find(|table| table.key == key);
            all.map(|table| self.each(|records| (table.make)(records).map(|_| ())))
        } else {
            let all = all.flat_map(|chapter| &chapter.figures).find(|figure| figure.key == key);
            all.map(|figure| self.each(|records| (figure.draw)(records).map(|_| ())))
        };
        let Some(found) = found.transpose()? else { return Ok(None) };
        let mut why = "not measured yet".to_owned();
        for (_, found) in found.into_iter().rev() {
            match found {
                Found::Yes(()) => return Ok(None),
                Found::No(reason) => why = reason,
            }
        }
        Ok(Some(why))
    }

    /// Whether an experiment declares a value with this key.
    fn declared(self, key: &str) -> bool {
        let experiments = self.chapters.iter().flat_map(|chapter| &chapter.experiments);
        experiments.into_iter().any(|experiment| experiment.values.contains(&key))
    }

    /// What each machine has. A key that is wrong stops the build, unless another machine has the value:
    /// machines differ in the sizes and devices that they measure. The reader's own never stops it, nor one that was
    /// sent in: it may be older than the page.
    fn each<T>(
        self,
        find: impl Fn(&'a Records) -> lab::Result<T>,
    ) -> Result<Vec<(&'a Records, Found<T>)>> {
        let (mut all, mut wrong, mut any) = (Vec::new(), None, false);
        for records in self.records {
            let found = match find(records) {
                Ok(value) => {
                    any = true;
                    Found::Yes(value)
                }
                Err(Error::Skipped { why, .. }) => Found::No(format!("{SKIPPED}{why}")),
                Err(Error::NotMeasured { .. }) => Found::No("not measured yet".to_owned()),
                Err(_) if !is_reference(records) => Found::No("not measured yet".to_owned()),
                Err(Error::Key(why)) => {
                    wrong.get_or_insert(why);
                    Found::No("not measured here".to_owned())
                }
                Err(other) => return Err(anyhow!(other).context(format!("on {}", records.name))),
            };
            all.push((records, found));
        }
        match wrong {
            Some(why) if !any || why.contains(" names ") => bail!(why),
            _ => Ok(all),
        }
    }

    /// The attributes that the machine switch works with. What is not the default machine's is hidden, so
    /// that a page without its script shows one machine.
    fn machine_attributes(self, records: &Records) -> String {
        let default = self.default_machine().is_some_and(|first| first.name == records.name);
        let hidden = if default { "" } else { " hidden" };
        format!("data-machine=\"{}\"{hidden}", html::attribute(&records.name))
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

/// The folder of a chapter under `chapters` and under `book/src`: `01-matmul`.
pub fn folder(chapter: &Chapter) -> String {
    format!("{:02}-{}", chapter.number, chapter.name.replace('_', "-"))
}

/// The machine in a few words: `epyc-2core (AMD EPYC 7R13, 2 cores)`.
/// The machine in a few words: `epyc-2core (AMD EPYC 7R13, 2 cores)`, and whether a reader sent it in.
pub fn machine_label(records: &Records) -> String {
    let machine = &records.machine;
    let mut parts: Vec<String> = machine.gpus.clone();
    if parts.is_empty() {
        parts.push(machine.cpu.clone());
        parts.push(format!("{} cores", machine.cores));
    }
    let from = if records.contributed { ", contributed by a reader" } else { "" };
    format!("{} ({}{from})", records.name, parts.join(", "))
}

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
    let _ = write!(text, "; {}", machine_label(records));
    Ok(text)
}

/// The page that lists a machine's records, from the book's root.
pub(crate) fn records_page(machine: &str) -> String {
    format!("records/{machine}.html")
}

/// Where on that page a run is.
pub(crate) fn run_anchor(run: &Run) -> String {
    format!("#run-{}", html::value_anchor(&run.experiment))
}

/// The run that a key's values come from, on its machine's page.
fn run_place(key: &str, records: &Records) -> String {
    let page = records_page(&records.name);
    records.run_of(key).map_or(page.clone(), |run| page.clone() + &run_anchor(run))
}

/// The link under a figure or a table.
fn source(key: &str, records: &Records, up: &str) -> String {
    format!(
        "<a class=\"source\" href=\"{up}{}\">Measured on {}</a>",
        run_place(key, records),
        html::text(&records.name)
    )
}

/// What the first reference machine has, or the next one that has it, or why none does.
fn first_reference<'f, T>(found: &'f [(&Records, Found<T>)]) -> Result<(&'f str, &'f T), String> {
    let reference = || found.iter().filter(|(records, _)| is_reference(records));
    reference()
        .find_map(|(records, found)| match found {
            Found::Yes(thing) => Some((records.name.as_str(), thing)),
            Found::No(_) => None,
        })
        .ok_or_else(|| {
            reference()
                .find_map(|(_, found)| match found {
                    Found::No(why) => Some(why.clone()),
                    Found::Yes(_) => None,
                })
                .unwrap_or_else(|| "not measured yet".to_owned())
        })
}

/// A drawn SVG as a part of a page: named for those who can't see it, its ids unlike any other's.
pub(crate) fn in_page(svg: &str, alt: &str, prefix: &str) -> Result<String> {
    let start = svg.find("<svg").ok_or_else(|| anyhow!("the figure is not an SVG"))?;
    let prefix = html::value_anchor(prefix);
    let svg = svg[start + 4..]
        .replace(" id=\"", &format!(" id=\"{prefix}-"))
        .replace("url(#", &format!("url(#{prefix}-"))
        .replace("href=\"#", &format!("href=\"#{prefix}-"));
    Ok(format!("<svg role=\"img\" aria-label=\"{}\"{svg}", html::attribute(alt)))
}

/// A drawn SVG that stands alone in a notebook, where the page's colours are not known.
fn standalone(svg: &str) -> String {
    let namespace =
        if svg.contains("xmlns=") { "" } else { " xmlns=\"http://www.w3.org/2000/svg\"" };
    svg.replacen("<svg", &format!("<svg{namespace} style=\"background:#fff;color:#111\""), 1)
}

fn html_table(table: &TableData, source: &str) -> String {
    let mut out =
        format!("<table><caption>{} {source}</caption><thead><tr>", html::text(&table.caption));
    for head in &table.head {
        let _ = write!(out, "<th scope=\"col\">{}</th>", html::text(head));
    }
    out.push_str("</tr></thead><tbody>");
    for row in &table.rows {
        out.push_str("<tr>");
        for (at, cell) in row.iter().enumerate() {
            let cell = html::text(cell);
            let _ = match at {
                0 => write!(out, "<th scope=\"row\">{cell}</th>"),
                _ => write!(out, "<td>{cell}</td>"),
            };
        }
        out.push_str("</tr>");
    }
    out.push_str("</tbody></table>");
    out
}

fn markdown_table(table: &TableData) -> String {
    let row = |cells: &[String]| {
        let cells: Vec<String> = cells.iter().map(|cell| cell.replace('|', "\\|")).collect();
        format!("| {} |", cells.join(" | "))
    };
    let mut lines = vec![row(&table.head), "| --- ".repeat(table.head.len()) + "|"];
    lines.extend(table.rows.iter().map(|cells| row(cells)));
    lines.push(String::new());
    lines.push(format!("*{}*", table.caption));
    lines.join("\n")
}

/// Base64 (RFC 4648, section 4), for pictures inside a notebook.
pub(crate) fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let group = chunk.iter().fold(0u32, |group, &byte| group << 8 | u32::from(byte))
            << (8 * (3 - chunk.len()));
        for at in 0..4 {
            let digit = (group >> (18 - 6 * at)) & 63;
            out.push(if at > chunk.len() { '=' } else { char::from(DIGITS[digit as usize]) });
        }
    }
    out
}

/// The page of one machine: what it is, and every run with its values. Markdown.
pub fn machine_page(records: &Records) -> String {
    let machine = &records.machine;
    let mut out = format!("# Records of {}\n\n", records.name);
    if records.contributed {
        out.push_str(
            "A reader measured these numbers and sent them in. They passed the checks of `measure --receive`; nobody \
             has measured them again.\n\n",
        );
    }
    let none = || "none".to_owned();
    let facts = [
        ("CPU", machine.cpu.clone()),
        ("Cores", machine.cores.to_string()),
        ("Instruction sets", machine.features.join(", ")),
        ("Memory", Unit::Bytes.format(machine.memory as f64)),
        ("GPU", if machine.gpus.is_empty() { none() } else { machine.gpus.join(", ") }),
        ("Driver", machine.driver.clone().unwrap_or_else(none)),
        ("CUDA toolkit", machine.cuda.clone().unwrap_or_else(none)),
        ("System", machine.os.clone()),
    ];
    out.push_str("<div class=\"table-wrapper\"><table><tbody>");
    for (what, value) in facts {
        let value = if value.is_empty() { none() } else { value };
        let _ =
            write!(out, "<tr><th scope=\"row\">{what}</th><td>{}</td></tr>", html::text(&value));
    }
    out.push_str("</tbody></table></div>\n\n");
    for (chapter, record) in &records.chapters {
        let _ = write!(
            out,
            "## {chapter}\n\nThe file: <a href=\"{}/{chapter}.json\">{chapter}.json</a>, with the \
             samples.\n\n",
            records.name
        );
        for run in &record.runs {
            let _ = write!(
                out,
                "### {} {{#run-{}}}\n\nRun on {} at commit <code>{}</code>, budget {}, with \
                 <code>{}</code>, {}. To repeat it: <code>{}</code>\n\n",
                html::text(&run.experiment),
                html::value_anchor(&run.experiment),
                html::text(&run.date),
                html::text(&run.commit),
                html::text(&run.budget),
                html::text(&run.rustc),
                html::text(&run.flags),
                html::text(&run.command)
            );
            out.push_str(
                "<div class=\"table-wrapper\"><table class=\"values\"><thead><tr><th \
                 scope=\"col\">Value</th><th scope=\"col\">Median</th><th scope=\"col\">Half of the \
                 samples lie between</th><th scope=\"col\">Samples</th><th scope=\"col\">Of its \
                 limit</th></tr></thead><tbody>",
            );
            for value in &run.values {
                let what = name(&value.key, &value.params);
                let limit = match (&value.limit, value.of_limit()) {
                    (Some(limit), Some(share)) => format!("{} of {}", percent(share), limit.name),
                    _ => String::new(),
                };
                let _ = write!(
                    out,
                    "<tr id=\"{}\"><th scope=\"row\">{}</th><td>{}</td><td>{} and {}</td><td>{}</td>\
                     <td>{}</td></tr>",
                    html::value_anchor(&what),
                    html::text(&what),
                    html::text(&value.text()),
                    html::text(&value.unit.format(value.low)),
                    html::text(&value.unit.format(value.high)),
                    value.count(),
                    html::text(&limit),
                );
            }
            for skipped in &run.skipped {
                let _ = write!(
                    out,
                    "<tr><th scope=\"row\">{}</th><td colspan=\"4\">not measured: {}</td></tr>",
                    html::text(&name(&skipped.key, &skipped.params)),
                    html::text(&skipped.why),
                );
            }
            out.push_str("</tbody></table></div>\n\n");
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use lab::Samples;

    #[test]
    fn base64_is_that_of_the_rfc() {
        for (plain, coded) in [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foobar", "Zm9vYmFy")] {
            assert_eq!(base64(plain.as_bytes()), coded);
        }
    }

    #[test]
    fn a_spec_has_a_key_parameters_and_a_flag() {
        let (key, wanted, as_) = parse("a.b n=1 rung=avx2 of-limit").unwrap();
        assert_eq!((key.as_str(), wanted.len(), as_), ("a.b", 2, As::OfLimit));
        assert_eq!(parse("a.b as-flop").unwrap().2, As::Flop);
        assert_eq!(wanted["rung"], "avx2");
        assert!(parse("").is_err() && parse("a.b of-limits").is_err());
    }

    #[test]
    fn ids_in_a_picture_are_its_own() {
        let svg = "<svg viewBox=\"0 0 1 1\"><clipPath id=\"c\"/><g clip-path=\"url(#c)\"/></svg>";
        let made = in_page(svg, "a \"b\"", "k.x-m").unwrap();
        assert!(made.contains("id=\"k-x-m-c\"") && made.contains("url(#k-x-m-c)"), "{made}");
        assert!(made.contains("aria-label=\"a &quot;b&quot;\""), "{made}");
        assert!(in_page("no picture", "", "").is_err());
    }

    #[test]
    fn operations_are_written_with_a_prefix_and_nothing_else_is() {
        let value = |unit| Value::new("a.b", &[], unit, Samples(vec![30_940_528_640.0]));
        let flop = |unit| shown(&value(unit), As::Flop);
        assert_eq!(flop(Unit::Count).unwrap(), "30.9\u{a0}GFLOP");
        assert!(flop(Unit::Seconds).unwrap_err().to_string().contains("no count of operations"));
    }
}
