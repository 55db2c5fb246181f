//! Files and folders, with errors that name them.

use anyhow::{Context, Result};
use std::{
    ffi::OsStr,
    fs, io,
    path::{Path, PathBuf},
};

/// What is in a folder, in order.
pub(crate) fn entries(folder: &Path) -> Result<Vec<PathBuf>> {
    let read =
        || fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<io::Result<Vec<_>>>();
    let mut paths = read().with_context(|| format!("can't read {}", folder.display()))?;
    paths.sort();
    Ok(paths)
}

/// Every file in and below a folder, folder by folder.
pub(crate) fn files(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut all = Vec::new();
    for path in entries(folder)? {
        if path.is_dir() { all.extend(files(&path)?) } else { all.push(path) }
    }
    Ok(all)
}

/// Writes a file, and makes the folders that it needs.
pub(crate) fn write(file: &Path, text: impl AsRef<[u8]>) -> Result<()> {
    fs::create_dir_all(file.parent().unwrap_or(file))
        .and_then(|()| fs::write(file, text))
        .with_context(|| format!("can't write {}", file.display()))
}

/// Copies a file, and makes the folders that it needs.
pub(crate) fn copy(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to.parent().unwrap_or(to))
        .and_then(|()| fs::copy(from, to))
        .with_context(|| format!("can't copy {}", from.display()))?;
    Ok(())
}

/// Copies the files of a folder whose extensions are `wanted`, without those of folders in it.
pub(crate) fn copy_files(from: &Path, to: &Path, wanted: impl Fn(&str) -> bool) -> Result<()> {
    let extension = |file: &Path| wanted(file.extension().and_then(OsStr::to_str).unwrap_or(""));
    for file in entries(from)?.iter().filter(|file| file.is_file() && extension(file)) {
        copy(file, &to.join(file.file_name().unwrap_or_default()))?;
    }
    Ok(())
}
