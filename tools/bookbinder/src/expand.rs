//! From a page's source to what mdBook or a notebook reads.
//!
//! | in the source | on the page |
//! | --- | --- |
//! | `{{#include path:anchor}}` | the quoted lines, see [`mod@crate::include`] |
//! | `{{#measure KEY p=v … [of-limit\|as-flop]}}` | a measured number |
//! | `{{#figure KEY}}`, `{{#table KEY}}` | a figure, a table |
//! | `{{#exercise CHAPTER/NAME}}` | the exercise's box |
//! | `{{#diagram FILE.svg Caption}}` | a drawing that lies beside the page, see [`diagram`] |
//! | `{{#kernel CHAPTER/FILE}}` | a kernel's source for the page's scripts, see [`kernel`] |
//! | `{{#term KEY}}`, `{{#term KEY as it reads}}` | a link to the glossary |
//! | `{{#route}}` | the chapters along a road |
//! | `{{#map needs}}`, `{{#map times}}` and more | what the chapters stand on and take, see [`map`] |
//! | `{{#index WHAT}}` | all experiments, kernels or exercises, see [`index`] |
//! | `{{#bibliography}}` | every source, with the pages that cite it; what follows it on the page are the sources |
//! | `$…$`, `$$…$$` | a formula |
//! | `[^key]` | a footnote from the bibliography |
//! | `> [!CLAIM] …` | the box of a claim that is tested |
//! | a fence `rust,cell` | code with the output that the notebook recorded |
//! | `<some-element>` … `</some-element>` | an element of the book's scripts; in a notebook only what it holds |
//!
//! A backslash before `{{#` leaves the text as it is. In code, `{{#include}}` alone is expanded.

use crate::{
    aside, cells, diagram, docs, exercise_box, html, include,
    index::{self, Mention},
    kernel, map, maths,
    quote::{Quotes, YOURS, machine_label},
    route,
    sources::{self, Bibliography, Glossary},
};
use anyhow::{Context as _, Result, anyhow, bail};
use pulldown_cmark::{CodeBlockKind, Event, LinkType, Options, Parser, Tag, TagEnd};
use std::{
    cell::RefCell,
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
    ops::Range,
    path::{Path, PathBuf},
};

/// What a page is expanded for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flavour {
    /// A page of the book: HTML where Markdown can't say it.
    Html,
    /// A notebook: Markdown, and the default reference machine's numbers.
    Notebook,
}

/// A chapter of the table of contents: title, and the page unless it is yet to be written.
#[derive(Clone, Debug)]
pub struct Entry {
    /// As `SUMMARY.md` has it.
    pub title: String,
    /// Relative to `book/src`.
    pub path: Option<PathBuf>,
}

/// What all pages share.
pub struct Shared<'a> {
    /// The repository's root.
    pub root: &'a Path,
    /// Chapters and records.
    pub quotes: Quotes<'a>,
    /// The glossary.
    pub glossary: Glossary,
    /// The bibliography.
    pub sources: Bibliography,
    /// The table of contents.
    pub entries: Vec<Entry>,
    /// Every directive of every chapter's pages.
    pub mentions: Vec<Mention>,
    /// Which pages cite a source; filled as pages are expanded.
    pub cited: BTreeMap<String, BTreeSet<PathBuf>>,
    /// Which pages use a term of the glossary, in the book's order; filled as pages are expanded.
    pub used: BTreeMap<String, Vec<PathBuf>>,
    /// The minutes that a page takes to read; filled as pages are expanded.
    pub minutes: BTreeMap<PathBuf, u64>,
    /// The crates' documentation as `cargo doc` left it, if the book shall have it.
    pub docs: Option<&'a Path>,
    /// What is made.
    pub flavour: Flavour,
}

/// The Markdown features that mdBook reads, and maths.
pub(crate) fn options() -> Options {
    Options::ENABLE_TABLES
        | Options::ENABLE_FOOTNOTES
        | Options::ENABLE_STRIKETHROUGH
        | Options::ENABLE_TASKLISTS
        | Options::ENABLE_HEADING_ATTRIBUTES
        | Options::ENABLE_DEFINITION_LIST
        | Options::ENABLE_GFM
        | Options::ENABLE_MATH
}

