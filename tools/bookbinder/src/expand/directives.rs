//! Everything of the form `{{#name …}}`.

use super::{finish::BIBLIOGRAPHY, outputs, shared::OnPage};
use crate::{
    directive::{diagram, exercise, index, kernel, map, sections, term},
    html, include,
    markdown::{Code, code_ranges, sentences, without_directives},
    page::Flavour,
    quote::{Quotes, machine::is_reference},
};
use anyhow::{Context as _, Result, bail};
use lab::Records;
use std::{cell::RefCell, collections::BTreeSet, ops::Range};

/// What is on a line of its own, as `{{#map times}}` is.
const BLOCKS: [&str; 7] = ["figure", "table", "diagram", "kernel", "exercise", "sections", "index"];

/// A page without directives, and what these name.
pub(super) struct Expanded {
    /// The page.
    pub text: String,
    /// The terms that it marks.
    pub terms: BTreeSet<String>,
    /// The measures that it quotes, in order: some may be missing for a reason.
    pub measures: Vec<String>,
}

/// Expands the directives of a page.
pub(super) fn expand(page: OnPage, source: &str) -> Result<Expanded> {
    let walk = Walk { page, terms: RefCell::default(), measures: RefCell::default() };
    let text = walk.all(source)?;
    Ok(Expanded { text, terms: walk.terms.into_inner(), measures: walk.measures.into_inner() })
}

/// The way through a page's directives.
struct Walk<'s, 'a> {
    page: OnPage<'s, 'a>,
    terms: RefCell<BTreeSet<String>>,
    measures: RefCell<Vec<String>>,
}

/// A directive and its location.
struct Found<'t> {
    name: &'t str,
    argument: &'t str,
    /// The text around it.
    source: &'t str,
    range: Range<usize>,
}

impl<'t> Found<'t> {
    /// The directive at `start`, if it ends on its line.
    fn at(source: &'t str, start: usize) -> Option<Self> {
        let length = source[start..].find("}}")?;
        let range = start..start + length + 2;
        let body = source[start + 3..range.end - 2].trim();
        let (name, argument) = body.split_once(char::is_whitespace).unwrap_or((body, ""));
        let one_line = !source[range.clone()].contains('\n');
        one_line.then(|| Self { name, argument: argument.trim(), source, range })
    }

    /// What its line begins with.
    fn before(&self) -> &'t str {
        self.source[..self.range.start].rsplit('\n').next().unwrap_or("")
    }

    /// That nothing else is on its line.
    fn alone(&self) -> Result<()> {
        let after = self.source[self.range.end..].split('\n').next().unwrap_or("");
        if self.before().trim_matches(['>', ' ']).is_empty() && after.trim().is_empty() {
            return Ok(());
        }
        bail!("`{{{{#{}}}}}` must be on a line of its own", self.name)
    }

    /// That a number in a sentence that names a machine is that machine's.
    fn pinned(&self, quotes: Quotes) -> Result<()> {
        if self.argument.contains('@') {
            return Ok(());
        }
        let start = self.source[..self.range.start].rfind("\n\n").map_or(0, |at| at + 2);
        let paragraph = self.source[start..].split("\n\n").next().unwrap_or_default();
        let mut end = start;
        let sentence = sentences(paragraph, ".?!").into_iter().find(|sentence| {
            end += sentence.len();
            end > self.range.start
        });
        let words = without_directives(sentence.unwrap_or_default(), ' ');
        let names =
            |records: &&Records| is_reference(records) && words.contains(records.name.as_str());
        match quotes.records.iter().find(names) {
            Some(records) => bail!(
                "the sentence names {0}, and the number is any machine's; write `{{{{#measure {1} @{0}}}}}`",
                records.name,
                self.argument
            ),
            None => Ok(()),
        }
    }

    /// HTML in its place. It ends at a blank line; in a quote such a line would end the quote.
    fn block(&self, made: &str) -> String {
        let before = self.before();
        let end = if before.contains('>') { "" } else { "\n" };
        made.replace('\n', &format!("\n{before}")) + end
    }

    /// Quoted text in its place: each line but the first gets the indentation of the directive's line.
    fn indented(&self, text: &str) -> String {
        let indent: String = self.before().chars().take_while(|c| *c == ' ' || *c == '>').collect();
        if indent.is_empty() { text.to_owned() } else { text.replace('\n', &format!("\n{indent}")) }
    }
}

