//! Where the course's own files are.

use anyhow::{Result, bail};
use std::path::{Path, PathBuf};

/// The folder of the course: the one that holds `book/book.toml` and `chapters`, at or above the current
/// folder, or else the one that this program was built from.
pub fn root() -> Result<PathBuf> {
    let built_from = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    let here = std::env::current_dir().ok();
    here.iter()
        .flat_map(|here| here.ancestors().map(Path::to_owned))
        .chain([built_from])
        .find(|folder| folder.join("book/book.toml").is_file() && folder.join("chapters").is_dir())
        .map_or_else(
            || {
                bail!(
                    "the course's files are not here; change to the folder you cloned and try again"
                )
            },
            Ok,
        )
}

/// Where records are kept, unless the user chooses otherwise.
pub fn records() -> Result<PathBuf> {
    Ok(root()?.join("book/records"))
}
