//! The notebooks: pages that run.
//!
//! The pages of a chapter become `notebooks/NN-name.ipynb` (nbformat 4.5). A fence marked `rust,cell` is
//! a code cell; everything else is Markdown, cut at the headings. A fence marked `rust,cell,fails` is a
//! cell that shows an error on purpose, and `rust,cell,asked` one that runs only when a person asks for it: the
//! check of an exercise. What a cell printed is kept for as long as its source stays.

use crate::Page;
use anyhow::{Context, Result, anyhow, bail};
use pulldown_cmark::{CodeBlockKind, Event, HeadingLevel, Options, Parser, Tag, TagEnd};
use serde_json::{Value, json};
use std::{
    collections::{BTreeMap, HashMap, HashSet},
    fs,
    io::Write as _,
    ops::Range,
    path::{Component, Path, PathBuf},
};

/// When a code cell runs, and what is to come of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Runs {
    /// With the others, and it works.
    Along,
    /// With the others, and it shows an error on purpose.
    Fails,
    /// When a person runs it: not with the whole notebook.
    Asked,
}

impl Runs {
    /// The word of a fence, and the tag by which Jupyter knows the cell.
    const MARKS: [(Self, &str, &str); 2] =
        [(Self::Fails, "fails", "raises-exception"), (Self::Asked, "asked", "skip-execution")];

    /// What a cell with these tags does.
    fn tagged(tags: &Value) -> Self {
        let tags = tags.as_array().map_or(&[][..], Vec::as_slice);
        let mark = Self::MARKS.iter().find(|(_, _, tag)| tags.iter().any(|known| known == tag));
        mark.map_or(Self::Along, |(runs, _, _)| *runs)
    }

    /// A cell's metadata.
    fn metadata(self) -> Value {
        let mark = Self::MARKS.iter().find(|(runs, _, _)| *runs == self);
        mark.map_or_else(|| json!({}), |(_, _, tag)| json!({ "tags": [tag] }))
    }
}

/// What a cell holds.
#[derive(Clone, Debug, PartialEq)]
pub enum Kind {
    /// Text.
    Markdown,
    /// Rust, and what it printed when it last ran.
    Code {
        /// When it runs, and what is to come of it.
        runs: Runs,
        /// Its outputs as nbformat has them.
        outputs: Vec<Value>,
    },
}

/// One cell.
#[derive(Clone, Debug, PartialEq)]
pub struct Cell {
    /// Made from what the cell holds: an edit elsewhere leaves it as it is.
    pub id: String,
    /// The text or the code, without a line break at its end.
    pub source: String,
    /// What it is.
    pub kind: Kind,
}

impl Cell {
    fn markdown(source: &str) -> Self {
        Self { id: String::new(), source: source.to_owned(), kind: Kind::Markdown }
    }

    fn code(source: &str, runs: Runs) -> Self {
        let kind = Kind::Code { runs, outputs: Vec::new() };
        Self { id: String::new(), source: source.trim_matches('\n').to_owned(), kind }
    }

    /// Whether the page would make this cell: the same kind and the same source, whatever it printed.
    fn same_source(&self, other: &Self) -> bool {
        let runs = |kind: &Kind| match kind {
            Kind::Markdown => None,
            Kind::Code { runs, .. } => Some(*runs),
        };
        self.source == other.source && runs(&self.kind) == runs(&other.kind)
    }
}

/// A notebook: its cells, in order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Notebook {
    /// The cells.
    pub cells: Vec<Cell>,
}

impl Notebook {
    /// Reads a notebook file.
    ///
    /// # Errors
    /// If the file can't be read or is no notebook of nbformat 4.
    pub fn read(file: &Path) -> Result<Self> {
        let text =
            fs::read_to_string(file).with_context(|| format!("can't read {}", file.display()))?;
        Self::parse(&text).with_context(|| {
            format!(
                "{} is not a notebook; delete it and run `cargo run --release -- notebooks sync`",
                file.display()
            )
        })
    }

