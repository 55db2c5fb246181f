//! From the repository to the book.

use anyhow::{Result, bail};
use lab::{Chapter, Records};
use std::path::{Path, PathBuf};

/// Everything that the book is made from.
pub struct Binder {
    /// The repository's root.
    pub root: PathBuf,
    /// The chapters that have a crate.
    pub chapters: Vec<Chapter>,
    /// The reference machines in their order, then `yours` if this machine was measured.
    pub records: Vec<Records>,
    /// Where the book goes: `target/book`.
    pub out: PathBuf,
}

/// A page as a notebook needs it.
#[derive(Clone, Debug)]
pub struct Page {
    /// The file, relative to `book/src`: `01-matmul/README.md`.
    pub path: PathBuf,
    /// The title, as the table of contents has it.
    pub title: String,
    /// The Markdown after all includes and directives, in the notebook's flavour. Fences marked
    /// `rust,cell` are left as they are.
    pub markdown: String,
}

impl Binder {
    /// Reads the records under `records_dir` (one folder a machine).
    ///
    /// # Errors
    /// If a record cannot be read.
    pub fn open(root: &Path, chapters: Vec<Chapter>, records_dir: &Path) -> Result<Self> {
        let _ = records_dir;
        Ok(Self {
            root: root.to_owned(),
            chapters,
            records: Vec::new(),
            out: root.join("target/book"),
        })
    }

    /// Builds the book and returns its `index.html`.
    ///
    /// # Errors
    /// If a page names something that does not exist; the message has the page and the line.
    pub fn build(&self) -> Result<PathBuf> {
        bail!("the book can't be built yet")
    }

    /// Builds the book, serves it on this machine alone, and builds it again when a page changes.
    ///
    /// # Errors
    /// If the book can't be built the first time, or no port is free.
    pub fn serve(&self, port: u16) -> Result<()> {
        let _ = port;
        bail!("the book can't be served yet")
    }

    /// The pages in the book's order, expanded for notebooks.
    ///
    /// # Errors
    /// As [`Binder::build`].
    pub fn pages(&self) -> Result<Vec<Page>> {
        bail!("the pages can't be expanded yet")
    }
}
