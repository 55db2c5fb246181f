//! From the repository to the book.
//!
//! `machines` finds the records, `moved` leads old addresses on, `work` is where a book is made until it is whole, `watch`
//! makes it again when something changes.

mod machines;
mod moved;
mod watch;
mod work;

use crate::{
    aside, disk, docs,
    expand::{self, Shared},
    found::{self, Descriptions},
    mention, notebook,
    page::{Entry, Flavour, Page, is_opener, of_chapter},
    paper,
    quote::{Fences, Quotes, default_machine},
    site::Site,
    sources, text, theme, warnings,
};
use anyhow::{Context, Result, bail};
use lab::{Chapter, Records};
pub use machines::records;
use mdbook_driver::{MDBook, book, config::Config};
use std::{
    collections::BTreeMap,
    fs, mem,
    path::{Path, PathBuf},
};
use work::WorkFolder;

/// Everything that the book is made from.
pub struct Binder {
    /// The repository's root.
    pub root: PathBuf,
    /// The chapters that have a crate.
    pub chapters: Vec<Chapter>,
    /// The reference machines in their order, those that readers sent in, then `yours` if this machine was measured.
    pub records: Vec<Records>,
    /// Where the book goes: `target/book`.
    pub out: PathBuf,
    /// Additional files, by their path in the book: what a page's script asks for.
    pub files: Vec<(PathBuf, String)>,
    /// What `cargo doc` made of the chapters' crates (`target/doc`), if the book shall have it.
    pub docs: Option<PathBuf>,
    /// The address that the book will have, if it will be published.
    pub site: Option<Site>,
    /// Where the course's source is kept, if it is known: every page links there.
    pub repository: Option<String>,
    /// Whether the chapters' PDFs will be put into the book's folder `pdf`: their openers link to them.
    pub pdfs: bool,
    /// Where the records were read from, to read them again.
    folder: PathBuf,
}

impl Binder {
    /// Reads the records under `records_dir` (one folder a machine, those that were sent in under `contributed`; none at
    /// all is fine).
    ///
    /// # Errors
    /// If a record cannot be read.
    pub fn open(root: &Path, chapters: Vec<Chapter>, records_dir: &Path) -> Result<Self> {
        let root = root
            .canonicalize()
            .with_context(|| format!("{} is not the course's folder", root.display()))?;
        let records = records(records_dir)?;
        let out = root.join("target/book");
        Ok(Self {
            root,
            chapters,
            records,
            out,
            files: Vec::new(),
            docs: None,
            site: None,
            repository: None,
            pdfs: false,
            folder: records_dir.to_owned(),
        })
    }

    /// Chooses another folder for the book.
    ///
    /// # Errors
    /// If there is something that is not a book: it is not ours to replace.
    pub fn put_into(&mut self, out: &Path) -> Result<()> {
        // Neither is a file, nor a link that leads nowhere.
        let there = out.symlink_metadata().is_ok();
        let empty = out.read_dir().is_ok_and(|mut inside| inside.next().is_none());
        if there && !empty && !out.join("toc.html").is_file() {
            bail!("{} is not a book; choose a new or empty folder with --out", out.display());
        }
        self.out = std::path::absolute(out)?;
        Ok(())
    }

    /// Builds the book and returns its `index.html`. The book that was there stays until the new one is
    /// whole.
    ///
    /// # Errors
    /// If a page names something that does not exist; the message has the page and the line.
    pub fn build(&self) -> Result<PathBuf> {
        self.build_from(&self.records)
    }

    fn build_from(&self, records: &[Records]) -> Result<PathBuf> {
        let work = WorkFolder::beside(&self.out)?;
        let book = work.folder().join("book");
        self.build_into(records, work.folder(), &book)?;
        work.replace(&self.out, &book)?;
        Ok(self.out.join("index.html"))
    }

    fn build_into(&self, records: &[Records], work: &Path, book: &Path) -> Result<()> {
        let themed = work.join("theme");
        fs::create_dir_all(&themed).with_context(|| format!("can't make {}", themed.display()))?;
        theme::write(&self.root.join("book/theme"), &themed)?;
        let (built, messages) = warnings::collected(|| -> Result<Found> {
            let mut source = self.load(|config| {
                book.clone_into(&mut config.build.build_dir);
                config.set("output.html.theme", &themed)?;
                if let Some(site) = &self.site {
                    config.set("output.html.site-url", site.path())?; // for the page of who is lost
                }
                if let Some(repository) = &self.repository {
                    config.set("output.html.git-repository-url", repository)?;
                }
                config.set("output.html.search.chapter.records.enable", false)
            })?;
            let found = self.expand(&mut source, records, Flavour::Html)?;
            let pages: Vec<_> =
                source.book.chapters().filter_map(|page| page.path.clone()).collect();
            source.book.items.extend(machines::part(records));
            moved::to_sections(&mut source)?;
            if records.is_empty() {
                // A setting for a page that does not exist would be a warning.
                source.config.set("output.html.search.chapter", toml::Table::new())?;
            }
            source.build()?;
            paper::put_chapters(book, &pages)?;
            let title = source.config.book.title.as_deref().unwrap_or_default();
            found::describe(book, title, &found.descriptions, self.site.as_ref())?;
            if let Some(site) = &self.site {
                disk::write(&book.join("sitemap.xml"), site.map(found.descriptions.keys()))?;
            }
            Ok(found)
        });
        let found = built?;
        if !messages.is_empty() {
            bail!("mdBook warns: {}", messages.join("; "));
        }
        theme::give_formulas_their_font(book)?;
        if let Some(first) = default_machine(records) {
            aside::extract(book, &first.name)?;
        }
        self.put_beside(records, book)?;
        disk::write(&book.join(notebook::WHOLE), notebook::whole(&self.pages_of(records)?)?)?;
        disk::write(&book.join("theme/terms.js"), found.terms)
    }