    /// Reads the JSON of a notebook.
    ///
    /// # Errors
    /// If it is no notebook of nbformat 4.
    pub fn parse(text: &str) -> Result<Self> {
        let json: Value = serde_json::from_str(text)?;
        let cells = json["cells"].as_array().ok_or_else(|| anyhow!("it has no list of cells"))?;
        let cells = cells
            .iter()
            .map(|cell| {
                let kind = match cell["cell_type"].as_str() {
                    Some("code") => Kind::Code {
                        runs: Runs::tagged(&cell["metadata"]["tags"]),
                        outputs: cell["outputs"].as_array().cloned().unwrap_or_default(),
                    },
                    Some("markdown") => Kind::Markdown,
                    other => bail!("it has a cell of the kind {other:?}"),
                };
                let id = cell["id"].as_str().unwrap_or_default().to_owned();
                Ok(Cell { id, source: joined(&cell["source"]), kind })
            })
            .collect::<Result<_>>()?;
        Ok(Self { cells })
    }

    /// The file's text, laid out as Jupyter itself does, so that saving it there changes nothing.
    ///
    /// # Errors
    /// None that a person can cause; writing JSON into memory may fail in principle.
    pub fn json(&self) -> Result<String> {
        let mut count = 0;
        let cells: Vec<Value> = self
            .cells
            .iter()
            .map(|cell| match &cell.kind {
                Kind::Markdown => json!({
                    "cell_type": "markdown", "id": cell.id, "metadata": {}, "source": lines(&cell.source),
                }),
                Kind::Code { runs, outputs } => {
                    count += 1;
                    let ran = if outputs.is_empty() { Value::Null } else { json!(count) };
                    json!({
                        "cell_type": "code",
                        "execution_count": ran,
                        "id": cell.id,
                        "metadata": runs.metadata(),
                        "outputs": outputs,
                        "source": lines(&cell.source),
                    })
                }
            })
            .collect();
        let notebook = json!({
            "cells": cells,
            "metadata": {
                "kernelspec": {"display_name": "Rust", "language": "rust", "name": "rust"},
                "language_info": {
                    "codemirror_mode": "rust", "file_extension": ".rs", "mimetype": "text/rust",
                    "name": "Rust", "pygment_lexer": "rust", "version": "",
                },
            },
            "nbformat": 4,
            "nbformat_minor": 5,
        });
        let mut text = Vec::new();
        let format = serde_json::ser::PrettyFormatter::with_indent(b" ");
        let mut writer = serde_json::Serializer::with_formatter(&mut text, format);
        serde::Serialize::serialize(&notebook, &mut writer)?;
        text.push(b'\n');
        Ok(String::from_utf8(text)?)
    }

    /// Takes over what `old` printed for each code cell whose source is the same. Cells that stand in
    /// several places take the outputs in order.
    pub fn keep_outputs_of(&mut self, old: &Self) {
        let mut printed: HashMap<&str, Vec<&Vec<Value>>> = HashMap::new();
        for cell in old.cells.iter().rev() {
            if let Kind::Code { outputs, .. } = &cell.kind {
                printed.entry(&cell.source).or_default().push(outputs);
            }
        }
        for cell in &mut self.cells {
            if let Kind::Code { outputs, .. } = &mut cell.kind
                && let Some(old) = printed.get_mut(cell.source.as_str()).and_then(Vec::pop)
            {
                outputs.clone_from(old);
            }
        }
    }

