//! What a run leaves in its folder:
//!
//! | file | what |
//! | --- | --- |
//! | `.lock` | nothing; it is locked while a training is at work in the folder |
//! | `checkpoint` | the whole state, see [`crate::runner::checkpoint`] |
//! | `metrics.jsonl` | a line about the run, then a line for each epoch |
//! | `curves.svg` | loss and accuracy over the epochs |
//! | `model.safetensors` | the weights, see [`crate::runner::serve`] |
//! | `events.out.tfevents.…` | the curves for TensorBoard, see [`crate::runner::events`] |

use crate::{
    Error, Result,
    learning::{metrics::Epoch, snapshot::Header},
    runner::{
        checkpoint,
        curves::curves,
        events, export,
        files::{self, CHECKPOINT, let_large_writes_fail, write_whole},
        form::Form,
        job::Start,
        outcome::Outcome,
        serve::Classifier,
        watch::Begin,
    },
};
use lab::{
    data::Split,
    machine::{Machine, Provenance},
};
use std::{
    fs::{self, File, TryLockError},
    path::{Path, PathBuf},
    time::Duration,
};

pub use files::{CURVES, METRICS, MODEL};

/// The file that a training holds locked in its folder. The system lets go of it when the program ends, however it does.
const LOCK: &str = ".lock";

/// The folders in `runs` with a `file`, the newest file first.
pub fn youngest_first(runs: &Path, file: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(runs).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut dated: Vec<_> = entries
        .filter_map(|run| Some((fs::metadata(run.join(file)).ok()?.modified().ok()?, run)))
        .collect();
    dated.sort();
    dated.into_iter().rev().map(|(_, run)| run).collect()
}

/// The folder of one run, which no other training can open at the same time.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
    _lock: File,
}

impl Folder {
    /// Makes the folder, and sees whether it fits what is to be done with it. What a run has left that ended before its
    /// first checkpoint is of no value: a new run replaces it.
    ///
    /// # Errors
    /// [`Error::Damaged`] if a new run finds another one there, one that goes on finds none, or another training is at
    /// work; [`Error::Lab`] if the folder can't be made or written.
    pub fn open(path: &Path, start: Start) -> Result<Self> {
        if start == Start::Resume && !path.join(CHECKPOINT).exists() {
            return Err(checkpoint::missing(path));
        }
        let_large_writes_fail();
        fs::create_dir_all(path).map_err(|e| lab::Error::io(path, e))?;
        let lock = locked(path)?;
        let results = files::ALL.map(|name| path.join(name));
        if start == Start::New && results.iter().any(|file| file.exists()) {
            return Err(Error::Damaged { path: path.to_owned(), why: taken(path).into() });
        }
        if start != Start::Resume {
            let parts = results.each_ref().map(|file| file.with_added_extension(files::PART));
            let old = events::files(path).into_iter().chain(parts).chain(results);
            for file in old.filter(|file| file.exists()) {
                fs::remove_file(&file).map_err(|e| lab::Error::io(&file, e))?;
            }
        }
        Ok(Self { path: path.to_owned(), _lock: lock })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Writes `metrics.jsonl`: `about` (from [`about`]), then a line for each epoch.
    ///
    /// # Errors
    /// [`Error::Damaged`] if it can't be written.
    pub fn metrics(&self, about: &str, history: &[Epoch]) -> Result<()> {
        let mut text = format!("{about}\n");
        for epoch in history {
            let line = serde_json::to_string(epoch)
                .map_err(|e| Error::Config(format!("the metrics can't be written: {e}")))?;
            text.push_str(&line);
            text.push('\n');
        }
        write_whole(&self.path.join(METRICS), text.as_bytes())
    }

    /// Writes the weights, with what the training images look like and how the weights do on test images in fewer bits, and
    /// the curves.
    ///
    /// # Errors
    /// [`Error::Damaged`] if they can't be written.
    pub fn finish(&self, outcome: &Outcome, train: &Split, test: &Split) -> Result<()> {
        let trained = Classifier::from_weights(outcome.model, &outcome.weights)?;
        // One who has stopped a run does not wait for it.
        let tested = if outcome.stopped.is_some() { None } else { export::tested(&trained, test)? };
        let form = Form::of(train, &outcome.source);
        trained.with_tested(tested).with_form(form).save(&self.path.join(MODEL))?;
        if outcome.history.is_empty() {
            return Ok(());
        }
        write_whole(&self.path.join(CURVES), curves(&outcome.history).as_bytes())
    }
}

/// The folder's lock, if it is free. Its file also shows, before the first epoch, whether the folder can be written.
fn locked(folder: &Path) -> Result<File> {
    let file = File::options().create(true).truncate(false).write(true).open(folder.join(LOCK));
    let file = file.map_err(|e| lab::Error::io(folder, e))?;
    // A process that starts another one hands it all its open files for a moment, and with them the lock of a run that has
    // ended: what is locked after a fifth of a second is at work.
    for _ in 0..20 {
        match file.try_lock() {
            Err(TryLockError::WouldBlock) => std::thread::sleep(Duration::from_millis(10)),
            // Not every file system has locks.
            Ok(()) | Err(TryLockError::Error(_)) => return Ok(file),
        }
    }
    Err(Error::Damaged {
        path: folder.to_owned(),
        why: "another training is at work in this folder; wait for its end, or choose another folder with --run"
            .into(),
    })
}

/// Why a new run can't have a folder that contains results.
fn taken(folder: &Path) -> &'static str {
    if folder.join(CHECKPOINT).exists() {
        "this folder contains a run already; go on with it by --resume, or choose another folder with --run"
    } else {
        "this folder contains what a run has left, without its checkpoint; choose another folder with --run"
    }
}

