//! The files of a run's folder: their names, and how they are written.

use crate::{
    Error, Result,
    run::disk::{self as fs, File},
};
use serde::Serialize;
use std::{
    io::{self, ErrorKind, Write},
    path::Path,
};

/// The whole state's file.
pub const CHECKPOINT: &str = "checkpoint";
/// The weights' file.
pub const MODEL: &str = "model.safetensors";
/// The metrics' file.
pub const METRICS: &str = "metrics.jsonl";
/// The image's file.
pub const CURVES: &str = "curves.svg";
/// The file of what makes a language model's tokens.
pub const TOKENIZER: &str = "tokenizer.json";
/// What a run leaves, apart from its event files and the tokenizer.
pub const ALL: [&str; 4] = [CHECKPOINT, METRICS, MODEL, CURVES];
/// How the name of a file that is being written ends.
pub const PART: &str = "part";

/// Writes a file that is whole at every moment: next to its place, flushed, then renamed.
///
/// # Errors
/// [`Error::Damaged`] if the folder can't be written or the disk is full; what was there before stays.
pub fn write_whole(path: &Path, bytes: &[u8]) -> Result<()> {
    replace(path, bytes).map_err(|error| not_written(path, &error))
}

/// [`write_whole`], for who says in other words what fails.
///
/// # Errors
/// The system's.
// ANCHOR: replace
pub fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let part = path.with_added_extension(PART);
    let write = || {
        let mut file = File::create(&part)?;
        file.write_all(bytes)?;
        file.sync_all()?; // on the disk, not only in the system's memory
        fs::rename(&part, path) // all at once
    };
    write().inspect_err(|_| {
        let _ = fs::remove_file(&part); // half a file is of no use
    })?;
    // The new name is an entry of the folder, which must also reach the disk.
    if let Some(folder) = path.parent().and_then(|p| File::open(p).ok()) {
        let _ = folder.sync_all(); // not every file system can
    }
    Ok(())
}
// ANCHOR_END: replace

/// Writes `metrics.jsonl` into a run's folder: a line about the run, then one for each entry.
///
/// # Errors
/// [`Error::Damaged`] if it can't be written.
pub fn write_metrics(
    folder: &Path,
    about: &serde_json::Value,
    entries: &[impl Serialize],
) -> Result<()> {
    let mut text = format!("{about}\n");
    for entry in entries {
        let line = serde_json::to_string(entry);
        text += &line.map_err(|e| Error::Message(format!("the metrics can't be written: {e}")))?;
        text.push('\n');
    }
    write_whole(&folder.join(METRICS), text.as_bytes())
}

/// The message for a file that can't be written. `--resume` is a way out only where there is a checkpoint.
pub fn not_written(path: &Path, error: &io::Error) -> Error {
    let full = [ErrorKind::StorageFull, ErrorKind::QuotaExceeded, ErrorKind::FileTooLarge];
    let first =
        if full.contains(&error.kind()) { "make room" } else { "see that it can be written" };
    let way = if path.with_file_name(CHECKPOINT).exists() {
        format!("{first}, then go on with --resume")
    } else {
        format!("{first} and start again, or choose another folder with --run")
    };
    Error::damaged(path, format!("it can't be written ({error}); {way}"))
}

/// The message for a folder that can't be made, or a file that can't be written in it before there is anything of value; it
/// names the option for another one.
pub fn unwritable(path: &Path, error: &io::Error, option: &str) -> Error {
    Error::damaged(
        path,
        format!("it can't be written ({error}); choose another folder with {option}"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn a_file_is_replaced_whole() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.b");
        write_whole(&path, b"one").unwrap();
        write_whole(&path, b"two").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"two");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "a part is left");
    }

    #[test]
    fn a_place_that_cannot_be_written_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        fs::write(&file, b"").unwrap();
        assert!(write_whole(&file.join("x"), b"").is_err());
        // A folder in the file's place: the rename fails, and no part stays behind.
        let place = folder.path().join("place");
        crate::testing::put(&place, "full", "");
        let said = write_whole(&place, b"x").unwrap_err().to_string();
        assert!(!folder.path().join("place.part").exists());
        // Only a checkpoint can be gone on from.
        assert!(said.contains("start again") && !said.contains("--resume"), "{said}");
        assert!(said.contains("see that it can be written") && !said.contains("room"), "{said}");
        let said = not_written(&place, &ErrorKind::StorageFull.into()).to_string();
        assert!(said.contains("make room and start again"), "{said}");
        fs::write(folder.path().join(CHECKPOINT), b"").unwrap();
        let said = write_whole(&place, b"x").unwrap_err().to_string();
        assert!(said.contains("--resume") && !said.contains("--run"), "{said}");
    }
}