    /// What differs from the notebook that the page makes, leaving outputs aside: `None` if nothing does.
    pub fn differs_from(&self, page: &Self) -> Option<String> {
        let pairs = self.cells.iter().zip(&page.cells);
        if let Some(at) = pairs.clone().position(|(ours, theirs)| !ours.same_source(theirs)) {
            let line = page.cells[at].source.lines().next().unwrap_or_default();
            return Some(format!("cell {} differs from the page's `{line}`", at + 1));
        }
        let (ours, theirs) = (self.cells.len(), page.cells.len());
        if ours != theirs {
            return Some(format!("it has {ours} cells, the page makes {theirs}"));
        }
        pairs.clone().position(|(ours, theirs)| ours.id != theirs.id).map(|at| {
            format!(
                "cell {} has the id `{}`, not `{}`",
                at + 1,
                self.cells[at].id,
                page.cells[at].id
            )
        })
    }

    /// Adds a code cell at the end.
    pub fn push_code(&mut self, source: &str) {
        if !source.trim().is_empty() {
            self.cells.push(Cell::code(source, Runs::Along));
            self.number();
        }
    }

    /// The code cells.
    pub fn code_cells(&self) -> impl Iterator<Item = &Cell> {
        self.cells.iter().filter(|cell| matches!(cell.kind, Kind::Code { .. }))
    }

    /// Gives each cell an id made from what it holds.
    fn number(&mut self) {
        let mut seen: HashMap<String, usize> = HashMap::new();
        for cell in &mut self.cells {
            let kind = if cell.kind == Kind::Markdown { "text" } else { "code" };
            let id = format!("{kind}-{:08x}", hash(&cell.source));
            let times = seen.entry(id.clone()).and_modify(|times| *times += 1).or_insert(1);
            cell.id = if *times == 1 { id } else { format!("{id}-{times}") };
        }
    }
}

/// FNV-1a, folded to 32 bits: the same on every machine and in every version of Rust.
fn hash(text: &str) -> u32 {
    let hash = text.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    (hash ^ (hash >> 32)) as u32
}

/// A notebook keeps text as a string or as a list of lines.
pub(crate) fn joined(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(lines) => lines.iter().filter_map(Value::as_str).collect(),
        _ => String::new(),
    }
}

/// Text as a notebook keeps it: lines with their breaks.
pub(crate) fn lines(text: &str) -> Vec<&str> {
    text.split_inclusive('\n').collect()
}

/// A chapter's crate.
#[derive(Clone, Debug, PartialEq)]
struct Crate {
    /// The name in Rust: `matmul`.
    name: String,
    /// The folder below `chapters`: `01-matmul`.
    folder: String,
}

/// The notebooks that the pages make, by name (`01-matmul`), in the order of the pages.
///
/// # Errors
/// If a page marks a fence in a list or a quotation as a cell, or names a picture that is not there.
pub fn from_pages(root: &Path, pages: &[Page]) -> Result<Vec<(String, Notebook)>> {
    let crates = crates(root)?;
    let with_cells: HashSet<String> = pages
        .iter()
        .filter(|page| has_cells(&page.markdown))
        .filter_map(|page| folder(&page.path))
        .collect();
    let anchors: HashMap<PathBuf, HashMap<String, String>> =
        pages.iter().map(|page| (tidy(&page.path), anchors(&page.markdown))).collect();
    let site = Site { root, with_cells: &with_cells, anchors: &anchors };
    let mut notebooks: Vec<(String, Notebook)> = Vec::new();
    for page in pages {
        let Some(name) = folder(&page.path).filter(|name| with_cells.contains(name)) else {
            continue;
        };
        let cells =
            site.cells(page).with_context(|| format!("book/src/{}", page.path.display()))?;
        match notebooks.iter_mut().find(|(other, _)| *other == name) {
            Some((_, notebook)) => notebook.cells.extend(cells),
            None => notebooks.push((name, Notebook { cells })),
        }
    }
    for (name, notebook) in &mut notebooks {
        load_crates(notebook, &crates, name);
        notebook.number();
    }
    Ok(notebooks)
}

