//! What only the whole book determines, once all pages are expanded.

use super::shared::Shared;
use crate::{
    directive::map,
    html,
    page::{Flavour, as_index, of_chapter},
    sources,
};
use anyhow::{Result, bail};
use std::{fmt::Write as _, path::Path};

/// The list of sources, the minutes that other pages take, and on the glossary where each term is introduced.
pub fn finish(shared: &Shared, path: &Path, text: &str) -> String {
    let text = text.replace(BIBLIOGRAPHY, &bibliography(shared));
    let minutes = |names: &str| {
        let named = |page: &Path| names.split_whitespace().any(|name| page.starts_with(name));
        shared.minutes.iter().filter(|(page, _)| named(page)).map(|(_, all)| all).sum()
    };
    let mut text = map::with_minutes(&text, minutes).unwrap_or(text);
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
        let (title, page) = shared.introduces(key)?;
        Some(format!("[{title}]({page})"))
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

/// The bibliography's list: the expansion of `{{#bibliography}}`, once all pages are expanded.
pub(super) const BIBLIOGRAPHY: &str = "<!-- bibliography -->";

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
