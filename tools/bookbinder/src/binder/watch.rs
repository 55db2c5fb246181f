//! The book on this machine, made again when something changes.

use super::{Binder, machines::records};
use crate::serve::Server;
use anyhow::Result;
use lab::out::say;
use std::{
    fs,
    path::Path,
    thread,
    time::{Duration, SystemTime},
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
        let seen = self.newest();
        self.build()?;
        let server = Server::start(&self.out, port, hosts)?;
        say(&format!("the book is at http://{}/ (Ctrl-C ends it)", server.address()));
        self.watch_since(seen, &server)
    }

    /// [`Binder::serve`] from where the book is built and served already.
    pub fn watch(&self, server: &Server) -> ! {
        self.watch_since(self.newest(), server)
    }

    fn watch_since(&self, mut seen: (SystemTime, usize), server: &Server) -> ! {
        loop {
            thread::sleep(Duration::from_millis(500));
            let now = self.newest();
            if now == seen {
                continue;
            }
            seen = now;
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

    /// When the newest of the files that the book is made from was changed, and how many there are.
    fn newest(&self) -> (SystemTime, usize) {
        let mut newest = (SystemTime::UNIX_EPOCH, 0);
        for source in SOURCES {
            look(&self.root.join(source), &mut newest);
        }
        look(&self.folder, &mut newest);
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