/// The folder of a page: `01-matmul` for `01-matmul/README.md`. The book's own pages have none.
fn folder(page: &Path) -> Option<String> {
    let parent = page.parent()?.to_str()?;
    (!parent.is_empty()).then(|| parent.replace(['/', '\\'], "-"))
}

/// Every chapter's crate.
fn crates(root: &Path) -> Result<Vec<Crate>> {
    let chapters = root.join("chapters");
    let entries =
        fs::read_dir(&chapters).with_context(|| format!("can't read {}", chapters.display()))?;
    let mut crates = Vec::new();
    for entry in entries {
        let entry = entry.with_context(|| format!("can't read {}", chapters.display()))?;
        if let Ok(manifest) = fs::read_to_string(entry.path().join("Cargo.toml"))
            && let Some(name) = package_name(&manifest)
        {
            let folder = entry.file_name().to_string_lossy().into_owned();
            crates.push(Crate { name: name.replace('-', "_"), folder });
        }
    }
    crates.sort_by(|a, b| a.folder.cmp(&b.folder));
    Ok(crates)
}

/// The name in a manifest's `[package]`.
pub(crate) fn package_name(manifest: &str) -> Option<String> {
    let package = manifest.split("[package]").nth(1)?;
    let package = package.split("\n[").next()?;
    package.lines().find_map(|line| {
        let (key, value) = line.split_once('=')?;
        (key.trim() == "name").then(|| value.trim().trim_matches('"').to_owned())
    })
}

/// Puts a cell that loads the crates before the first code cell, unless the page loads them itself.
fn load_crates(notebook: &mut Notebook, crates: &[Crate], name: &str) {
    let code: Vec<&str> = notebook.code_cells().map(|cell| cell.source.as_str()).collect();
    let loads = |krate: &Crate| {
        code.iter().flat_map(|source| source.lines()).any(|line| {
            line.strip_prefix(":dep ").is_some_and(|dep| {
                dep.split(['=', ' ']).next() == Some(&krate.name)
                    || dep.trim().ends_with(&krate.folder)
            })
        })
    };
    // The chapter's own crate comes last: the later ones build on the earlier ones.
    let needed: Vec<String> = crates
        .iter()
        .filter(|krate| code.iter().any(|source| names_crate(source, &krate.name)) && !loads(krate))
        .map(|krate| format!(":dep ../chapters/{}", krate.folder))
        .collect();
    if needed.is_empty() {
        return;
    }
    let words = format!(
        "> This notebook is the page [{name}](../book/src/{name}/) with its code in cells. Run a cell with \
         Shift+Enter. The next cell loads the chapter's code. The first time, that compiles it, which takes \
         a while."
    );
    let first =
        notebook.cells.iter().position(|cell| matches!(cell.kind, Kind::Code { .. })).unwrap_or(0);
    let at = first.min(1);
    notebook.cells.insert(at, Cell::code(&needed.join("\n"), Runs::Along));
    notebook.cells.insert(at, Cell::markdown(&words));
}

/// Whether `source` uses the crate: `matmul::` or `use matmul;`, not as a part of another name.
fn names_crate(source: &str, name: &str) -> bool {
    source.match_indices(name).any(|(at, _)| {
        let before = source[..at].chars().next_back();
        let starts =
            before.is_none_or(|c| !c.is_alphanumeric() && c != '_' && c != ':' && c != '.');
        let after = &source[at + name.len()..];
        starts
            && (after.starts_with("::")
                || (source[..at].ends_with("use ") && after.starts_with(';')))
    })
}

/// How the parser reads a page; it has to find the same code as mdBook does.
fn options() -> Options {
    Options::ENABLE_TABLES
        | Options::ENABLE_MATH
        | Options::ENABLE_FOOTNOTES
        | Options::ENABLE_STRIKETHROUGH
        | Options::ENABLE_HEADING_ATTRIBUTES
}

/// The words behind a fence's three backticks.
fn words(info: &str) -> impl Iterator<Item = &str> {
    info.split([',', ' ']).filter(|word| !word.is_empty())
}

