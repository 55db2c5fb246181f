//! What the pages cite and the terms that they use: `book/src/bibliography.md` and
//! `book/src/glossary.md`.

use crate::{html, markdown::sentences, text};
use anyhow::{Result, bail};
use std::{collections::BTreeMap, path::Path};

/// Every source, by its key, as Markdown.
pub type Bibliography = BTreeMap<String, String>;

/// Reads the sources: footnotes, `[^key]: Author (year). Title. *Where*. <address>`; lines after the first
/// belong to the same entry until a blank line. Other text is the page's own.
///
/// # Errors
/// If the file can't be read or a key is there twice.
pub fn bibliography(file: &Path) -> Result<Bibliography> {
    let mut sources = Bibliography::new();
    let text = text::read(file)?;
    let mut last: Option<String> = None;
    for (number, line) in text.lines().enumerate() {
        if let Some((key, entry)) = line.strip_prefix("[^").and_then(|rest| rest.split_once("]:")) {
            if sources.insert(key.to_owned(), entry.trim().to_owned()).is_some() {
                bail!("{}:{}: the source `{key}` is there twice", file.display(), number + 1);
            }
            last = Some(key.to_owned());
        } else if line.trim().is_empty() {
            last = None;
        } else if let Some(entry) = last.as_ref().and_then(|key| sources.get_mut(key)) {
            entry.push(' ');
            entry.push_str(line.trim());
        }
    }
    Ok(sources)
}

/// The sources' keys in the order in which a list shows them: by author, then by title.
pub fn by_author(sources: &Bibliography) -> Vec<&str> {
    let mut keys: Vec<&str> = sources.keys().map(String::as_str).collect();
    keys.sort_by_cached_key(|key| plain(&sources[*key]).replace('"', "").to_lowercase());
    keys
}

/// The glossary's page, relative to `book/src`.
pub const GLOSSARY: &str = "glossary.md";

/// The bibliography's page, relative to `book/src`.
pub const BIBLIOGRAPHY: &str = "bibliography.md";

/// A term of the glossary.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Term {
    /// As the glossary writes it.
    pub name: String,
    /// The first sentence of its definition, as plain text.
    pub short: String,
    /// Its other names, which a sentence of the definition tells: "Also called A, B or C."
    pub also: Vec<String>,
}

/// Every term, by its anchor on the glossary's page.
pub type Glossary = BTreeMap<String, Term>;

/// Reads the glossary: a definition list (`Term`, then `: what it is` on the next line).
///
/// # Errors
/// If the file can't be read or a term is there twice.
pub fn glossary(file: &Path) -> Result<Glossary> {
    let mut terms = Glossary::new();
    let text = text::read(file)?;
    let lines: Vec<&str> = text.lines().collect();
    for (at, pair) in lines.windows(2).enumerate() {
        let [name, definition] = pair else { continue };
        let Some(definition) = definition.strip_prefix(": ") else { continue };
        if name.trim().is_empty() || name.starts_with(": ") {
            continue;
        }
        let more =
            lines[at + 2..].iter().take_while(|l| l.starts_with(' ') && !l.trim().is_empty());
        let definition = more.fold(definition.to_owned(), |text, line| text + " " + line.trim());
        let plain = plain(&definition);
        let short = sentences(&plain, ".")[0].to_owned();
        let term = Term { name: name.trim().to_owned(), short, also: also_called(&plain) };
        if terms.insert(html::slug(name), term).is_some() {
            bail!("{}:{}: the term `{name}` is there twice", file.display(), at + 1);
        }
    }
    Ok(terms)
}

/// The other names of a definition's term.
fn also_called(definition: &str) -> Vec<String> {
    let Some((_, told)) = definition.split_once("lso called ") else { return Vec::new() };
    let told = told.split(". ").next().unwrap_or_default().trim_end_matches('.');
    let names = told.split(", ").flat_map(|part| part.split(" or "));
    names.filter_map(|name| name.split(" (").next()).map(str::to_owned).collect()
}

/// The text of a line of Markdown without its marks.
pub fn plain(markdown: &str) -> String {
    use pulldown_cmark::{Event, Options, Parser};
    Parser::new_ext(markdown, Options::ENABLE_MATH)
        .filter_map(|event| match event {
            Event::Text(text) | Event::Code(text) | Event::InlineMath(text) => {
                Some(text.into_string())
            }
            Event::SoftBreak | Event::HardBreak => Some(" ".to_owned()),
            _ => None,
        })
        .collect()
}
