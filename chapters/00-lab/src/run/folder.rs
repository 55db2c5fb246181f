//! The folder of one run, and the latest of many.

use crate::{
    Error, Result,
    files::inside,
    limits::let_large_writes_fail,
    out::warn,
    run::{
        checkpoint::{self, Kind},
        disk::remove_file,
        events,
        files::{self, CHECKPOINT, MODEL, TOKENIZER, unwritable},
    },
};
use std::{
    fmt::Display,
    fs::{self, File, TryLockError},
    path::{Path, PathBuf},
};

/// What to do with a run's folder.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Start {
    /// Begin; refuse a folder that already contains a run.
    #[default]
    New,
    /// Go on from the folder's checkpoint.
    Resume,
    /// Begin, replacing a run that the folder may contain.
    Replace,
}

/// The file that a training holds locked in its folder. The system lets go of it when the program ends, however it does.
pub(crate) const LOCK: &str = ".lock";

/// The latest run in `runs`, and what `read` makes of it: the one that began last, of this kind if one is asked for. Those
/// that began later, and all if there is none, are named on standard error with the reason why `read` can't use them.
pub fn latest<T, E: Display>(
    runs: &Path,
    kind: Option<Kind>,
    read: impl Fn(&Path) -> Result<T, E>,
) -> Option<(PathBuf, T)> {
    let (found, notes) = with_notes(runs, kind, read);
    notes.into_iter().for_each(warn);
    found
}

/// [`latest`], and what is to be said of others.
fn with_notes<T, E: Display>(
    runs: &Path,
    kind: Option<Kind>,
    read: impl Fn(&Path) -> Result<T, E>,
) -> (Option<(PathBuf, T)>, Vec<String>) {
    // Of those that began in one second the number behind the name says which came last.
    let number = |run: &Path| run.to_str()?.rsplit_once('-')?.1.parse::<u64>().ok();
    let mut dated: Vec<_> = inside(runs)
        .into_iter()
        .filter(|run| [CHECKPOINT, MODEL].iter().any(|file| run.join(file).exists()))
        .filter(|run| kind.is_none() || Kind::of_run(run).is_none_or(|its| Some(its) == kind))
        .map(|run| (checkpoint::started(&run).map(|second| (second, number(&run))), run))
        .collect();
    dated.sort();
    let (mut found, mut skipped) = (None, Vec::new());
    while let Some((began, run)) = dated.pop_if(|_| found.is_none()) {
        match read(&run) {
            Ok(read) => {
                skipped.retain(|(later, _)| *later > began);
                found = Some((run, read));
            }
            Err(why) => skipped.push((began, format!("note: skipped {}: {why}", run.display()))),
        }
    }
    (found, skipped.into_iter().map(|(_, note)| note).collect())
}

/// The folder of one run, which no other training can open at the same time.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
    lock: File,
}

impl Drop for Folder {
    /// Lets go of the lock by itself: a process that is started just now has all open files, and this one, for a moment more.
    fn drop(&mut self) {
        let _ = self.lock.unlock();
    }
}