/// Whether a fence is a cell, and when that cell runs.
fn cell_mark(info: &str) -> Option<Runs> {
    let cell = words(info).next() == Some("rust") && words(info).any(|word| word == "cell");
    let mark = Runs::MARKS.iter().find(|(_, mark, _)| words(info).any(|word| word == *mark));
    cell.then(|| mark.map_or(Runs::Along, |(runs, _, _)| *runs))
}

fn has_cells(markdown: &str) -> bool {
    Parser::new_ext(markdown, options()).any(|event| {
        matches!(event, Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(info))) if cell_mark(&info).is_some())
    })
}

/// A page's anchors as mdBook makes them, and the ones that Jupyter gives to the same headings.
fn anchors(markdown: &str) -> HashMap<String, String> {
    let mut anchors = HashMap::new();
    let mut times: BTreeMap<String, usize> = BTreeMap::new();
    let mut open: Option<(Option<String>, String)> = None;
    for event in Parser::new_ext(markdown, options()) {
        match event {
            Event::Start(Tag::Heading { id, .. }) => {
                open = Some((id.map(|id| id.to_string()), String::new()));
            }
            Event::Text(part) | Event::Code(part) | Event::InlineMath(part) => {
                if let Some((_, text)) = &mut open {
                    text.push_str(&part);
                }
            }
            Event::End(TagEnd::Heading(_)) => {
                if let Some((id, text)) = open.take() {
                    let jupyter = text.replace(' ', "-");
                    let slug = id.unwrap_or_else(|| {
                        let slug = crate::html::slug(&text);
                        let times = times.entry(slug.clone()).and_modify(|n| *n += 1).or_insert(0);
                        if *times == 0 { slug } else { format!("{slug}-{times}") }
                    });
                    anchors.insert(slug, jupyter);
                }
            }
            _ => {}
        }
    }
    anchors
}

/// `path` without `.` and `..` in it.
fn tidy(path: &Path) -> PathBuf {
    let mut tidied = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir if tidied.file_name().is_some() => {
                tidied.pop();
            }
            Component::CurDir => {}
            part => tidied.push(part),
        }
    }
    tidied
}

/// Whether a link leads to a page of the book.
fn is_page(path: impl AsRef<Path>) -> bool {
    path.as_ref().extension().is_some_and(|extension| extension == "md")
}

/// What a page's links lead to.
struct Site<'a> {
    root: &'a Path,
    with_cells: &'a HashSet<String>,
    anchors: &'a HashMap<PathBuf, HashMap<String, String>>,
}

/// A place where a page is cut into cells.
enum Cut {
    Heading(usize),
    Cell { range: Range<usize>, code: String, runs: Runs },
}