impl Walk<'_, '_> {
    /// `source` without directives.
    fn all(&self, source: &str) -> Result<String> {
        let code = code_ranges(source);
        let (mut out, mut at) = (String::with_capacity(source.len()), 0);
        let mut wrong = Vec::new();
        while let Some(start) = source[at..].find("{{#").map(|found| at + found) {
            if source[..start].ends_with('\\') {
                out.push_str(&source[at..start - 1]);
                out.push_str("{{#");
                at = start + 3;
                continue;
            }
            let place = || self.page.place(source, start);
            let found = Found::at(source, start)
                .with_context(|| format!("{}: `{{{{#` without `}}}}` on the same line", place()))?;
            out.push_str(&source[at..start]);
            at = found.range.end;
            let made = match code.iter().find(|code| code.range.contains(&start)) {
                Some(code) if found.name == "include" => self.quoted_code(&found, code),
                Some(_) => Ok(source[found.range.clone()].to_owned()),
                // What follows are the sources themselves.
                None if found.name == "bibliography" => {
                    at = source.len();
                    Ok(BIBLIOGRAPHY.to_owned())
                }
                None if found.name == "verdict" => self.verdict(&found, &out),
                None => self.one(&found),
            };
            match made {
                Ok(made) => out.push_str(&made),
                Err(error) => wrong.push(format!("{}: {error:#}", place())),
            }
        }
        if !wrong.is_empty() {
            bail!(wrong.join("\n"));
        }
        out.push_str(&source[at..]);
        Ok(out)
    }

    /// Lines of a file inside code.
    fn quoted_code(&self, found: &Found, code: &Code) -> Result<String> {
        let text = include::include(&self.page.folder(), found.argument)?;
        if code.fenced {
            // What a program printed is as wide as it is.
            let columns = if code.printed { usize::MAX } else { include::COLUMNS };
            include::fits(&text, columns).with_context(|| format!("`{}`", found.argument))?;
        }
        Ok(found.indented(&text))
    }

    /// A measured number.
    fn number(&self, found: &Found) -> Result<String> {
        let (quotes, flavour) = (self.page.shared.quotes, self.page.shared.flavour);
        found.pinned(quotes)?;
        let (spec, asked) = found.argument.split_once(" ask: ").unwrap_or((found.argument, ""));
        self.measures.borrow_mut().push(spec.to_owned());
        let made = quotes.measure(spec, &self.page.up(), flavour)?;
        Ok(match flavour {
            // The theme's script may ask the reader for this number before it shows the paragraph.
            Flavour::Html if !asked.is_empty() => {
                format!("<span data-ask=\"{}\">{made}</span>", html::attribute(asked))
            }
            _ => made,
        })
    }

    /// A verdict, below what the page has become so far.
    fn verdict(&self, found: &Found, above: &str) -> Result<String> {
        let (said, rule) = found.argument.split_once(' ').unwrap_or_default();
        if !["✔", "✗", "○"].contains(&said) {
            bail!("a verdict is `{{{{#verdict ✔ RULE}}}}`, or ✗, or ○");
        }
        let Some(rule) = outputs::with_printed(self.page, above, rule)? else {
            return Ok(said.to_owned());
        };
        self.page.shared.quotes.verdict(said, &rule, &self.page.up(), self.page.shared.flavour)
    }

    /// What one directive becomes.
    fn one(&self, found: &Found) -> Result<String> {
        let (shared, up) = (self.page.shared, self.page.up());
        let (root, quotes, flavour) = (shared.root, shared.quotes, shared.flavour);
        let argument = found.argument;
        if BLOCKS.contains(&found.name) || (found.name, argument) == ("map", "times") {
            found.alone()?;
        }
        Ok(match found.name {
            // What pages share may quote numbers and terms.
            "include" => {
                found.indented(&self.all(&include::include(&self.page.folder(), argument)?)?)
            }
            "measure" => self.number(found)?,
            "term" => {
                let first = self.terms.borrow_mut().insert(term::parts(argument).0.to_owned());
                term::link(&shared.glossary, argument, &up, flavour, first)?
            }
            "figure" => found.block(&quotes.figure(argument, &up, flavour)?),
            "table" => found.block(&quotes.table(argument, &up, flavour)?),
            "diagram" => {
                let folder = self.page.folder();
                found.block(&diagram::markdown(quotes, &folder, argument, flavour)?)
            }
            "kernel" => match flavour {
                Flavour::Html => kernel::script(root, quotes.chapters, argument)? + "\n",
                Flavour::Notebook => String::new(),
            },
            "exercise" => {
                let folder = exercise::folder(root, quotes.chapters, argument)?;
                let made = exercise::markdown(&folder, argument, flavour)?;
                // The exercise's own text may quote numbers and terms.
                self.all(&made)? + "\n"
            }
            // A section's first sentence may quote numbers and terms.
            "sections" => self.all(&sections::list(root, &shared.entries, self.page.path)?)?,
            "minutes" => {
                shared.known(argument)?;
                map::minutes_mark(argument)
            }
            "map" => match argument {
                // A chapter's note may quote numbers and terms.
                "times" => self.all(&map::times(root, quotes.chapters, &up)?)?,
                "hours" => map::HOURS_MARK.to_owned(),
                "practice" => map::practice(root)?.to_string(),
                _ => bail!(
                    "there is no map of `{argument}`; there are `times`, `hours` and `practice`"
                ),
            },
            // A claim may quote numbers and terms.
            "index" => self.all(&index::list(argument, root, quotes, &shared.mentions, &up)?)?,
            name => bail!("there is no directive `{{{{#{name}}}}}`"),
        })
    }
}
