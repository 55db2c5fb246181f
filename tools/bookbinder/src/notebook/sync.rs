//! The files in `notebooks/`.

use super::{
    format::{Notebook, as_jupyter},
    made::is_made,
    pages::from_pages,
};
use crate::{page::Page, text};
use anyhow::{Context, Result};
use lab::files::inside;
use serde_json::Value;
use std::{
    fs,
    io::Write as _,
    path::{Path, PathBuf},
};

/// What happened to a notebook.
#[derive(Clone, Debug, PartialEq)]
pub enum Change {
    /// The file is what the page makes.
    Same,
    /// The file was written, or would have to be.
    Changed(String),
    /// Somebody has changed the file: it stays as it is.
    Yours(String),
    /// The file was removed, or would have to be: it is as a page made it, and no page does any more.
    Leftover,
}

/// Brings `notebooks/` up to the pages. With `check`, nothing is written. Returns what changed, or would. Only what the pages
/// made and nobody has changed is written over or removed.
///
/// # Errors
/// As [`from_pages`], and if a notebook can't be read or written.
pub fn sync(root: &Path, pages: &[Page], check: bool) -> Result<Vec<(String, Change)>> {
    let folder = root.join("notebooks");
    let file = |name: &str| folder.join(format!("{name}.ipynb"));
    let mut changes = Vec::new();
    for (name, mut notebook) in from_pages(root, pages)? {
        let change = change(&file(&name), &name, &mut notebook)?;
        if let (false, Change::Changed(_)) = (check, &change) {
            write(&file(&name), &notebook)?;
        }
        changes.push((name, change));
    }
    for (name, path) in of_the_pages(root) {
        if !changes.iter().any(|(other, _)| *other == name) {
            if !check {
                fs::remove_file(&path)
                    .with_context(|| format!("can't remove {}", path.display()))?;
            }
            changes.push((name, Change::Leftover));
        }
    }
    Ok(changes)
}

/// The notebooks that the pages made and nobody has changed since, by name, with their files. All others are the reader's.
pub fn of_the_pages(root: &Path) -> Vec<(String, PathBuf)> {
    inside(&root.join("notebooks"))
        .into_iter()
        .filter_map(|path| {
            let name = path.file_stem()?.to_str()?.to_owned();
            let notebook = || serde_json::from_str(&fs::read_to_string(&path).ok()?).ok();
            let ours = path.extension()? == "ipynb" && is_made(&name, &notebook()?);
            ours.then_some((name, path))
        })
        .collect()
}

/// What has to become of `file`, so that it is `notebook`, which takes over what the file's cells printed.
fn change(file: &Path, name: &str, notebook: &mut Notebook) -> Result<Change> {
    if !file.is_file() {
        return Ok(Change::Changed("there is no such notebook yet".to_owned()));
    }
    let text = text::read(file)?;
    let old = match Notebook::parse(&text) {
        Ok(old) => old,
        Err(error) => return Ok(Change::Yours(format!("it can't be read: {error}"))),
    };
    notebook.keep_outputs_of(&old);
    Ok(match old.differs_from(notebook) {
        None if old.made == notebook.made => Change::Same,
        None => Change::Changed("it did not say that the pages made it".to_owned()),
        Some(why) if is_made(name, &serde_json::from_str(&text)?) => Change::Changed(why),
        Some(why) => Change::Yours(why),
    })
}

/// Writes a notebook as a whole or not at all.
///
/// # Errors
/// If the file can't be written.
pub fn write(file: &Path, notebook: &Notebook) -> Result<()> {
    write_json(file, &notebook.value())
}

/// The same of a notebook's JSON.
pub(super) fn write_json(file: &Path, notebook: &Value) -> Result<()> {
    let text = as_jupyter(notebook)?;
    let folder = file.parent().unwrap_or(Path::new("."));
    let wrote = || -> std::io::Result<()> {
        fs::create_dir_all(folder)?;
        let part = file.with_extension("ipynb.part");
        let mut out = fs::File::create(&part)?;
        out.write_all(text.as_bytes())?;
        out.sync_all()?;
        fs::rename(&part, file)
    };
    wrote().with_context(|| format!("can't write {}", file.display()))
}
