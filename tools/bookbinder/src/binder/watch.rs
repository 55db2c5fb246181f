//! The book on this machine, made again when something changes.

use super::{Binder, machines::records};
use crate::serve::Server;
use anyhow::Result;
use lab::out::say;
use std::{
    collections::BTreeSet,
    fs,
    hash::{DefaultHasher, Hash as _, Hasher as _},
    mem,
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

/// The coarsest clock of a file system: FAT's counts every other second.
const CLOCK: Duration = Duration::from_secs(2);

/// What the book is made from, in addition to its records.
const SOURCES: [&str; 5] = ["book/src", "book/theme", "book/book.toml", "chapters", "notebooks"];

impl Binder {
    /// Builds the book, serves it on this machine alone, and builds it again when a page, a quoted file or
    /// a record changes. Runs until the program is ended, and reports what it does.
    ///
    /// # Errors
    /// If the book can't be built the first time, or no port is free.
    pub fn serve(&self, port: u16, hosts: &[String]) -> Result<()> {
        // What changes while it is built is a change.
        let seen = Seen::new(self.sources());
        self.build()?;
        let server = Server::start(&self.out, port, hosts)?;
        say(&format!("the book is at http://{}/ (Ctrl-C ends it)", server.address()));
        self.watch_since(seen, &server)
    }

    /// [`Binder::serve`] from where the book is built and served already.
    pub fn watch(&self, server: &Server) -> ! {
        self.watch_since(Seen::new(self.sources()), server)
    }

    fn watch_since(&self, mut seen: Seen, server: &Server) -> ! {
        loop {
            thread::sleep(Duration::from_millis(500));
            if !seen.changed() {
                continue;
            }
            let built = records(&self.folder).and_then(|records| self.build_from(&records));
            match built {
                Ok(_) => {
                    say("built again");
                    server.changed();
                }
                Err(error) => say(&format!("error: {error:#}")),
            }
        }
    }

    /// The folders and files that the book is made from.
    fn sources(&self) -> Vec<PathBuf> {
        let mut sources = SOURCES.map(|source| self.root.join(source)).to_vec();
        sources.push(self.folder.clone());
        sources
    }
}

/// Files as they were when they were last looked at.
///
/// Their contents say whether they have changed. The dates and lengths only say when the contents are worth reading: after any
/// change of them, an earlier date among them, and as long as a further change may have the same date.
struct Seen {
    sources: Vec<PathBuf>,
    facts: u64,
    contents: u64,
    until: Instant,
}

impl Seen {
    fn new(sources: Vec<PathBuf>) -> Self {
        let mut seen = Self { sources, facts: 0, contents: 0, until: Instant::now() };
        seen.changed();
        seen
    }

    /// Whether the files are others than at the last call.
    fn changed(&mut self) -> bool {
        let files: BTreeSet<PathBuf> =
            self.sources.iter().flat_map(|source| files(source)).collect();
        let facts = digest(&files, |file, into| {
            let facts = file.symlink_metadata().ok();
            facts.map(|facts| (facts.len(), facts.modified().ok())).hash(into);
        });
        if facts != self.facts {
            self.until = Instant::now() + CLOCK;
        } else if Instant::now() > self.until {
            return false;
        }
        let contents = digest(&files, |file, into| {
            // A pipe has no end.
            let plain = file.metadata().is_ok_and(|facts| facts.is_file());
            plain.then(|| fs::read(file).ok()).hash(into);
        });
        self.facts = facts;
        mem::replace(&mut self.contents, contents) != contents
    }
}

/// A digest of the files' paths and of what `add` adds of each.
fn digest(files: &BTreeSet<PathBuf>, add: impl Fn(&Path, &mut DefaultHasher)) -> u64 {
    let mut into = DefaultHasher::new();
    for file in files {
        file.hash(&mut into);
        add(file, &mut into);
    }
    into.finish()
}

/// A file, or the files in a folder, without hidden ones and those that cargo builds.
fn files(path: &Path) -> Vec<PathBuf> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    if name.starts_with('.') {
        return Vec::new();
    }
    match path.symlink_metadata() {
        Ok(facts) if !facts.is_dir() => vec![path.to_owned()],
        Ok(_) if name != "target" => {
            let entries = fs::read_dir(path).into_iter().flatten().flatten();
            entries.flat_map(|entry| files(&entry.path())).collect()
        }
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::SystemTime;

    #[test]
    fn files_change_by_what_is_in_them() {
        let outer = tempfile::tempdir().unwrap(); // its own name begins with a point
        let folder = outer.path().join("book");
        fs::create_dir(&folder).unwrap();
        let file = folder.join("page.md");
        let write = |text: &str, time: SystemTime| {
            fs::write(&file, text).unwrap();
            fs::File::options().append(true).open(&file).unwrap().set_modified(time).unwrap();
        };
        let now = SystemTime::now();
        write("one", now);
        let mut seen = Seen::new(vec![folder.clone(), folder.join("none")]);
        assert!(!seen.changed());
        write("one", now + Duration::from_hours(24));
        assert!(!seen.changed(), "it was only touched");
        write("two", now + Duration::from_hours(24));
        assert!(seen.changed(), "within the same tick of the clock");
        write("old", now - Duration::from_hours(24));
        assert!(seen.changed(), "an older file took its place");
        fs::rename(&file, folder.join("other.md")).unwrap();
        assert!(seen.changed(), "it has another name");
        fs::create_dir(folder.join("target")).unwrap();
        fs::write(folder.join("target/made"), "a").unwrap();
        fs::write(folder.join(".hidden"), "a").unwrap();
        assert!(!seen.changed());
        seen.until = Instant::now();
        write("new", now);
        assert!(seen.changed(), "a new file after a while");
    }
}