/// Expands the page at `path` (relative to `book/src`).
///
/// # Errors
/// If the page names something that does not exist or is wrong. The message starts with the page and,
/// where it is known, the line.
pub fn page(shared: &mut Shared, path: &Path, source: &str) -> Result<String> {
    let folder = folder(shared.root, path);
    let (terms, quoted) = Default::default();
    let one = One { shared, path, folder, terms, quoted };
    let text = one.directives(source)?;
    let text = claims(&text, one.shared.flavour);
    let text = match one.shared.flavour {
        Flavour::Html => text,
        Flavour::Notebook => without_elements(&text),
    };
    let text = one.cells(&text)?;
    let (text, cited) = one.marks(&text, source)?;
    let minutes = reading_minutes(&text);
    let text = match one.shared.flavour {
        Flavour::Html => {
            one.bar(&text, if is_read(path, source) { minutes } else { 0 })
                + &one.shared.quotes.reasons(&one.quoted.borrow())?
        }
        Flavour::Notebook => text,
    };
    let terms = one.terms.into_inner();
    for key in cited {
        shared.cited.entry(key).or_default().insert(path.to_owned());
    }
    for key in terms {
        shared.used.entry(key).or_default().push(path.to_owned());
    }
    shared.minutes.insert(path.to_owned(), minutes);
    Ok(text)
}

/// What only the whole book can say, once all pages are expanded: the list of sources, the minutes that
/// other pages take, and on the glossary where each term is introduced.
pub fn finish(shared: &Shared, path: &Path, text: &str) -> String {
    let mut text = text.replace(BIBLIOGRAPHY, &bibliography(shared));
    for (page, minutes) in &shared.minutes {
        text = text.replace(&map::minutes_mark(page), &minutes.to_string());
    }
    let chapters = shared.minutes.iter().filter(|(page, _)| of_chapter(page));
    let minutes: u64 = chapters.map(|(_, minutes)| minutes).sum();
    text = text.replace(map::HOURS_MARK, &minutes.div_ceil(60).to_string());
    if path == Path::new(sources::GLOSSARY) && shared.flavour == Flavour::Html {
        text = introduced(shared, &text);
    }
    text
}

/// The glossary with a link to the page that introduces each term: the first chapter that marks it, or else
/// the first page.
fn introduced(shared: &Shared, text: &str) -> String {
    let place = |key: &str| {
        let pages = shared.used.get(key)?;
        let page = pages.iter().find(|page| of_chapter(page)).or_else(|| pages.first())?;
        Some(format!(
            "[{}]({}#term-{key})",
            shared.title(page),
            as_index(&page.display().to_string())
        ))
    };
    let mut out = String::with_capacity(text.len());
    let mut open: Option<String> = None;
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        out.push_str(line);
        let next = lines.peek().copied().unwrap_or("");
        if next.starts_with(": ") {
            open = place(&html::slug(line));
        }
        let inside = line.starts_with(": ") || line.starts_with(' ');
        if inside
            && !next.starts_with(' ')
            && let Some(place) = open.take()
        {
            let _ = write!(out, " See {place}.");
        }
        out.push('\n');
    }
    out
}

/// Whether a page is read from top to bottom; a list is looked up.
fn is_read(path: &Path, source: &str) -> bool {
    let list =
        [sources::GLOSSARY, sources::BIBLIOGRAPHY].iter().any(|page| path == Path::new(page));
    !list && !source.contains("{{#index ")
}

/// Whether a page belongs to a chapter: chapters have a folder.
pub fn of_chapter(page: &Path) -> bool {
    page.components().count() > 1
}

impl Shared<'_> {
    /// The title that the table of contents gives a page.
    fn title(&self, page: &Path) -> String {
        let entry = self.entries.iter().find(|entry| entry.path.as_deref() == Some(page));
        entry.map_or_else(|| page.display().to_string(), |entry| entry.title.clone())
    }
}

/// Sources that no page cites.
///
/// # Errors
/// If there are any; they are listed.
pub fn all_cited(shared: &Shared) -> Result<()> {
    let unused: Vec<&str> = shared
        .sources
        .keys()
        .filter(|key| !shared.cited.contains_key(*key))
        .map(String::as_str)
        .collect();
    if unused.is_empty() {
        return Ok(());
    }
    bail!(
        "no page cites the sources {}; cite them, or take them out of book/src/bibliography.md",
        unused.join(", ")
    )
}

