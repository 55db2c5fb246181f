//! What came of exercises whose files have not changed since, in `exercises.json` in the target folder.

use super::exercise::Exercise;
use crate::disk;
use anyhow::{Context, Result};
use serde_json::{Map, Value, json};
use std::{fs, hash::Hasher, path::Path};

/// A digest of everything that the outcome depends on: the exercise, its test, the chapter's code.
pub(super) fn key(root: &Path, exercise: &Exercise) -> Result<String> {
    let chapter = root.join("chapters").join(&exercise.chapter);
    let mut files =
        vec![exercise.file(), exercise.folder.join("test.rs"), chapter.join("Cargo.toml")];
    files.extend(disk::files(&chapter.join("src")).unwrap_or_default());
    // The standard hasher with its fixed keys: enough to notice a change, and not kept for long.
    let mut hasher = std::hash::DefaultHasher::new();
    for file in files {
        hasher.write(&fs::read(&file).with_context(|| format!("can't read {}", file.display()))?);
    }
    Ok(format!("{:016x}", hasher.finish()))
}

/// Whether an exercise was solved, if nothing changed since.
pub(super) fn remembered(file: &Path, exercise: &Exercise, key: &str) -> Option<bool> {
    let memory: Value = serde_json::from_str(&fs::read_to_string(file).ok()?).ok()?;
    let entry = &memory[exercise.id()];
    if entry["key"] == key { entry["solved"].as_bool() } else { None }
}

/// Forgetting costs a run of the test, so a failure to write is no error.
pub(super) fn remember(file: &Path, exercise: &Exercise, key: &str, solved: bool) {
    let old = fs::read_to_string(file).ok();
    let mut memory: Map<String, Value> =
        old.and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default();
    memory.insert(exercise.id(), json!({"key": key, "solved": solved}));
    let part = file.with_extension("json.part");
    let text = Value::Object(memory).to_string();
    let _ = fs::write(&part, text).and_then(|()| fs::rename(&part, file));
}
