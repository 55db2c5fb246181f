//! Text as it is read, every line ending alike, whatever system wrote it; and with parts of it replaced.

use anyhow::{Context, Result};
use std::{fs, ops::Range, path::Path};

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

/// `text` with these ranges replaced, which are in order and apart.
pub(crate) fn edited(
    text: &str,
    edits: impl IntoIterator<Item = (Range<usize>, String)>,
) -> String {
    let (mut out, mut at) = (String::with_capacity(text.len()), 0);
    for (range, new) in edits {
        out.push_str(&text[at..range.start]);
        out.push_str(&new);
        at = range.end;
    }
    out + &text[at..]
}

/// `text` with what `made` makes of each part from `open` to `close` in its place.
pub(crate) fn replaced(
    text: &str,
    open: &str,
    close: &str,
    mut made: impl FnMut(&str) -> Result<String>,
) -> Result<String> {
    let mut parts = text.split(open);
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (inside, rest) = part
            .split_once(close)
            .with_context(|| format!("has `{}` without `{}`", open.trim(), close.trim()))?;
        out += &made(inside)?;
        out += rest;
    }
    Ok(out)
}
