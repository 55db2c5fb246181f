//! Addresses of a chapter that lead on to its sections: when a chapter was one page, each heading, figure and exercise of it
//! had an address there, and people have linked to them.

use crate::{
    markdown::headings,
    page::{is_opener, of_chapter},
};
use anyhow::{Context as _, Result};
use mdbook_driver::MDBook;
use std::{collections::BTreeMap, path::Path};

/// The setting of mdBook that holds addresses and where they lead.
const SETTING: &str = "output.html.redirect";

/// Lets every anchor of a section also be found on its chapter's opener. What `book.toml` has for an address comes
/// first.
///
/// # Errors
/// If the setting in `book.toml` is no table of addresses.
pub(super) fn to_sections(source: &mut MDBook) -> Result<()> {
    let mut leads: BTreeMap<String, String> =
        source.config.get(SETTING).context("book/book.toml")?.unwrap_or_default();
    let mut openers: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut found = Vec::new();
    for page in source.book.chapters() {
        let Some(path) = page.source_path.as_deref().filter(|path| of_chapter(path)) else {
            continue;
        };
        let folder = path.parent().unwrap_or(Path::new("")).display().to_string();
        let here = anchors(&page.content);
        if is_opener(path) {
            openers.entry(folder).or_default().extend(here);
        } else if let Some(file) = path.file_stem() {
            let file = file.display();
            found.extend(here.into_iter().map(|anchor| {
                let to = format!("{file}.html#{anchor}");
                (folder.clone(), anchor, to)
            }));
        }
    }
    for (folder, anchor, to) in found {
        if openers.get(&folder).is_some_and(|own| !own.contains(&anchor)) {
            leads.entry(format!("/{folder}/index.html#{anchor}")).or_insert(to);
        }
    }
    if leads.is_empty() { Ok(()) } else { source.config.set(SETTING, leads) }
}

/// The anchors of an expanded page: its headings below the title, and what has an `id`.
fn anchors(page: &str) -> Vec<String> {
    let below = headings(page).into_iter().filter(|heading| !heading.title);
    let mut all: Vec<String> = below.map(|heading| heading.anchor).collect();
    let ids = page.split(" id=\"").skip(1).filter_map(|rest| rest.split('"').next());
    all.extend(ids.filter(|id| !id.is_empty()).map(str::to_owned));
    all
}