impl Site<'_> {
    /// A page's cells, without ids.
    fn cells(&self, page: &Page) -> Result<Vec<Cell>> {
        let text = &apart(&page.markdown)?;
        let (mut cuts, mut edits): (Vec<Cut>, Vec<(Range<usize>, String)>) =
            (Vec::new(), Vec::new());
        let (mut depth, mut in_cell) = (0_usize, false);
        for (event, range) in Parser::new_ext(text, options()).into_offset_iter() {
            match event {
                Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(info))) => {
                    if let Some(runs) = cell_mark(&info) {
                        if depth > 0 {
                            let line = text[..range.start].lines().count();
                            bail!(
                                "line {line} after its quotes: a cell can't be in a list, a quotation or a table"
                            );
                        }
                        in_cell = true;
                        cuts.push(Cut::Cell { range, code: String::new(), runs });
                    } else if let Some(language) = words(&info).next()
                        && language != &*info
                        && let Some(at) = text[range.clone()].find(&*info)
                    {
                        // Jupyter colours `rust`, and takes `rust,ignore` for a language of its own.
                        let start = range.start + at;
                        edits.push((start..start + info.len(), language.to_owned()));
                    }
                }
                Event::Text(part) if in_cell => {
                    if let Some(Cut::Cell { code, .. }) = cuts.last_mut() {
                        code.push_str(&part);
                    }
                }
                Event::End(TagEnd::CodeBlock) => in_cell = false,
                Event::Start(Tag::BlockQuote(_) | Tag::Item | Tag::TableCell) => depth += 1,
                Event::End(TagEnd::BlockQuote(_) | TagEnd::Item | TagEnd::TableCell) => depth -= 1,
                Event::Start(Tag::Heading { level, id, .. }) => {
                    if depth == 0 && matches!(level, HeadingLevel::H1 | HeadingLevel::H2) {
                        cuts.push(Cut::Heading(range.start));
                    }
                    // `{#anchor}` is mdBook's; Jupyter would show it.
                    if id.is_some()
                        && let Some(at) = text[range.clone()].rfind("{#")
                        && let Some(end) = text[range.start + at..range.end].find('}')
                    {
                        edits.push((range.start + at..range.start + at + end + 1, String::new()));
                    }
                }
                Event::Start(Tag::Link { dest_url, .. }) => {
                    Self::redirect(text, &range, &dest_url, self.link(page, &dest_url), &mut edits);
                }
                Event::Start(Tag::Image { dest_url, .. }) => {
                    Self::redirect(
                        text,
                        &range,
                        &dest_url,
                        self.picture(page, &dest_url)?,
                        &mut edits,
                    );
                }
                Event::Html(html) | Event::InlineHtml(html) => {
                    for (at, _) in html.match_indices("src=\"") {
                        let address = html[at + 5..].split('"').next().unwrap_or_default();
                        if let Some(new) = self.picture(page, address)? {
                            let start = range.start + at + 5;
                            edits.push((start..start + address.len(), new));
                        }
                    }
                }
                _ => {}
            }
        }
        edits.sort_by_key(|(range, _)| range.start);
        if edits.windows(2).any(|pair| pair[0].0.end > pair[1].0.start) {
            bail!("a link or a picture overlaps another one");
        }
        let edited = |range: Range<usize>| {
            let (mut out, mut at) = (String::new(), range.start);
            for (place, new) in &edits {
                if place.start >= at && place.end <= range.end {
                    out.push_str(&text[at..place.start]);
                    out.push_str(new);
                    at = place.end;
                }
            }
            out.push_str(&text[at..range.end]);
            out
        };
        let mut cells = Vec::new();
        let mut at = 0;
        let push = |range: Range<usize>, cells: &mut Vec<Cell>| {
            let source = edited(range);
            let source = source.trim_matches('\n').trim_end();
            if !source.trim().is_empty() {
                cells.push(Cell::markdown(source));
            }
        };
        for cut in &cuts {
            match cut {
                Cut::Heading(start) => {
                    push(at..*start, &mut cells);
                    at = *start;
                }
                Cut::Cell { range, code, runs } => {
                    push(at..range.start, &mut cells);
                    if code.trim().is_empty() {
                        bail!("a cell of the page is empty");
                    }
                    cells.push(Cell::code(code, *runs));
                    at = range.end;
                }
            }
        }
        push(at..text.len(), &mut cells);
        Ok(cells)
    }

    /// Puts `new` where `old` is the address of the link or picture in `range`.
    fn redirect(
        text: &str,
        range: &Range<usize>,
        old: &str,
        new: Option<String>,
        edits: &mut Vec<(Range<usize>, String)>,
    ) {
        let Some(new) = new else { return };
        // An inline link has its address behind its text; one with a reference has it elsewhere, and is
        // left to the page.
        if let Some(at) = text[range.clone()].rfind(&format!("]({old}")) {
            let start = range.start + at + 2;
            edits.push((start..start + old.len(), new));
        }
    }

    /// Where a link leads from a notebook, if not to where it led from the page.
    fn link(&self, page: &Page, link: &str) -> Option<String> {
        let (file, fragment) =
            link.split_once('#').map_or((link, None), |(file, f)| (file, Some(f)));
        if file.contains("://") || file.starts_with("mailto:") || file.starts_with("data:") {
            return None;
        }
        let own = tidy(&page.path);
        let below_book = Path::new(file).strip_prefix("../book/src").ok();
        let target = match below_book {
            Some(path) => tidy(path),
            None if file.is_empty() => own.clone(),
            None if Path::new(file).starts_with("..") && !is_page(file) => return None,
            None => tidy(&own.parent().unwrap_or(Path::new("")).join(file)),
        };
        let jupyter = fragment.map(|fragment| {
            let known = self.anchors.get(&target).and_then(|anchors| anchors.get(fragment));
            format!("#{}", known.map_or(fragment, String::as_str))
        });
        let jupyter = jupyter.unwrap_or_default();
        let new = match folder(&target) {
            _ if file.is_empty() => jupyter,
            Some(name) if self.with_cells.contains(&name) && is_page(&target) => {
                format!("{name}.ipynb{jupyter}")
            }
            _ => format!("../book/src/{}{jupyter}", target.to_string_lossy().replace('\\', "/")),
        };
        (new != link).then_some(new)
    }

    /// A picture of the page's own as a part of the notebook, so that the notebook can travel alone.
    fn picture(&self, page: &Page, address: &str) -> Result<Option<String>> {
        if address.is_empty() || address.contains(':') {
            return Ok(None);
        }
        let pages = self.root.join("book/src");
        let beside = pages.join(page.path.parent().unwrap_or(Path::new(""))).join(address);
        let file = match Path::new(address).strip_prefix("../book/src") {
            Ok(below) => pages.join(below),
            Err(_) => beside,
        };
        let kind = match file.extension().and_then(|extension| extension.to_str()) {
            Some("svg") => "image/svg+xml",
            Some("png") => "image/png",
            Some("jpg" | "jpeg") => "image/jpeg",
            Some("webp") => "image/webp",
            _ => bail!("the picture `{address}` is neither SVG nor PNG, JPEG or WebP"),
        };
        let bytes = fs::read(&file)
            .with_context(|| format!("can't read the picture {}", file.display()))?;
        Ok(Some(format!("data:{kind};base64,{}", crate::quote::base64(&bytes))))
    }
}

