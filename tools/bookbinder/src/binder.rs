//! From the repository to the book.

use crate::{
    aside, docs,
    expand::{self, Entry, Flavour, Shared},
    html,
    index::{self, Mention},
    quote::{self, Quotes, YOURS},
    serve::Server,
    sources, theme, warnings,
};
use anyhow::{Context, Result, bail};
use lab::{Chapter, Records, record::CONTRIBUTED};
use mdbook_driver::{
    MDBook,
    book::{BookItem, Chapter as BookChapter},
    config::Config,
};
use std::{
    collections::BTreeMap,
    collections::BTreeSet,
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
    thread,
    time::{Duration, SystemTime},
};

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
    /// Files besides, by their place in the book: what a page's script asks for.
    pub files: Vec<(PathBuf, String)>,
    /// What `cargo doc` made of the chapters' crates (`target/doc`), if the book shall have it.
    pub docs: Option<PathBuf>,
    /// Where the records were read from, to read them again.
    folder: PathBuf,
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
    /// Reads the records under `records_dir` (one folder a machine, those that were sent in under `contributed`; none at
    /// all is fine).
    ///
    /// # Errors
    /// If a record cannot be read.
    pub fn open(root: &Path, chapters: Vec<Chapter>, records_dir: &Path) -> Result<Self> {
        let root = root
            .canonicalize()
            .with_context(|| format!("{} is not the course's folder", root.display()))?;
        let records = records(&root, records_dir)?;
        let out = root.join("target/book");
        let (files, docs, folder) = (Vec::new(), None, records_dir.to_owned());
        Ok(Self { root, chapters, records, out, files, docs, folder })
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
        let parent = self.out.parent().unwrap_or(Path::new("."));
        fs::create_dir_all(parent).with_context(|| format!("can't make {}", parent.display()))?;
        let work = self.out.with_extension(format!("work-{}", std::process::id()));
        let built =
            self.build_into(records, &work).and_then(|()| replace(&self.out, &work.join("book")));
        let removed = fs::remove_dir_all(&work);
        built?;
        removed.with_context(|| format!("can't remove {}", work.display()))?;
        Ok(self.out.join("index.html"))
    }

    fn build_into(&self, records: &[Records], work: &Path) -> Result<()> {
        let (book, themed) = (work.join("book"), work.join("theme"));
        fs::create_dir_all(&themed).with_context(|| format!("can't make {}", themed.display()))?;
        theme::write(&self.root.join("book/theme"), &themed)?;
        let (built, messages) = warnings::collected(|| -> Result<()> {
            let mut source = self.load(|config| {
                config.build.build_dir.clone_from(&book);
                config.set("output.html.theme", &themed)?;
                config.set("output.html.search.chapter.records.enable", false)
            })?;
            self.expand(&mut source, records, Flavour::Html)?;
            source.book.items.extend(records_part(records));
            if records.is_empty() {
                // A setting for a page that does not exist would be a warning.
                source.config.set("output.html.search.chapter", toml_table())?;
            }
            source.build()
        });
        built?;
        if !messages.is_empty() {
            bail!("mdBook warns: {}", messages.join("; "));
        }
        let first = records.first().filter(|first| quote::is_reference(first));
        let sent: Vec<&str> =
            records.iter().filter(|r| r.contributed).map(|records| records.name.as_str()).collect();
        if let Some(first) = first.filter(|_| !sent.is_empty()) {
            aside::extract(&book, &first.name, &sent)?;
        }
        for records in records {
            let to = book.join("records").join(&records.name);
            let group = if records.contributed { CONTRIBUTED } else { "" };
            let from = self.folder.join(group);
            copy_files(&from.join(&records.name), &to, &["json"])?;
        }
        copy_files(&self.root.join("notebooks"), &book.join("notebooks"), &["ipynb"])?;
        if let Some(made) = &self.docs {
            docs::copy(made, &self.chapters, &book)?;
        }
        for (place, text) in &self.files {
            let to = book.join(place);
            fs::create_dir_all(to.parent().unwrap_or(&book))
                .and_then(|()| fs::write(&to, text))
                .with_context(|| format!("can't write {}", to.display()))?;
        }
        // Scripts, too: those that only some pages ask for are not in mdBook's list.
        copy_files(&self.root.join("book/theme"), &book.join("theme"), &["woff2", "txt", "js"])
    }

    /// Builds the book, serves it on this machine alone, and builds it again when a page, a quoted file or
    /// a record changes. Runs until the program is ended, and tells what it does.
    ///
    /// # Errors
    /// If the book can't be built the first time, or no port is free.
    pub fn serve(&self, port: u16, tell: &dyn Fn(&str)) -> Result<()> {
        self.build()?;
        let server = Server::start(&self.out, port)?;
        tell(&format!("the book is at http://{}/ (Ctrl-C ends it)", server.address()));
        self.watch(&server, tell)
    }

    /// [`Binder::serve`] from where the book is built and served already.
    pub fn watch(&self, server: &Server, tell: &dyn Fn(&str)) -> ! {
        let mut seen = self.newest();
        loop {
            thread::sleep(Duration::from_millis(500));
            let now = self.newest();
            if now == seen {
                continue;
            }
            seen = now;
            let built =
                records(&self.root, &self.folder).and_then(|records| self.build_from(&records));
            match built {
                Ok(_) => {
                    tell("built again");
                    server.changed();
                }
                Err(error) => tell(&format!("error: {error:#}")),
            }
        }
    }

    /// The pages in the book's order, expanded for notebooks.
    ///
    /// # Errors
    /// As [`Binder::build`].
    pub fn pages(&self) -> Result<Vec<Page>> {
        let mut source = self.load(|_| Ok(()))?;
        self.expand(&mut source, &self.records, Flavour::Notebook)?;
        Ok(source
            .book
            .chapters()
            .filter_map(|chapter| {
                Some(Page {
                    path: chapter.source_path.clone()?,
                    title: chapter.name.clone(),
                    markdown: chapter.content.clone(),
                })
            })
            .collect())
    }

    /// mdBook with the settings of `book/book.toml` and our own.
    fn load(&self, settings: impl FnOnce(&mut Config) -> Result<()>) -> Result<MDBook> {
        let folder = self.root.join("book");
        let file = folder.join("book.toml");
        let mut config = Config::from_disk(&file)
            .with_context(|| format!("can't read the book's settings in {}", file.display()))?;
        settings(&mut config)?;
        MDBook::load_with_config(folder, config)
    }

    /// Expands every page in place.
    fn expand(&self, source: &mut MDBook, records: &[Records], flavour: Flavour) -> Result<()> {
        let pages = self.root.join("book/src");
        let entries = source
            .book
            .iter()
            .filter_map(|item| match item {
                BookItem::Chapter(chapter) => {
                    Some(Entry { title: chapter.name.clone(), path: chapter.source_path.clone() })
                }
                _ => None,
            })
            .collect();
        let mut shared = Shared {
            root: &self.root,
            quotes: Quotes { chapters: &self.chapters, records },
            glossary: sources::glossary(&pages.join(sources::GLOSSARY))?,
            sources: sources::bibliography(&pages.join(sources::BIBLIOGRAPHY))?,
            entries,
            mentions: source.book.chapters().flat_map(mentions).collect(),
            cited: BTreeMap::new(),
            used: BTreeMap::new(),
            minutes: BTreeMap::new(),
            docs: self.docs.as_deref(),
            flavour,
        };
        let mut failed = Vec::new();
        source.book.for_each_chapter_mut(|chapter| {
            let Some(path) = chapter.source_path.clone() else { return };
            match expand::page(&mut shared, &path, &chapter.content) {
                Ok(text) => chapter.content = text,
                Err(error) => failed.push(format!("{error:#}")),
            }
            // As mdBook's own `index` does: a folder's README is its first page.
            if let Some(path) = &mut chapter.path
                && path.file_name().is_some_and(|name| name == "README.md")
            {
                path.set_file_name("index.md");
            }
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
        Ok(())
    }

    /// When the newest of the files that the book is made from was changed, and how many there are.
    fn newest(&self) -> (SystemTime, usize) {
        let mut newest = (SystemTime::UNIX_EPOCH, 0);
        for folder in ["book/src", "book/theme", "book/po", "chapters", "notebooks"] {
            look(&self.root.join(folder), &mut newest);
        }
        look(&self.folder, &mut newest);
        look(&self.root.join("book/book.toml"), &mut newest);
        newest
    }
}

fn look(path: &Path, newest: &mut (SystemTime, usize)) {
    let hidden = path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'));
    let Ok(facts) = path.symlink_metadata() else { return };
    if hidden {
        return;
    }
    if facts.is_dir() {
        if path.file_name().is_some_and(|name| name == "target") {
            return;
        }
        for entry in fs::read_dir(path).into_iter().flatten().flatten() {
            look(&entry.path(), newest);
        }
    } else {
        let changed = facts.modified().unwrap_or(SystemTime::UNIX_EPOCH);
        *newest = (newest.0.max(changed), newest.1 + 1);
    }
}

/// The directives of a page, if it is a chapter's.
fn mentions(page: &BookChapter) -> Vec<Mention> {
    let path = page.source_path.as_ref().filter(|path| expand::of_chapter(path));
    path.map(|path| index::mentions(path, &page.content)).unwrap_or_default()
}

/// Puts the finished folder in the place of the old one.
fn replace(out: &Path, new: &Path) -> Result<()> {
    let old = out.with_extension(format!("old-{}", std::process::id()));
    if out.exists() {
        fs::rename(out, &old).with_context(|| format!("can't replace {}", out.display()))?;
    }
    fs::rename(new, out).with_context(|| format!("can't put the book into {}", out.display()))?;
    if old.exists() {
        fs::remove_dir_all(&old).with_context(|| format!("can't remove {}", old.display()))?;
    }
    Ok(())
}

/// The machines under `folder`: those that `book.toml` names (`[preprocessor.throughput] machines`) first
/// and in that order, the others by name, then those that readers sent in, the reader's own last.
///
/// # Errors
/// If a record or the book's settings cannot be read.
pub fn records(root: &Path, folder: &Path) -> Result<Vec<Records>> {
    let file = root.join("book/book.toml");
    let config = Config::from_disk(&file)
        .with_context(|| format!("can't read the book's settings in {}", file.display()))?;
    let order: Vec<String> = config.get("preprocessor.throughput.machines")?.unwrap_or_default();
    let mut all = Vec::new();
    for folder in [folder.to_owned(), folder.join(CONTRIBUTED)].iter().filter(|f| f.is_dir()) {
        for entry in
            fs::read_dir(folder).with_context(|| format!("can't read {}", folder.display()))?
        {
            let path = entry?.path();
            if path.join("machine.json").is_file() {
                all.push(Records::load(&path)?);
            }
        }
    }
    let mut names = BTreeSet::new();
    if let Some(twice) = all.iter().find(|records| !names.insert(&records.name)) {
        bail!("two machines have the name `{}`; rename the folder of one of them", twice.name);
    }
    all.sort_by_key(|records| {
        let place = order.iter().position(|name| *name == records.name).unwrap_or(order.len());
        (records.name == YOURS, records.contributed, place, records.name.clone())
    });
    Ok(all)
}

/// The pages that list the records, at the end of the book.
fn records_part(records: &[Records]) -> Vec<BookItem> {
    if records.is_empty() {
        return Vec::new();
    }
    let mut text = "# Records\n\nEvery number of this book that is not cited was measured by `cargo run \
                    --release -- measure` on one of these machines. Each page here lists what one of \
                    them measured, with the command, the commit and the samples. Yours can stand here, too: \
                    `cargo run --release -- measure --budget full`, then `cargo run --release -- measure \
                    --send`, which makes the file to send in.\n\n"
        .to_owned();
    for records in records {
        let label = html::text(&quote::machine_label(records));
        let _ = writeln!(text, "- [{label}]({}.md)", records.name);
    }
    let mut first = BookChapter::new("Records", text, "records/index.md", Vec::new());
    first.sub_items = records
        .iter()
        .map(|records| {
            BookItem::Chapter(BookChapter::new(
                &records.name,
                quote::machine_page(records),
                format!("records/{}.md", records.name),
                vec!["Records".to_owned()],
            ))
        })
        .collect();
    vec![BookItem::Chapter(first)]
}

/// An empty table of settings.
fn toml_table() -> BTreeMap<String, String> {
    BTreeMap::new()
}

/// Copies the files with these extensions, if the folder exists.
fn copy_files(from: &Path, to: &Path, extensions: &[&str]) -> Result<()> {
    if !from.is_dir() {
        return Ok(());
    }
    for entry in fs::read_dir(from).with_context(|| format!("can't read {}", from.display()))? {
        let path = entry?.path();
        let wanted = path
            .extension()
            .and_then(|ext| ext.to_str())
            .is_some_and(|ext| extensions.contains(&ext));
        if let (true, Some(name)) = (wanted && path.is_file(), path.file_name()) {
            fs::create_dir_all(to).with_context(|| format!("can't make {}", to.display()))?;
            fs::copy(&path, to.join(name))
                .with_context(|| format!("can't copy {}", path.display()))?;
        }
    }
    Ok(())
}
