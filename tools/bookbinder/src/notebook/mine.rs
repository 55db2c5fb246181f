//! The copies that a reader works in: git leaves them alone, and what a cell has printed shows once it runs, so that a
//! prediction is not answered right below it.

use super::{
    format::Notebook,
    made::{KEY, is_made},
    start::START,
    sync::{of_the_pages, write, write_json},
};
use crate::text;
use anyhow::Result;
use serde_json::Value;
use std::path::Path;

/// Their folder. It lies beside `notebooks`, so that all that a notebook names is where it was.
pub const MINE: &str = "my-notebooks";

/// Brings the copies up to the notebooks that the pages made: writes those that are missing, those in which nobody has changed a
/// cell while the page has, and the one to `reset`. Returns the names of the others whose page has changed.
///
/// # Errors
/// If a file can't be read or written.
pub fn bring(root: &Path, reset: Option<&str>) -> Result<Vec<String>> {
    let mut kept = Vec::new();
    for (name, file) in of_the_pages(root) {
        let copy = root.join(MINE).join(file.file_name().unwrap_or_default());
        let mut notebook: Value = serde_json::from_str(&text::read(&file)?)?;
        if reset != Some(&name) && copy.is_file() {
            let old = text::read(&copy)?;
            let old: Value = serde_json::from_str(&old).unwrap_or_default();
            if old["metadata"][KEY]["made"] == notebook["metadata"][KEY]["made"] {
                continue;
            }
            if !is_made(&name, &old) {
                kept.push(name);
                continue;
            }
        }
        for cell in notebook["cells"].as_array_mut().into_iter().flatten() {
            if cell["cell_type"] == "code" {
                cell["metadata"]["jupyter"]["outputs_hidden"] = true.into();
                cell["execution_count"] = Value::Null;
            }
        }
        write_json(&copy, &notebook)?;
    }
    Ok(kept)
}

/// Writes where the reader begins, unless the reader has changed it.
///
/// # Errors
/// If the file can't be read or written.
pub fn bring_start(root: &Path, start: &Notebook) -> Result<()> {
    let copy = root.join(MINE).join(format!("{START}.ipynb"));
    let old = if copy.is_file() { Some(text::read(&copy)?) } else { None };
    let changed = |old: String| !is_made(START, &serde_json::from_str(&old).unwrap_or_default());
    if old.is_some_and(changed) { Ok(()) } else { write(&copy, start) }
}