/// The look of a drawing that stands alone: paper and ink as in print, the series as in the lab's plots.
const LOOK: &str = "<style>:root{background:#fff;color:#111;font-family:system-ui,sans-serif;\
    --series-1:#0072b2;--series-2:#d55e00;--series-3:#009e73;--series-4:#c2569a;\
    --series-5:#b07c00;--series-6:#3b8fc2;--series-7:#8a6fd1;--series-8:#808080}</style>";

/// A page whose drawings are pictures. Jupyter takes `<svg>` out of Markdown for fear of scripts in it, and
/// shows a picture of the same drawing, which can't run any.
fn apart(text: &str) -> Result<String> {
    let code: Vec<Range<usize>> = Parser::new_ext(text, options())
        .into_offset_iter()
        .filter(|(event, _)| matches!(event, Event::Code(_) | Event::Start(Tag::CodeBlock(_))))
        .map(|(_, range)| range)
        .collect();
    let (mut out, mut at) = (String::with_capacity(text.len()), 0);
    while let Some(start) = text[at..].find("<svg").map(|found| at + found) {
        if let Some(code) = code.iter().find(|code| code.contains(&start)) {
            out.push_str(&text[at..code.end]);
            at = code.end;
            continue;
        }
        let end = text[start..].find("</svg>").context("a drawing has no `</svg>`")? + start + 6;
        out.push_str(&text[at..start]);
        out.push_str(&drawing(&text[start..end])?);
        at = end;
    }
    out.push_str(&text[at..]);
    Ok(out)
}

