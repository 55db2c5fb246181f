//! Figures and tables: `{{#figure KEY}}`, `{{#table KEY}}`.

use super::{
    machine::{is_reference, source},
    quotes::{Found, Quotes, default_machine, first_reference, owner, stand_in},
};
use crate::{
    aside::QUOTE,
    html,
    markdown::{capitalised, sentences},
    page::Flavour,
    picture::{address, in_page, standalone},
};
use anyhow::{Result, anyhow};
use lab::{Drawing, Key, Records, TableData, key::Kind, record::is_below, show::table_html};
use std::fmt::Write as _;

/// What stands where no machine has been measured.
const NONE: &str = "<p class=\"unmeasured\">Not measured yet.</p>";

/// What each machine has of one thing.
type OfMachines<'a, T> = Vec<(&'a Records, Found<T>)>;

impl<'a> Quotes<'a> {
    /// A figure, by its key.
    ///
    /// # Errors
    /// If no chapter has such a figure, or drawing it fails for another reason than missing records.
    pub fn figure(self, key: &str, up: &str, flavour: Flavour) -> Result<String> {
        let found = self.drawn(key)?.ok_or_else(|| anyhow!("there is no figure `{key}`"))?;
        if flavour == Flavour::Notebook {
            return Ok(match first_reference(&found) {
                Ok((_, drawing)) => {
                    let (finding, rest) = headline(&drawing.caption);
                    format!(
                        "**{finding}**\n\n<img alt=\"{}\" width=\"600\" src=\"{}\">{}",
                        html::attribute(&drawing.alt),
                        address("image/svg+xml", standalone(&drawing.svg).as_bytes()),
                        if rest.is_empty() { rest } else { format!("\n\n*{rest}*") }
                    )
                }
                Err(why) => format!("*(figure: {why})*"),
            });
        }
        let open =
            format!("<div class=\"figure\" id=\"figure-{}\" {QUOTE}>", html::value_anchor(key));
        let none = format!("<figure>{NONE}</figure>");
        self.of_machines(open, &none, ["figure", "figure"], &found, |records, drawing| {
            let Drawing { svg, narrow, other, caption, alt } = drawing;
            let prefix = format!("{key}-{}", records.name);
            let shown = |drawing: &str| match drawing {
                "" => Ok(String::new()),
                drawing => in_page(drawing, alt, &prefix),
            };
            // First, so that the page knows of the button above before it draws what is below.
            let other = match other {
                Some([svg, narrow]) => {
                    format!("<template>{}{}</template>", shown(svg)?, shown(narrow)?)
                }
                None => String::new(),
            };
            let (finding, rest) = headline(caption);
            Ok(format!(
                "<p class=\"headline\">{}</p><div class=\"plot\">{other}{}{}</div><figcaption>{} {}</figcaption>",
                html::text(finding),
                shown(svg)?,
                shown(narrow)?,
                html::text(&rest),
                source(&self.how(key), key, records, up),
            ))
        })
    }

    /// A table, by its key.
    ///
    /// # Errors
    /// As [`Quotes::figure`].
    pub fn table(self, key: &str, up: &str, flavour: Flavour) -> Result<String> {
        let found = self.made(key)?.ok_or_else(|| anyhow!("there is no table `{key}`"))?;
        if flavour == Flavour::Notebook {
            return Ok(match first_reference(&found) {
                Ok((_, table)) => markdown_table(table),
                Err(why) => format!("*(table: {why})*"),
            });
        }
        let anchor = html::value_anchor(key);
        let open = format!("<div class=\"measured-table\" id=\"table-{anchor}\" {QUOTE}>");
        let tags = ["div class=\"table-wrapper\"", "div"];
        self.of_machines(open, NONE, tags, &found, |records, table| {
            let source = source(&self.how(key), key, records, up);
            let caption = format!("{} {source}", html::text(&table.caption));
            let cell = |cell: &str| web_link(cell).unwrap_or_else(|| html::lines(cell));
            Ok(table_html(table, &caption, cell))
        })
    }

    /// What each machine has behind `open`, or why it has not: in the first of the tags, or in the second. `none` stands where
    /// there is no machine.
    fn of_machines<T>(
        self,
        mut open: String,
        none: &str,
        [has, lacks]: [&str; 2],
        found: &[(&Records, Found<T>)],
        show: impl Fn(&Records, &T) -> Result<String>,
    ) -> Result<String> {
        if found.is_empty() {
            open.push_str(none);
        }
        let other = stand_in(found);
        let chosen = default_machine(self.records).filter(|first| is_reference(first));
        for (records, one) in found {
            let machine = self.attributes_among(records, found);
            let (tag, inside) = match one {
                Found::Yes(thing) => (has, show(records, thing)?),
                // The reader did not choose it, and what is shown names its own machine.
                Found::No(_)
                    if other.is_some() && chosen.is_some_and(|c| c.name == records.name) =>
                {
                    continue;
                }
                Found::No(why) => (lacks, why_not(records, why, other)),
            };
            let _ = write!(open, "<{tag} {machine}>{inside}</{lacks}>");
        }
        Ok(html::one_line(&(open + "</div>")))
    }

