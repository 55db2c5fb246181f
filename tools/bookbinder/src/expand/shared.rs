//! What all pages share, and one page on its way.

use crate::{
    mention::Mention,
    page::{self, Entry, Flavour},
    quote::Quotes,
    sources::{Bibliography, Glossary},
};
use anyhow::{Result, bail};
use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
};

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
    /// Which pages use a term of the glossary, in the book's order, and whether a heading there names it; filled as pages
    /// are expanded.
    pub used: BTreeMap<String, Vec<(PathBuf, bool)>>,
    /// The minutes that a page takes to read; filled as pages are expanded.
    pub minutes: BTreeMap<PathBuf, u64>,
    /// The crates' documentation as `cargo doc` left it, if the book shall have it.
    pub docs: Option<&'a Path>,
    /// The address of the repository, if it is known.
    pub repository: Option<&'a str>,
    /// Whether each chapter's PDF will lie in the book's folder `pdf`.
    pub pdfs: bool,
    /// What is made.
    pub flavour: Flavour,
}

impl Shared<'_> {
    /// Whether the table of contents has these pages and chapters, named with a space between them.
    ///
    /// # Errors
    /// If there is no such page.
    pub(super) fn known(&self, names: &str) -> Result<()> {
        for name in names.split_whitespace() {
            let name = Path::new(name);
            let mut paths = self.entries.iter().map(|entry| entry.path.as_path());
            if !paths.any(|path| path == name || path.parent() == Some(name)) {
                bail!("the table of contents has no page `{}`", name.display());
            }
        }
        Ok(())
    }

    /// The title that the table of contents gives a page.
    pub(crate) fn title(&self, page: &Path) -> String {
        let entry = self.entries.iter().find(|entry| entry.path == page);
        entry.map_or_else(|| page.display().to_string(), |entry| entry.title.clone())
    }
}

/// One page on its way.
#[derive(Clone, Copy)]
pub(super) struct OnPage<'s, 'a> {
    /// What it shares with the others.
    pub shared: &'s Shared<'a>,
    /// The file, relative to `book/src`.
    pub path: &'s Path,
}

impl OnPage<'_, '_> {
    /// The way from the page to the book's root.
    pub fn up(self) -> String {
        page::up(self.path)
    }

    /// The folder that the page lies in: what it includes is relative to that.
    pub fn folder(self) -> PathBuf {
        self.shared.root.join("book/src").join(self.path.parent().unwrap_or(Path::new("")))
    }

    /// The page and the line, for a message.
    pub fn place(self, source: &str, at: usize) -> String {
        format!("book/src/{}:{}", self.path.display(), source[..at].matches('\n').count() + 1)
    }
}
