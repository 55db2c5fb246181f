//! What a page is: the names that all of the binder shares.

use crate::disk;
use anyhow::Result;
use std::path::{Component, Path, PathBuf};

/// What a page is expanded for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flavour {
    /// A page of the book: HTML where Markdown can't express it.
    Html,
    /// A notebook: Markdown, and the default reference machine's numbers.
    Notebook,
}

/// A page of the table of contents.
#[derive(Clone, Debug)]
pub struct Entry {
    /// As `SUMMARY.md` has it.
    pub title: String,
    /// Relative to `book/src`.
    pub path: PathBuf,
}

/// A page as a notebook needs it.
#[derive(Clone, Debug)]
pub struct Page {
    /// The file, relative to `book/src`: `01-matmul/README.md`.
    pub path: PathBuf,
    /// The Markdown after all includes and directives, in the notebook's flavour. Fences marked
    /// `rust,cell` are left as they are.
    pub markdown: String,
}

/// Whether a page belongs to a chapter: chapters have a folder.
pub fn of_chapter(page: &Path) -> bool {
    page.components().count() > 1
}

/// Whether a page is the first of its folder: a chapter's opener, and not one of its sections.
pub fn is_opener(page: &Path) -> bool {
    page.ends_with("README.md")
}

/// The way from a page to the book's root: `../` for each folder.
pub fn up(page: &Path) -> String {
    "../".repeat(page.components().count().saturating_sub(1))
}

/// The pages of the finished book in a folder, except those that lie deeper than a chapter's.
///
/// # Errors
/// If the folder can't be read.
pub fn built(book: &Path) -> Result<Vec<PathBuf>> {
    let mut pages = disk::entries(book)?;
    for folder in pages.clone().iter().filter(|path| path.is_dir()) {
        pages.extend(disk::entries(folder)?);
    }
    pages.retain(|page| page.extension().is_some_and(|ext| ext == "html"));
    Ok(pages)
}

/// `path` without `.` in it, and `..` at most at its beginning.
pub fn tidy(path: &Path) -> PathBuf {
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

/// mdBook makes `index.html` of `README.md`.
pub fn as_index(link: &str) -> String {
    link.replace("README.md", "index.md")
}
