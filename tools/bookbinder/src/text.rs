//! Text as it is read: every line ends alike, whatever system wrote it.

use anyhow::{Context, Result};
use std::{fs, path::Path};

/// A text file, with `\n` at each line's end.
pub(crate) fn read(file: &Path) -> Result<String> {
    let text =
        fs::read_to_string(file).with_context(|| format!("can't read {}", file.display()))?;
    Ok(with_plain_ends(text))
}

/// Windows ends lines with `\r\n`, and git gives it such files where it is told to.
pub(crate) fn with_plain_ends(text: String) -> String {
    if text.contains('\r') { text.replace("\r\n", "\n") } else { text }
}