/// The line about a run of a model with so many `parameters`, JSON: what it computes, on what, from what, and where it comes from.
pub fn about(begin: &Begin, at: &Header, parameters: usize) -> String {
    let (machine, from) = (Machine::detect(), Provenance::now());
    serde_json::json!({
        "settings": begin.settings,
        "parameters": parameters,
        "device": begin.device.to_string(),
        "data": begin.data,
        "data_sha256": at.data,
        "train_images": begin.images.0,
        "test_images": begin.images.1,
        "cpu": machine.cpu,
        "cores": machine.cores,
        "gpus": machine.gpus,
        "started": at.started,
        "command": from.command,
        "commit": from.commit,
        "rustc": from.rustc,
        "flags": from.flags,
    })
    .to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::SystemTime;

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
        let ours = ["checkpoint.part", "events.out.tfevents.1700000000.host.1"];
        for name in ours.iter().chain(&["notes.txt"]) {
            fs::write(path.join(name), b"").unwrap();
        }
        let said = Folder::open(path, Start::Resume).unwrap_err().to_string();
        assert!(said.contains("leave out --resume"), "{said}");
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
        drop(first);
        Folder::open(folder.path(), Start::Resume).unwrap();
    }

    #[test]
    fn the_youngest_file_comes_first_and_a_run_without_it_not_at_all() {
        let runs = tempfile::tempdir().unwrap();
        let ages = [("middle", 20), ("old", 30), ("new", 10)];
        for (name, age) in ages {
            fs::create_dir(runs.path().join(name)).unwrap();
            let file = File::create(runs.path().join(name).join(MODEL)).unwrap();
            file.set_modified(SystemTime::now() - Duration::from_secs(age)).unwrap();
        }
        fs::create_dir(runs.path().join("none")).unwrap();
        let found = youngest_first(runs.path(), MODEL);
        assert_eq!(found, ["new", "middle", "old"].map(|name| runs.path().join(name)));
        assert!(youngest_first(&runs.path().join("missing"), MODEL).is_empty());
    }

    #[test]
    fn a_place_that_cannot_be_written_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        fs::write(&file, b"").unwrap();
        let error = Folder::open(&file.join("run"), Start::New).unwrap_err().to_string();
        assert!(error.contains("file"), "{error}");
    }
}
