//! The files in `notebooks/`.

use super::{format::Notebook, pages::from_pages};
use crate::page::Page;
use anyhow::{Context, Result};
use std::{fs, io::Write as _, path::Path};

/// What happened to a notebook.
#[derive(Clone, Debug, PartialEq)]
pub enum Change {
    /// The file is what the page makes.
    Same,
    /// The file was written, or would have to be.
    Changed(String),
    /// The file was removed, or would have to be: no page makes it.
    Leftover,
}

/// Brings `notebooks/` up to the pages. With `check`, nothing is written. Returns what changed, or would.
///
/// # Errors
/// As [`from_pages`], and if a notebook can't be read or written.
pub fn sync(root: &Path, pages: &[Page], check: bool) -> Result<Vec<(String, Change)>> {
    let folder = root.join("notebooks");
    let made = from_pages(root, pages)?;
    let mut changes = Vec::new();
    for (name, mut notebook) in made.iter().cloned() {
        let file = folder.join(format!("{name}.ipynb"));
        let change = if file.is_file() {
            let old = Notebook::read(&file)?;
            let differs = old.differs_from(&notebook);
            notebook.keep_outputs_of(&old);
            differs.map_or(Change::Same, Change::Changed)
        } else {
            Change::Changed("there is no such notebook yet".to_owned())
        };
        if !check && change != Change::Same {
            write(&file, &notebook)?;
        }
        changes.push((name, change));
    }
    for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
        let file = entry.path();
        let name =
            file.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
        if file.extension().is_some_and(|extension| extension == "ipynb")
            && name.chars().take(2).filter(char::is_ascii_digit).count() == 2
            && !made.iter().any(|(other, _)| *other == name)
        {
            if !check {
                fs::remove_file(&file)
                    .with_context(|| format!("can't remove {}", file.display()))?;
            }
            changes.push((name, Change::Leftover));
        }
    }
    Ok(changes)
}

/// Writes a notebook as a whole or not at all.
///
/// # Errors
/// If the file can't be written.
pub fn write(file: &Path, notebook: &Notebook) -> Result<()> {
    let text = notebook.json()?;
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