    /// Why no machine has a figure or a table, if none has; nothing if one has it or there is none to have it.
    ///
    /// # Errors
    /// As [`Quotes::figure`].
    pub fn missing(self, key: &str, table: bool) -> Result<Option<String>> {
        let found = if table { self.made(key)?.map(whys) } else { self.drawn(key)?.map(whys) };
        let Some(whys) = found else { return Ok(None) };
        // One that has it has no reason.
        let whys: Option<Vec<String>> = whys.into_iter().collect();
        Ok(whys
            .map(|whys| whys.into_iter().next().unwrap_or_else(|| "not measured yet".to_owned())))
    }

    /// How the numbers of a figure or a table came about: `Measured`, `Counted and calculated`.
    fn how(self, key: &str) -> String {
        let experiment = owner(self.chapters, key);
        let declared = experiment.map_or(&[][..], |experiment| experiment.values);
        // A figure of one of the experiment's keys, or of all of them.
        let own: Vec<&Key> = declared.iter().filter(|one| is_below(key, one.name)).collect();
        let below: Vec<&Key> = declared.iter().filter(|one| is_below(one.name, key)).collect();
        let shown = if own.iter().any(|one| experiment.is_some_and(|all| all.key != one.name)) {
            own
        } else if below.is_empty() {
            declared.iter().collect()
        } else {
            below
        };
        let mut kinds: Vec<String> = shown.iter().map(|key| key.kind.to_string()).collect();
        kinds.sort();
        kinds.dedup();
        let words = if kinds.is_empty() { Kind::Measured.to_string() } else { kinds.join(" and ") };
        capitalised(&words)
    }

    /// The figure with this key, as each machine's records draw it.
    fn drawn(self, key: &str) -> Result<Option<OfMachines<'a, Drawing>>> {
        let make = self.fences.figure(self.chapters, key);
        make.map(|draw| self.each(&format!("the figure `{key}`"), draw)).transpose()
    }

    /// The table with this key, made from each machine's records.
    fn made(self, key: &str) -> Result<Option<OfMachines<'a, TableData>>> {
        let make = self.fences.table(self.chapters, key);
        make.map(|make| self.each(&format!("the table `{key}`"), make)).transpose()
    }
}

/// The headline of a figure, which stands above it, and the rest of its caption: the first sentence, or of a long one what comes
/// before its colon.
fn headline(caption: &str) -> (&str, String) {
    const LONG: usize = 140;
    let first = sentences(caption, ".?!").first().map_or(0, |first| first.len());
    let at = match caption.find(": ") {
        Some(colon) if first > LONG => colon,
        _ => first,
    };
    let (finding, rest) = caption.split_at(at);
    (finding.trim(), capitalised(rest.trim_start_matches([':', ' '])))
}

/// Why a machine lacks a figure or a table, and whose is shown instead.
fn why_not(records: &Records, why: &str, other: Option<&Records>) -> String {
    let (class, other) = match other {
        Some(other) => ("elsewhere", format!(" Shown is that of {}.", html::text(&other.name))),
        None => ("unmeasured", String::new()),
    };
    let (name, why) = (html::text(&records.name), html::text(why));
    format!("<p class=\"{class}\">On {name}: {why}.{other}</p>")
}

/// For each machine why it lacks something; nothing for one that has it.
fn whys<T>(found: Vec<(&Records, Found<T>)>) -> Vec<Option<String>> {
    let why = |found| match found {
        Found::Yes(_) => None,
        Found::No(why) => Some(why),
    };
    found.into_iter().map(|(_, found)| why(found)).collect()
}

/// A cell that is an address is a link, named by its host: the whole is too long for a column.
fn web_link(cell: &str) -> Option<String> {
    let rest = cell.strip_prefix("https://").filter(|_| !cell.contains(char::is_whitespace))?;
    let host = rest.split('/').next()?;
    Some(format!("<a href=\"{}\">{}</a>", html::attribute(cell), html::text(host)))
}

fn markdown_table(table: &TableData) -> String {
    let row = |cells: &[String]| {
        let escaped = |cell: &String| {
            if cell.contains('\n') { html::lines(cell) } else { cell.replace('|', "\\|") }
        };
        let cells: Vec<String> = cells.iter().map(escaped).collect();
        format!("| {} |", cells.join(" | "))
    };
    let mut lines = vec![row(&table.head), "| --- ".repeat(table.head.len()) + "|"];
    lines.extend(table.rows.iter().map(|cells| row(cells)));
    lines.push(String::new());
    lines.push(format!("*{}*", table.caption));
    lines.join("\n")
}
