//! The book on this machine, made again when something changes.

use super::{Binder, machines::records};
use crate::serve::Server;
use anyhow::Result;
use lab::{files::inside, out::say};
use std::{
    collections::BTreeSet,
    hash::{DefaultHasher, Hash as _, Hasher as _},
    mem,
    path::{Path, PathBuf},
    thread,
    time::Duration,
};

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
        let seen = digest(&self.sources());
        self.build()?;
        let server = Server::start(&self.out, port, hosts)?;
        say(&format!("the book is at http://{}/ (Ctrl-C ends it)", server.address()));
        self.watch_since(seen, &server)
    }

    /// [`Binder::serve`] from where the book is built and served already.
    pub fn watch(&self, server: &Server) -> ! {
        self.watch_since(digest(&self.sources()), server)
    }

    fn watch_since(&self, mut seen: u64, server: &Server) -> ! {
        loop {
            thread::sleep(Duration::from_millis(500));
            let now = digest(&self.sources());
            if mem::replace(&mut seen, now) == now {
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

/// A digest of the files below these: their paths, lengths and dates.
fn digest(sources: &[PathBuf]) -> u64 {
    let files: BTreeSet<PathBuf> = sources.iter().flat_map(|source| files(source)).collect();
    let mut into = DefaultHasher::new();
    for file in files {
        let facts = file.symlink_metadata().ok();
        (file, facts.map(|facts| (facts.len(), facts.modified().ok()))).hash(&mut into);
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
        Ok(_) if name != "target" => inside(path).iter().flat_map(|path| files(path)).collect(),
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{fs, time::SystemTime};

    #[test]
    fn files_change_with_their_names_lengths_and_dates() {
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
        let sources = [folder.clone(), folder.join("none")];
        let mut seen = digest(&sources);
        let mut changed = || {
            let now = digest(&sources);
            mem::replace(&mut seen, now) != now
        };
        assert!(!changed());
        write("two", now + Duration::from_secs(1));
        assert!(changed(), "of the same length");
        write("old", now - Duration::from_hours(24));
        assert!(changed(), "an older file took its place");
        fs::rename(&file, folder.join("other.md")).unwrap();
        assert!(changed(), "it has another name");
        fs::create_dir(folder.join("target")).unwrap();
        fs::write(folder.join("target/made"), "a").unwrap();
        fs::write(folder.join(".hidden"), "a").unwrap();
        assert!(!changed());
    }
}