impl Folder {
    /// Makes the folder, and sees whether it fits what is to be done with it. What a run has left that ended before its
    /// first checkpoint is of no value: a new run replaces it.
    ///
    /// # Errors
    /// [`Error::Damaged`] if a new run finds another one there, if one that goes on finds none, or another training is at
    /// work; or if the folder can't be made or written.
    pub fn open(path: &Path, start: Start) -> Result<Self> {
        if start == Start::Resume && !path.join(CHECKPOINT).exists() {
            return Err(checkpoint::missing(path));
        }
        let_large_writes_fail();
        fs::create_dir_all(path).map_err(|e| unwritable(path, &e, "--run"))?;
        let results = files::ALL.map(|name| path.join(name));
        let more: Vec<_> = events::files(path).into_iter().chain([path.join(TOKENIZER)]).collect();
        let there = |files: &[PathBuf]| files.iter().any(|file| file.exists());
        // A tokenizer and events alone can be another program's: a run's folder has its lock.
        if start == Start::New && there(&more) && !path.join(LOCK).exists() {
            return Err(Error::damaged(path, taken(path)));
        }
        let folder = Self { path: path.to_owned(), lock: locked(path)? };
        if start == Start::New && there(&results) {
            return Err(Error::damaged(path, taken(path)));
        }
        let files: Vec<_> = results.into_iter().chain(more).collect();
        let mut old: Vec<_> =
            files.iter().map(|file| file.with_added_extension(files::PART)).collect();
        if start != Start::Resume {
            old.extend(files);
        }
        for file in old.iter().filter(|file| file.exists()) {
            remove_file(file).map_err(|e| unwritable(file, &e, "--run"))?;
        }
        Ok(folder)
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// The folder's lock, if it is free. Its file also shows, before the first epoch, whether the folder can be written.
fn locked(folder: &Path) -> Result<File> {
    let file = File::options().create(true).truncate(false).write(true).open(folder.join(LOCK));
    let file = file.map_err(|e| unwritable(folder, &e, "--run"))?;
    if let Err(TryLockError::WouldBlock) = file.try_lock() {
        return Err(Error::damaged(
            folder,
            "another training is at work in this folder; wait for its end, or choose another folder with --run",
        ));
    }
    Ok(file) // not every file system has locks
}

/// Why a new run can't have a folder that contains results.
fn taken(folder: &Path) -> &'static str {
    if folder.join(CHECKPOINT).exists() {
        "this folder contains a run already; go on with it by --resume, or choose another folder with --run"
    } else {
        "this folder contains what a run has left, or another program, without a checkpoint; choose another folder with --run"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_run_does_not_touch_another() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run");
        let said = |start| Folder::open(&path, start).unwrap_err().to_string();
        Folder::open(&path, Start::New).unwrap();
        Folder::open(&path, Start::New).unwrap(); // still empty
        assert!(said(Start::Resume).contains("leave out --resume"), "{}", said(Start::Resume));
        fs::write(path.join(CHECKPOINT), b"precious").unwrap();
        assert!(said(Start::New).contains("--resume") && said(Start::New).contains("--run"));
        Folder::open(&path, Start::Resume).unwrap();
        assert!(path.join(CHECKPOINT).exists());
        Folder::open(&path, Start::Replace).unwrap();
        assert!(!path.join(CHECKPOINT).exists());
        // A model without its checkpoint is also of value, but can't be resumed.
        fs::write(path.join(MODEL), b"precious").unwrap();
        assert!(!said(Start::New).contains("--resume"), "{}", said(Start::New));
        assert!(said(Start::Resume).contains("--run"), "{}", said(Start::Resume));
        assert!(path.join(MODEL).exists());
    }

    #[test]
    fn what_a_run_left_before_its_first_checkpoint_is_not_in_the_way() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path();
        let ours = ["checkpoint.part", "tokenizer.json", "events.out.tfevents.1700000000.host.1"];
        for name in ours.iter().chain(&["notes.txt"]) {
            fs::write(path.join(name), b"").unwrap();
        }
        let said = Folder::open(path, Start::Resume).unwrap_err().to_string();
        assert!(said.contains("leave out --resume"), "{said}");
        // Without a lock they need not be of a run of ours, however often one tries.
        Folder::open(path, Start::New).unwrap_err();
        let said = Folder::open(path, Start::New).unwrap_err().to_string();
        assert!(
            said.contains("another program") && ours.iter().all(|name| path.join(name).exists())
        );
        fs::write(path.join(LOCK), b"").unwrap();
        Folder::open(path, Start::New).unwrap();
        assert!(ours.iter().all(|name| !path.join(name).exists()), "files of ours stay");
        assert!(path.join("notes.txt").exists(), "a file of the reader's is gone");
    }