/// The bibliography's list: what `{{#bibliography}}` stands for, once all pages are expanded.
const BIBLIOGRAPHY: &str = "<!-- bibliography -->";

/// Every source with the pages that cite it, as Markdown.
fn bibliography(shared: &Shared) -> String {
    let mut out = String::new();
    for key in sources::by_author(&shared.sources) {
        let text = &shared.sources[key];
        let pages: Vec<String> = shared
            .cited
            .get(key)
            .into_iter()
            .flatten()
            .map(|path| {
                format!("[{}]({})", shared.title(path), as_index(&path.display().to_string()))
            })
            .collect();
        let _ = writeln!(
            out,
            "- <span id=\"source-{}\"></span>{text} Cited in {}.",
            html::value_anchor(key),
            pages.join(", ")
        );
    }
    out
}

/// The folder that includes of the page are relative to.
fn folder(root: &Path, path: &Path) -> PathBuf {
    root.join("book/src").join(path.parent().unwrap_or(Path::new("")))
}

/// mdBook makes `index.html` of `README.md`.
fn as_index(link: &str) -> String {
    link.replace("README.md", "index.md")
}

/// One page on its way.
struct One<'s, 'a> {
    shared: &'s Shared<'a>,
    path: &'s Path,
    folder: PathBuf,
    /// The terms that the page has marked so far.
    terms: RefCell<BTreeSet<String>>,
    /// The measures that the page quotes, in order: some may be missing for a reason.
    quoted: RefCell<Vec<String>>,
}

impl One<'_, '_> {
    /// The way from the page to the book's root: `../` for each folder.
    fn up(&self) -> String {
        "../".repeat(self.path.components().count().saturating_sub(1))
    }

    fn place(&self, source: &str, at: usize) -> String {
        format!("book/src/{}:{}", self.path.display(), source[..at].matches('\n').count() + 1)
    }

