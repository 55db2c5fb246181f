//! Where a book is made until it is whole: a folder next to it, which is removed in any case.

use anyhow::{Context, Result};
use std::{
    fs::{self, File},
    io::ErrorKind,
    path::{Path, PathBuf},
};

/// The file in such a folder that is locked for as long as its process lives. By it the folder is known.
const LOCK: &str = "throughput.lock";

/// The folder `NAME.work-PID` next to `NAME`; removed when dropped, also after a failure and a panic.
pub(super) struct WorkFolder {
    folder: PathBuf,
    lock: Option<File>,
}

impl WorkFolder {
    /// Makes the folder for the book at `out`, and removes those that processes left behind when they were killed.
    pub fn beside(out: &Path) -> Result<Self> {
        let parent = out.parent().unwrap_or(Path::new("."));
        fs::create_dir_all(parent).with_context(|| format!("can't make {}", parent.display()))?;
        let name = format!("{}.work-", out.file_name().unwrap_or_default().to_string_lossy());
        for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
            if entry.file_name().to_string_lossy().starts_with(&name) && is_stale(&entry.path()) {
                // One that can't be removed does no harm.
                let _ = fs::remove_dir_all(entry.path());
            }
        }
        let folder = parent.join(format!("{name}{}", std::process::id()));
        let locked = || -> std::io::Result<File> {
            fs::create_dir_all(&folder)?;
            let lock = File::create(folder.join(LOCK))?;
            // Where a file system knows no locks, what a killed process leaves stays.
            let _ = lock.try_lock();
            Ok(lock)
        };
        let lock = locked().with_context(|| format!("can't make {}", folder.display()))?;
        Ok(Self { folder, lock: Some(lock) })
    }

    /// Where it is.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Puts a folder of its own in place of an old one.
    pub fn replace(&self, out: &Path, new: &Path) -> Result<()> {
        if out.exists() {
            let old = self.folder.join("old");
            // A folder that came with a container's image can't be moved there, but removed.
            let moved = fs::rename(out, &old).or_else(|why| match why.kind() {
                ErrorKind::CrossesDevices => fs::remove_dir_all(out),
                _ => Err(why),
            });
            moved.with_context(|| format!("can't replace {}", out.display()))?;
        }
        fs::rename(new, out).with_context(|| format!("can't put the book into {}", out.display()))
    }
}

impl Drop for WorkFolder {
    fn drop(&mut self) {
        self.lock = None;
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// Whether a folder is one of these and no longer in use: its lock is there and free.
fn is_stale(folder: &Path) -> bool {
    File::open(folder.join(LOCK)).is_ok_and(|lock| lock.try_lock().is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;
    use lab::testing::{names, put};

    #[test]
    fn a_failure_and_a_panic_leave_nothing() {
        let root = tempfile::tempdir().unwrap();
        let out = root.path().join("book");
        let panicked = std::panic::catch_unwind(|| {
            let work = WorkFolder::beside(&out).unwrap();
            fs::write(work.folder().join("page.html"), "half").unwrap();
            assert_eq!(names(root.path()).len(), 1);
            std::panic::resume_unwind(Box::new(()));
        });
        assert!(panicked.is_err());
        assert_eq!(names(root.path()), Vec::<String>::new());
    }

    #[test]
    fn what_a_killed_process_left_is_removed_and_a_running_ones_is_not() {
        let root = tempfile::tempdir().unwrap();
        let out = root.path().join("book");
        for name in ["book.work-1", "book.work-2", "book.work-3", "other.work-4"] {
            put(&root.path().join(name), "page.html", "half");
        }
        File::create(root.path().join("book.work-1").join(LOCK)).unwrap();
        let running = File::create(root.path().join("book.work-2").join(LOCK)).unwrap();
        running.lock().unwrap();
        // The third is not known as one, however old: a reader may have made it.
        if let Ok(third) = File::open(root.path().join("book.work-3")) {
            third.set_modified(std::time::UNIX_EPOCH).unwrap();
        }
        let work = WorkFolder::beside(&out).unwrap();
        let own = work.folder().file_name().unwrap().to_string_lossy().into_owned();
        let mut expected = vec![
            "book.work-2".to_owned(),
            "book.work-3".to_owned(),
            own,
            "other.work-4".to_owned(),
        ];
        expected.sort();
        assert_eq!(names(root.path()), expected);
    }

    #[test]
    fn a_new_book_takes_the_place_of_the_old_one() {
        let root = tempfile::tempdir().unwrap();
        let out = root.path().join("book");
        for text in ["old", "new"] {
            let work = WorkFolder::beside(&out).unwrap();
            let book = work.folder().join("book");
            put(&book, "index.html", text);
            work.replace(&out, &book).unwrap();
            drop(work);
            assert_eq!(fs::read_to_string(out.join("index.html")).unwrap(), text);
        }
        assert_eq!(names(root.path()), ["book"]);
    }
}