    #[test]
    fn a_folder_has_one_training_at_a_time() {
        let folder = tempfile::tempdir().unwrap();
        let first = Folder::open(folder.path(), Start::New).unwrap();
        for start in [Start::New, Start::Replace] {
            let said = Folder::open(folder.path(), start).unwrap_err().to_string();
            assert!(said.contains("another training") && said.contains("--run"), "{said}");
        }
        fs::write(folder.path().join(CHECKPOINT), b"").unwrap();
        assert!(Folder::open(folder.path(), Start::Resume).is_err());
        // Even while a process that has just been started has its file.
        let inherited = first.lock.try_clone().unwrap();
        drop(first);
        Folder::open(folder.path(), Start::Resume).unwrap();
        drop(inherited);
    }

    /// The runs `all`, with `!` before the damaged ones, `@` before when one began, and behind it its kind if it has a
    /// checkpoint: the latest one of a kind, and those that are named.
    fn latest_of(all: &str, kind: Option<Kind>) -> (String, String) {
        let runs = tempfile::tempdir().unwrap();
        for one in all.split(' ') {
            let (name, began) = one.split_once('@').unwrap_or((one, ""));
            let folder = runs.path().join(name.trim_start_matches('!'));
            crate::testing::put(&folder, MODEL, &one[..1]);
            let header = serde_json::json!({ "started": began.get(..1) });
            fs::write(folder.join(files::METRICS), format!("{header}\n{{}}\n")).unwrap();
            let its = [("digits", Kind::Digits), ("text", Kind::Text)];
            if let Some((_, kind)) = its.into_iter().find(|(word, _)| began.ends_with(word)) {
                let bytes = checkpoint::pack(kind, &header, []).unwrap();
                fs::write(folder.join(CHECKPOINT), bytes).unwrap();
                fs::remove_file(folder.join(files::METRICS)).unwrap();
            }
        }
        let (found, notes) = with_notes(runs.path(), kind, |run| {
            fs::read_to_string(run.join(MODEL)).ok().filter(|text| text != "!").ok_or("damaged")
        });
        let name = |run: &Path| run.file_name().unwrap().to_str().unwrap().to_owned();
        let notes =
            notes.iter().map(|note| name(Path::new(note.strip_suffix(": damaged").unwrap())));
        (found.map(|(run, _)| name(&run)).unwrap_or_default(), notes.collect::<Vec<_>>().join(" "))
    }

    #[test]
    fn the_latest_run_is_the_one_that_began_last_of_its_kind_and_can_be_used() {
        let of_both = "c@2digits !b@3digits d@5text !e@4digits a@1digits f@0";
        for (all, kind, taken, named) in [
            (of_both, Some(Kind::Digits), "c", "e b"),
            (of_both, Some(Kind::Text), "d", ""),
            (of_both, None, "d", ""),
            // Without a checkpoint it is dated by its metrics, or counts as the oldest.
            ("a@1digits f@0 g@2 h", Some(Kind::Digits), "g", ""),
            ("x !z !y@1", None, "x", "y"),
            ("x@1 !y@1 !z", None, "x", ""),
            // Of those that began in one second the last number counts.
            ("x@1 x-2@1 x-9@1 x-10@1", None, "x-10", ""),
            ("x-9@2 !x-10@2 x-11@1 !b@3 !a@0 !c", None, "x-9", "b x-10"),
            ("!x@1 !y", None, "", "x y"),
        ] {
            assert_eq!(latest_of(all, kind), (taken.to_owned(), named.to_owned()), "{all}");
        }
        assert_eq!(latest(Path::new("no such folder"), None, checkpoint::whole), None);
    }

    #[test]
    fn a_place_that_cannot_be_written_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        fs::write(&file, b"").unwrap();
        let error = Folder::open(&file.join("run"), Start::New).unwrap_err().to_string();
        assert!(error.contains("file") && error.contains("another folder with --run"), "{error}");
    }
}