/// An `<svg>` of a page as an `<img>` that holds it.
fn drawing(svg: &str) -> Result<String> {
    let (tag, inside) = svg.split_once('>').context("a drawing has no end of its first tag")?;
    let attribute = |name: &str| {
        let (_, rest) = tag.split_once(&format!(" {name}=\""))?;
        rest.split('"').next()
    };
    // HTML knows many names of characters, and an SVG file only these.
    for (at, _) in svg.match_indices('&') {
        let name = svg[at + 1..].split(';').next().unwrap_or_default();
        if !name.starts_with('#') && !["amp", "lt", "gt", "quot", "apos"].contains(&name) {
            let name: String = name.chars().take(12).collect();
            bail!(
                "a drawing has `&{name}`, which an SVG file does not know; write the character itself"
            );
        }
    }
    let namespace =
        if tag.contains("xmlns=") { "" } else { " xmlns=\"http://www.w3.org/2000/svg\"" };
    let file = format!("{tag}{namespace}>{LOOK}{inside}");
    let width = attribute("viewBox").and_then(|view| view.split_whitespace().nth(2));
    let width = width.map_or_else(String::new, |width| format!(" width=\"{width}\""));
    let alt = attribute("aria-label").unwrap_or_default();
    Ok(format!(
        "<img alt=\"{alt}\"{width} src=\"data:image/svg+xml;base64,{}\">",
        crate::quote::base64(file.as_bytes())
    ))
}

/// What happened to a notebook.
#[derive(Clone, Debug, PartialEq)]
pub enum Change {
    /// The file is what the page makes.
    Same,
    /// The file was written, or would have to be.
    Changed(String),
    /// The file was removed, or would have to be: no page makes it.
    Leftover,
}

/// Brings `notebooks/` up to the pages. With `check`, nothing is written. Returns what changed, or would.
///
/// # Errors
/// As [`from_pages`], and if a notebook can't be read or written.
pub fn sync(root: &Path, pages: &[Page], check: bool) -> Result<Vec<(String, Change)>> {
    let folder = root.join("notebooks");
    let made = from_pages(root, pages)?;
    let mut changes = Vec::new();
    for (name, mut notebook) in made.iter().cloned() {
        let file = folder.join(format!("{name}.ipynb"));
        let change = if file.is_file() {
            let old = Notebook::read(&file)?;
            let differs = old.differs_from(&notebook);
            notebook.keep_outputs_of(&old);
            differs.map_or(Change::Same, Change::Changed)
        } else {
            Change::Changed("there is no such notebook yet".to_owned())
        };
        if !check && change != Change::Same {
            write(&file, &notebook)?;
        }
        changes.push((name, change));
    }
    for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
        let file = entry.path();
        let name =
            file.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
        if file.extension().is_some_and(|extension| extension == "ipynb")
            && name.chars().take(2).filter(char::is_ascii_digit).count() == 2
            && !made.iter().any(|(other, _)| *other == name)
        {
            if !check {
                fs::remove_file(&file)
                    .with_context(|| format!("can't remove {}", file.display()))?;
            }
            changes.push((name, Change::Leftover));
        }
    }
    Ok(changes)
}

/// Writes a notebook as a whole or not at all.
///
/// # Errors
/// If the file can't be written.
pub fn write(file: &Path, notebook: &Notebook) -> Result<()> {
    let text = notebook.json()?;
    let folder = file.parent().unwrap_or(Path::new("."));
    let wrote = || -> std::io::Result<()> {
        fs::create_dir_all(folder)?;
        let part = file.with_extension("ipynb.part");
        let mut out = fs::File::create(&part)?;
        out.write_all(text.as_bytes())?;
        out.sync_all()?;
        fs::rename(&part, file)
    };
    wrote().with_context(|| format!("can't write {}", file.display()))
}