    /// What is in the book in addition to pages: records, notebooks, documentation, scripts.
    fn put_beside(&self, records: &[Records], book: &Path) -> Result<()> {
        machines::put_files(records, book)?;
        let notebooks = self.root.join("notebooks");
        if notebooks.is_dir() {
            disk::copy_files(&notebooks, &book.join("notebooks"), |kind| kind == "ipynb")?;
        }
        if let Some(made) = &self.docs {
            docs::copy(made, &self.chapters, book)?;
        }
        for (place, text) in &self.files {
            disk::write(&book.join(place), text)?;
        }
        // Also scripts: those that only some pages ask for are not in mdBook's list.
        disk::copy_files(&self.root.join("book/theme"), &book.join("theme"), |extension| {
            ["woff2", "txt", "js"].contains(&extension)
        })
    }

    /// The pages in the book's order, expanded for notebooks.
    ///
    /// # Errors
    /// As [`Binder::build`].
    pub fn pages(&self) -> Result<Vec<Page>> {
        self.pages_of(&self.records)
    }

    fn pages_of(&self, records: &[Records]) -> Result<Vec<Page>> {
        let mut source = self.load(|_| Ok(()))?;
        self.expand(&mut source, records, Flavour::Notebook)?;
        let page = |chapter: &book::Chapter| {
            Some(Page { path: chapter.source_path.clone()?, markdown: chapter.content.clone() })
        };
        Ok(source.book.chapters().filter_map(page).collect())
    }

    /// mdBook with the settings of `book/book.toml` and our own.
    fn load(&self, settings: impl FnOnce(&mut Config) -> Result<()>) -> Result<MDBook> {
        let folder = self.root.join("book");
        let file = folder.join("book.toml");
        let mut config = Config::from_disk(&file)
            .with_context(|| format!("can't read the book's settings in {}", file.display()))?;
        settings(&mut config)?;
        let mut loaded = MDBook::load_with_config(folder, config)?;
        loaded.book.for_each_chapter_mut(|chapter| {
            chapter.content = text::with_plain_ends(mem::take(&mut chapter.content));
        });
        Ok(loaded)
    }

    /// Expands every page in place.
    fn expand(&self, source: &mut MDBook, records: &[Records], flavour: Flavour) -> Result<Found> {
        let pages = self.root.join("book/src");
        let entry = |chapter: &book::Chapter| {
            Some(Entry { title: chapter.name.clone(), path: chapter.source_path.clone()? })
        };
        let entries = source.book.chapters().filter_map(entry).collect();
        let (fences, mut failed) = (self.fences(source)?, Vec::new());
        let mut shared = Shared {
            root: &self.root,
            quotes: Quotes { chapters: &self.chapters, records, fences: &fences },
            glossary: sources::glossary(&pages.join(sources::GLOSSARY))?,
            sources: sources::bibliography(&pages.join(sources::BIBLIOGRAPHY))?,
            entries,
            mentions: source
                .book
                .chapters()
                .filter_map(|page| Some((page.source_path.as_ref()?, &page.content)))
                .filter(|(path, _)| of_chapter(path))
                .flat_map(|(path, text)| mention::mentions(path, text))
                .collect(),
            cited: BTreeMap::new(),
            used: BTreeMap::new(),
            minutes: BTreeMap::new(),
            docs: self.docs.as_deref(),
            repository: self.repository.as_deref(),
            pdfs: self.pdfs,
            flavour,
        };
        let mut descriptions = Descriptions::new();
        let of_all = source.config.book.description.clone();
        source.book.for_each_chapter_mut(|chapter| {
            let Some(path) = chapter.source_path.clone() else { return };
            // The first page is the whole book's.
            let first = path == Path::new("README.md");
            let own = if first {
                of_all.clone()
            } else {
                found::description(&shared.glossary, &chapter.content)
            };
            match expand::page(&mut shared, &path, &chapter.content) {
                Ok(text) => chapter.content = text,
                Err(error) => failed.push(format!("{error:#}")),
            }
            // As mdBook's own `index` does: a folder's README is its first page.
            if let Some(path) = &mut chapter.path
                && is_opener(path)
            {
                path.set_file_name("index.md");
            }
            descriptions.extend(chapter.path.clone().zip(own));
        });
        if !failed.is_empty() {
            bail!(failed.join("\n"));
        }
        expand::all_cited(&shared)?;
        source.book.for_each_chapter_mut(|chapter| {
            if let Some(path) = &chapter.source_path {
                chapter.content = expand::finish(&shared, path, &chapter.content);
            }
        });
        Ok(Found { descriptions, terms: found::terms(&shared) })
    }

    /// The figures and tables that pages declare: they are taken out of the pages.
    fn fences(&self, source: &mut MDBook) -> Result<Fences> {
        let (mut fences, mut failed) = (Fences::default(), Vec::new());
        source.book.for_each_chapter_mut(|chapter| {
            let Some(path) = &chapter.source_path else { return };
            match fences.take(&self.chapters, path, &chapter.content) {
                Ok(text) => chapter.content = text,
                Err(error) => failed.push(format!("{error:#}")),
            }
        });
        if failed.is_empty() { Ok(fences) } else { bail!(failed.join("\n")) }
    }
}

/// What makes the pages found, as the whole book determines it.
struct Found {
    descriptions: Descriptions,
    /// The script with the glossary.
    terms: String,
}