    /// Everything of the form `{{#name …}}`.
    fn directives(&self, source: &str) -> Result<String> {
        let code = code_ranges(source);
        let inside = |at: usize| code.iter().find(|code| code.range.contains(&at));
        let (mut out, mut at) = (String::with_capacity(source.len()), 0);
        let mut wrong = Vec::new();
        while let Some(found) = source[at..].find("{{#") {
            let start = at + found;
            if source[..start].ends_with('\\') {
                out.push_str(&source[at..start - 1]);
                out.push_str("{{#");
                at = start + 3;
                continue;
            }
            let place = || self.place(source, start);
            let length = source[start..]
                .find("}}")
                .filter(|&length| !source[start..start + length].contains('\n'))
                .with_context(|| format!("{}: `{{{{#` without `}}}}` on the same line", place()))?;
            let end = start + length + 2;
            let body = source[start + 3..end - 2].trim();
            let (name, argument) = body.split_once(char::is_whitespace).unwrap_or((body, ""));
            let argument = argument.trim();
            out.push_str(&source[at..start]);
            at = end;
            let made = match inside(start) {
                Some(code) if name == "include" => include::include(&self.folder, argument)
                    .and_then(|text| {
                        if code.fenced {
                            // What a program printed is as wide as it is.
                            let columns = if code.printed { usize::MAX } else { include::COLUMNS };
                            include::fits(&text, columns)
                                .with_context(|| format!("`{argument}`"))?;
                        }
                        Ok(indented(&text, source, start))
                    }),
                Some(_) => Ok(source[start..end].to_owned()),
                None if name == "bibliography" => {
                    out.push_str(BIBLIOGRAPHY);
                    at = source.len();
                    break;
                }
                None => self.directive(name, argument, source, start..end),
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

    fn directive(
        &self,
        name: &str,
        argument: &str,
        source: &str,
        range: Range<usize>,
    ) -> Result<String> {
        let (shared, up) = (self.shared, self.up());
        let (quotes, flavour) = (shared.quotes, shared.flavour);
        let before = source[..range.start].rsplit('\n').next().unwrap_or("");
        let after = source[range.end..].split('\n').next().unwrap_or("");
        let alone = || {
            if before.trim_matches(['>', ' ']).is_empty() && after.trim().is_empty() {
                Ok(())
            } else {
                bail!("`{{{{#{name}}}}}` stands on a line of its own")
            }
        };
        // HTML ends at a blank line; in a quote such a line would end the quote.
        let end = if before.contains('>') { "" } else { "\n" };
        match name {
            "include" => {
                Ok(indented(&include::include(&self.folder, argument)?, source, range.start))
            }
            "measure" => {
                self.quoted.borrow_mut().push(argument.to_owned());
                quotes.measure(argument, &up, flavour)
            }
            "term" => self.term(argument),
            "figure" => {
                alone()?;
                Ok(quoted(&quotes.figure(argument, &up, flavour)?, before) + end)
            }
            "table" => {
                alone()?;
                Ok(quoted(&quotes.table(argument, &up, flavour)?, before) + end)
            }
            "diagram" => {
                alone()?;
                let made = diagram::markdown(quotes, &self.folder, argument, flavour)?;
                Ok(quoted(&made, before) + end)
            }
            "kernel" => {
                alone()?;
                Ok(match flavour {
                    Flavour::Html => kernel::script(shared.root, quotes.chapters, argument)? + "\n",
                    Flavour::Notebook => String::new(),
                })
            }
            "exercise" => {
                alone()?;
                let folder = exercise_box::folder(shared.root, quotes.chapters, argument)?;
                let made = exercise_box::markdown(&folder, argument, flavour)?;
                // The exercise's own text may quote numbers and terms.
                Ok(self.directives(&made)? + "\n")
            }
            "route" => {
                alone()?;
                Ok(match flavour {
                    Flavour::Html => html::one_line(&route::svg(&shared.entries, &up)) + "\n",
                    Flavour::Notebook => route::list(&shared.entries),
                })
            }
            "map" => match argument {
                "needs" => {
                    alone()?;
                    Ok(html::one_line(&map::svg(shared.root, quotes.chapters, &up)?) + "\n")
                }
                "times" => {
                    alone()?;
                    // A chapter's note may quote numbers and terms.
                    self.directives(&map::times(shared.root, quotes.chapters, &up)?)
                }
                "hours" => Ok(map::HOURS_MARK.to_owned()),
                "practice" => Ok(map::practice(shared.root)?.to_string()),
                _ => bail!(
                    "there is no map of `{argument}`; there are `needs`, `times`, `hours` and `practice`"
                ),
            },
            "index" => {
                alone()?;
                index::list(argument, shared.root, quotes, &shared.mentions, &up)
            }
            _ => bail!("there is no directive `{{{{#{name}}}}}`"),
        }
    }

    fn term(&self, argument: &str) -> Result<String> {
        let (key, text) = argument.split_once(char::is_whitespace).unwrap_or((argument, ""));
        let term =
            self.shared.glossary.get(key).ok_or_else(|| {
                anyhow!("the glossary has no term `{key}` (book/src/glossary.md)")
            })?;
        let text =
            if text.trim().is_empty() { running(&term.name) } else { text.trim().to_owned() };
        Ok(match self.shared.flavour {
            Flavour::Notebook => text,
            Flavour::Html => format!(
                "<a class=\"term\"{} href=\"{}glossary.html#{key}\" title=\"{}\">{}</a>",
                // The glossary leads to the first one on the page.
                if self.terms.borrow_mut().insert(key.to_owned()) {
                    format!(" id=\"term-{key}\"")
                } else {
                    String::new()
                },
                self.up(),
                html::attribute(&term.short),
                html::text(&text)
            ),
        })
    }

    /// The chapter's notebook, if it has been generated: its name and what it recorded.
    fn notebook(&self) -> Result<Option<(String, cells::Recorded)>> {
        let Some(folder) = self.path.parent().filter(|folder| !folder.as_os_str().is_empty())
        else {
            return Ok(None);
        };
        let name = format!("{}.ipynb", folder.display());
        let file = self.shared.root.join("notebooks").join(&name);
        if !file.is_file() {
            return Ok(None);
        }
        Ok(Some((name, cells::read(&file)?)))
    }

    /// Puts recorded outputs under the cells.
    fn cells(&self, text: &str) -> Result<String> {
        if self.shared.flavour == Flavour::Notebook {
            return Ok(text.to_owned());
        }
        let Some((_, recorded)) = self.notebook()? else {
            return Ok(text.to_owned());
        };
        let (mut out, mut at) = (String::with_capacity(text.len()), 0);
        for code in code_ranges(text).into_iter().filter(|code| code.cell) {
            let end = code.range.end;
            out.push_str(&text[at..end]);
            at = end;
            if let Some(output) = recorded.html(&code.text) {
                let _ = write!(out, "\n\n{output}\n");
            }
        }
        out.push_str(&text[at..]);
        Ok(out)
    }

    /// Formulas, citations and links, all found by the parser so that code is left alone. Also returns
    /// the keys that are cited.
    fn marks(&self, text: &str, source: &str) -> Result<(String, Vec<String>)> {
        // A reference is one for the parser only if its definition is there.
        let mut whole = text.to_owned();
        whole.push_str("\n\n");
        for key in self.shared.sources.keys() {
            let _ = writeln!(whole, "[^{key}]: .\n");
        }
        let line_of = |needle: &str| {
            let place = source.find(needle).map(|at| self.place(source, at));
            place.unwrap_or_else(|| format!("book/src/{}", self.path.display()))
        };
        let (mut out, mut at) = (String::with_capacity(text.len()), 0);
        let mut cited: Vec<String> = Vec::new();
        let mut skip: Vec<Range<usize>> = Vec::new();
        for (event, range) in Parser::new_ext(&whole, options()).into_offset_iter() {
            if range.start >= text.len() || range.start < at {
                continue;
            }
            let new = match &event {
                Event::InlineMath(tex) | Event::DisplayMath(tex) => {
                    skip.push(range.clone());
                    if self.shared.flavour == Flavour::Notebook {
                        continue;
                    }
                    let block = matches!(event, Event::DisplayMath(_));
                    maths::mathml(tex, block).with_context(|| line_of(tex))?
                }
                Event::Code(_)
                | Event::Start(Tag::CodeBlock(_))
                | Event::Html(_)
                | Event::InlineHtml(_) => {
                    skip.push(range.clone());
                    continue;
                }
                Event::Start(Tag::FootnoteDefinition(_)) => {
                    skip.push(range.start..range.start + 2);
                    continue;
                }
                Event::FootnoteReference(key) => {
                    skip.push(range.clone());
                    if !self.shared.sources.contains_key(&**key) {
                        continue; // a footnote of the page's own
                    }
                    let number = cited.iter().position(|old| old == &**key).unwrap_or_else(|| {
                        cited.push(key.to_string());
                        cited.len() - 1
                    });
                    match self.shared.flavour {
                        Flavour::Html => continue,
                        Flavour::Notebook => format!("\\[{}\\]", number + 1),
                    }
                }
                Event::Start(Tag::Link { link_type: LinkType::Inline, dest_url, .. }) => {
                    let link = &text[range.clone()];
                    let Some(start) = link.rfind(&**dest_url) else { continue };
                    let new = self.link(dest_url);
                    if new == **dest_url {
                        continue;
                    }
                    out.push_str(&text[at..range.start + start]);
                    out.push_str(&new);
                    at = range.start + start + dest_url.len();
                    continue;
                }
                _ => continue,
            };
            out.push_str(&text[at..range.start]);
            out.push_str(&new);
            at = range.end;
        }
        out.push_str(&text[at..]);
        for (start, _) in text.match_indices("[^") {
            if !skip.iter().any(|range| range.contains(&start)) && !text[..start].ends_with('\\') {
                let key = text[start + 2..].split(']').next().unwrap_or("");
                bail!(
                    "{}: book/src/bibliography.md does not define `[^{key}]`",
                    line_of(&text[start..start + 2 + key.len()])
                );
            }
        }
        if !cited.is_empty() {
            match self.shared.flavour {
                Flavour::Html => out.push('\n'),
                Flavour::Notebook => out.push_str("\n\n## Sources\n\n"),
            }
            for (number, key) in cited.iter().enumerate() {
                let entry = &self.shared.sources[key];
                let _ = match self.shared.flavour {
                    Flavour::Html => writeln!(out, "\n[^{key}]: {entry}"),
                    Flavour::Notebook => writeln!(out, "{}. {entry}", number + 1),
                };
            }
        }
        Ok((out, cited))
    }

    /// A link as the flavour needs it.
    fn link(&self, link: &str) -> String {
        let local = !link.starts_with('#') && !link.contains("://") && !link.starts_with("mailto:");
        match self.shared.flavour {
            Flavour::Html if local => as_index(link),
            // Notebooks are in `notebooks/`, the pages in `book/src/`.
            Flavour::Notebook if local => {
                let folder = self.path.parent().unwrap_or(Path::new(""));
                let (file, fragment) =
                    link.split_once('#').map_or((link, None), |(f, a)| (f, Some(a)));
                let mut parts: Vec<String> = vec!["..".into(), "book".into(), "src".into()];
                for part in folder.join(file).components() {
                    match part {
                        std::path::Component::ParentDir => {
                            parts.pop();
                        }
                        std::path::Component::Normal(name) => {
                            parts.push(name.to_string_lossy().into());
                        }
                        _ => {}
                    }
                }
                let fragment = fragment.map_or(String::new(), |fragment| format!("#{fragment}"));
                parts.join("/") + &fragment
            }
            _ => link.to_owned(),
        }
    }

    /// Puts reading time, machine switch and notebook under the page's title.
    fn bar(&self, text: &str, minutes: u64) -> String {
        let Some(end) = title_end(text) else {
            return text.to_owned();
        };
        let mut parts = Vec::new();
        if minutes >= 2 {
            parts.push(format!("<span class=\"reading-time\">{minutes} minutes to read</span>"));
        }
        if text.contains("data-machine=") {
            let quotes = self.shared.quotes;
            let options: Vec<String> = quotes
                .records
                .iter()
                .map(|records| {
                    let label = machine_label(records).replace(';', ",");
                    format!(
                        "{}={}",
                        records.name,
                        if records.name == YOURS {
                            label.replacen("yours", "your machine", 1)
                        } else {
                            label
                        }
                    )
                })
                .collect();
            if let Some(first) = quotes.default_machine() {
                let page = PathBuf::from(as_index(&self.path.display().to_string()));
                parts.push(format!(
                    "<span class=\"machine-switch\" data-page=\"{}\" data-anchor=\"{}\" data-default=\"{}\" data-machines=\"{}\">Numbers from {}</span>",
                    html::attribute(&aside::page_name(&page)),
                    html::attribute(&quotes.records[0].name),
                    html::attribute(&first.name),
                    html::attribute(&options.join(";")),
                    html::text(&first.name)
                ));
            }
        }
        if let Ok(Some((name, _))) = self.notebook()
            && text.contains(",cell")
        {
            parts.push(format!("<a class=\"notebook-link\" href=\"{}notebooks/{name}\">Open this chapter as a notebook</a>", self.up()));
        }
        if let Some(link) = docs::link(self.shared.docs, self.shared.quotes.chapters, self.path) {
            parts.push(format!(
                "<a class=\"doc-link\" href=\"{}{link}\">The crate's documentation</a>",
                self.up()
            ));
        }
        if parts.is_empty() {
            return text.to_owned();
        }
        format!(
            "{}\n\n<div class=\"page-bar\">{}</div>\n\n{}",
            &text[..end],
            parts.join(" "),
            &text[end..]
        )
    }
}

/// A stretch of code in Markdown.
struct Code {
    range: Range<usize>,
    /// A block between fences.
    fenced: bool,
    /// A fence of what a program printed: `text`.
    printed: bool,
    /// A fence marked as a notebook's cell.
    cell: bool,
    /// The code itself, for a fence.
    text: String,
}

/// Code blocks and code spans.
fn code_ranges(text: &str) -> Vec<Code> {
    let mut all: Vec<Code> = Vec::new();
    let mut open = false;
    for (event, range) in Parser::new_ext(text, options()).into_offset_iter() {
        match event {
            Event::Code(_) => {
                all.push(Code {
                    range,
                    fenced: false,
                    printed: false,
                    cell: false,
                    text: String::new(),
                });
            }
            Event::Start(Tag::CodeBlock(kind)) => {
                open = true;
                let (fenced, printed, cell) = match kind {
                    CodeBlockKind::Fenced(info) => (true, &*info == "text", is_cell(&info)),
                    CodeBlockKind::Indented => (false, false, false),
                };
                all.push(Code { range, fenced, printed, cell, text: String::new() });
            }
            Event::Text(part) if open => {
                if let Some(code) = all.last_mut() {
                    code.text.push_str(&part);
                }
            }
            Event::End(TagEnd::CodeBlock) => open = false,
            _ => {}
        }
    }
    all
}

/// Whether a fence's info string marks a notebook's cell: `rust,cell`.
pub fn is_cell(info: &str) -> bool {
    let mut words = info.split([',', ' ']);
    words.next() == Some("rust") && words.any(|word| word == "cell")
}

/// `text` with the indentation of the directive's line before each line but the first: quotes in lists.
fn indented(text: &str, source: &str, at: usize) -> String {
    let line = source[..at].rsplit('\n').next().unwrap_or("");
    let indent: String = line.chars().take_while(|c| *c == ' ' || *c == '>').collect();
    if indent.is_empty() { text.to_owned() } else { text.replace('\n', &format!("\n{indent}")) }
}

/// A term inside a sentence: `Cache line` is written `cache line`, `FMA` stays.
fn running(name: &str) -> String {
    let word = name.split([' ', '-']).next().unwrap_or("");
    let mut letters = name.chars();
    match letters.next() {
        Some(first) if word.chars().skip(1).all(char::is_lowercase) => {
            first.to_lowercase().chain(letters).collect()
        }
        _ => name.to_owned(),
    }
}

/// `text` with what the directive's line begins with (`> `) before each line but the first.
fn quoted(text: &str, before: &str) -> String {
    text.replace('\n', &format!("\n{before}"))
}

/// The boxes: claims for both flavours, and for notebooks mdBook's own as well.
fn claims(text: &str, flavour: Flavour) -> String {
    const KINDS: [(&str, &str); 5] = [
        ("[!NOTE]", "Note"),
        ("[!TIP]", "Tip"),
        ("[!IMPORTANT]", "Important"),
        ("[!WARNING]", "Warning"),
        ("[!CAUTION]", "Caution"),
    ];
    let code = code_ranges(text);
    let (mut out, mut at) = (String::with_capacity(text.len()), 0);
    let mut lines = text.split_inclusive('\n').peekable();
    while let Some(line) = lines.next() {
        let start = at;
        at += line.len();
        let quoted = line.strip_prefix('>').map(str::trim_start);
        let in_code = code.iter().any(|code| code.range.contains(&start));
        let claim = quoted.and_then(|rest| rest.strip_prefix("[!CLAIM]")).filter(|_| !in_code);
        match (claim, flavour) {
            (Some(first), Flavour::Html) => {
                out.push_str(
                    "<div class=\"claim\" role=\"note\" aria-label=\"A claim, tested\">\n",
                );
                out.push_str("<p class=\"claim-title\">A claim, tested</p>\n\n");
                out.push_str(first.trim_start());
                // The sentence is a paragraph of its own; what follows is about it.
                if first.trim_end().ends_with(['"', '”', '.', '!', '?']) {
                    out.push('\n');
                }
                while let Some(more) = lines.peek().and_then(|line| line.strip_prefix('>')) {
                    out.push_str(more.strip_prefix(' ').unwrap_or(more));
                    at += more.len() + 1;
                    lines.next();
                }
                if !out.ends_with('\n') {
                    out.push('\n');
                }
                out.push_str("\n</div>\n");
            }
            (Some(first), Flavour::Notebook) => {
                let _ = write!(out, "> **A claim, tested.** {}", first.trim_start());
                if first.trim_end().ends_with(['"', '”', '.', '!', '?']) {
                    out.push_str(">\n");
                }
            }
            (None, Flavour::Notebook) if !in_code => {
                let kind = quoted.and_then(|rest| {
                    KINDS.iter().find_map(|(mark, name)| Some((name, rest.strip_prefix(mark)?)))
                });
                match kind {
                    Some((name, rest)) => {
                        let _ = write!(out, "> **{name}.** {}", rest.trim_start_matches(' '));
                    }
                    None => out.push_str(line),
                }
            }
            _ => out.push_str(line),
        }
    }
    out
}

/// `text` without the lines that are the tag of an element of the book's scripts (its name has a hyphen):
/// what such an element holds is there for readers without them.
fn without_elements(text: &str) -> String {
    let code = code_ranges(text);
    let (mut out, mut at) = (String::with_capacity(text.len()), 0);
    for line in text.split_inclusive('\n') {
        let start = at;
        at += line.len();
        let tag = line.trim().strip_prefix('<').and_then(|rest| rest.strip_suffix('>'));
        let name = tag.map(|tag| tag.trim_start_matches('/').split(' ').next().unwrap_or(""));
        let own = name.is_some_and(|name| {
            name.contains('-') && name.chars().all(|c| c.is_ascii_lowercase() || c == '-')
        });
        if !own
            || name.is_some_and(|name| name.starts_with('-'))
            || code.iter().any(|code| code.range.contains(&start))
        {
            out.push_str(line);
        }
    }
    out
}

/// Where the first heading ends.
fn title_end(text: &str) -> Option<usize> {
    Parser::new_ext(text, options()).into_offset_iter().find_map(|(event, range)| match event {
        Event::End(TagEnd::Heading(pulldown_cmark::HeadingLevel::H1)) => Some(range.end),
        _ => None,
    })
}

/// Minutes to read a page: 200 words of prose a minute, and two seconds for a line of code.
pub fn reading_minutes(text: &str) -> u64 {
    let (mut words, mut lines, mut code) = (0, 0, false);
    for event in Parser::new_ext(text, options()) {
        match event {
            Event::Start(Tag::CodeBlock(_)) => code = true,
            Event::End(TagEnd::CodeBlock) => code = false,
            Event::Text(part) if code => lines += part.lines().count() as u64,
            Event::Text(part) => words += part.split_whitespace().count() as u64,
            Event::Code(_) | Event::InlineMath(_) | Event::DisplayMath(_) => words += 1,
            _ => {}
        }
    }
    ((words * 60).div_ceil(200) + 2 * lines).div_ceil(60)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reading_takes_time_for_words_and_for_code() {
        assert_eq!(reading_minutes("# Title\n"), 1);
        assert_eq!(reading_minutes(&"word ".repeat(1000)), 5);
        let code = format!("```rust\n{}```\n", "let a = 1;\n".repeat(60));
        assert_eq!(reading_minutes(&code), 2);
    }

    #[test]
    fn cells_are_rust_and_marked() {
        assert!(is_cell("rust,cell") && is_cell("rust,cell,should_panic"));
        assert!(!is_cell("rust") && !is_cell("text,cell") && !is_cell("rust,cells"));
    }

    #[test]
    fn a_term_is_written_as_in_a_sentence() {
        assert_eq!(running("Cache line"), "cache line");
        assert_eq!(running("All-reduce"), "all-reduce");
        for name in ["FMA", "bf16", "MNIST", "BLAS"] {
            assert_eq!(running(name), name);
        }
    }

    #[test]
    fn in_a_notebook_an_element_is_what_it_holds() {
        let text = "<gpu-product size=\"64\">\n\nIt needs *WebGPU*.\n\n</gpu-product>\n\n<div>\n\n\
                    ```html\n<gpu-product>\n```\n\n<!-- a note -->\n";
        assert_eq!(
            without_elements(text),
            "\nIt needs *WebGPU*.\n\n\n<div>\n\n```html\n<gpu-product>\n```\n\n<!-- a note -->\n"
        );
    }

    #[test]
    fn a_claim_is_a_box_and_its_sentence_a_paragraph() {
        let text = "> [!CLAIM] \"GPUs are fast.\"\n> Are they?\n\nMore.\n";
        let page = claims(text, Flavour::Html);
        assert!(page.contains("\"GPUs are fast.\"\n\nAre they?\n\n</div>\n"), "{page}");
        assert!(page.ends_with("</div>\n\nMore.\n"), "{page}");
        let notebook = claims(text, Flavour::Notebook);
        assert!(
            notebook.starts_with("> **A claim, tested.** \"GPUs are fast.\"\n>\n> Are they?"),
            "{notebook}"
        );
        let code = "```text\n> [!CLAIM] no\n```\n";
        assert_eq!(claims(code, Flavour::Html), code);
    }
}
