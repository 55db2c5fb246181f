//! Quotes from files: `{{#include path}}`, `{{#include path:anchor}}`, and `{{#include path:from:to}}` for the lines of
//! an output, which can't have anchors.
//!
//! mdBook's own include logs a missing file and goes on; here it stops the build, and a quote that does
//! not fit on a screen also does.

use crate::text;
use anyhow::{Context, Result, bail};
use std::path::Path;

/// The most lines of code that a page may quote at once.
pub const LINES: usize = 25;
/// The widest line of code that a page may quote.
pub const COLUMNS: usize = 80;

/// The text of `what` (`path`, `path:anchor` or `path:from:to`), relative to `folder`, without the anchors' own lines and
/// without the indentation that all its lines share.
///
/// # Errors
/// If the file or the anchor does not exist.
pub fn include(folder: &Path, what: &str) -> Result<String> {
    let (path, anchor) = match what.split_once(':') {
        Some((path, anchor)) => (path, Some(anchor)),
        None => (what, None),
    };
    let file = folder.join(path);
    let text = text::read(&file).with_context(|| format!("`{path}` can't be included"))?;
    let Some(anchor) = anchor else {
        return Ok(dedent(text.lines().filter(|line| mark(line).is_none())));
    };
    if let Some((from, to)) = anchor.split_once(':') {
        let (from, to) = (from.parse::<usize>(), to.parse::<usize>());
        let (Ok(from @ 1..), Ok(to)) = (from, to) else {
            bail!("`{what}`: lines are two numbers from 1, such as `{path}:1:7`");
        };
        let lines: Vec<&str> = text.lines().collect();
        let Some(lines) = lines.get(from - 1..to) else {
            bail!("`{path}` has {} lines, and {from} to {to} are asked for", lines.len());
        };
        return Ok(dedent(lines.iter().copied()));
    }
    let (mut inside, mut seen, mut lines) = (false, false, Vec::new());
    for line in text.lines() {
        match mark(line) {
            Some(("ANCHOR", name)) if name == anchor => (inside, seen) = (true, true),
            Some(("ANCHOR_END", name)) if name == anchor => inside = false,
            None if inside => lines.push(line),
            _ => {}
        }
    }
    if !seen {
        bail!("`{path}` has no `ANCHOR: {anchor}`");
    }
    if inside {
        bail!("`{path}` has no `ANCHOR_END: {anchor}`");
    }
    Ok(dedent(lines))
}

/// Whether quoted code fits on a screen; the message tells by how much it does not.
///
/// # Errors
/// If there are more than [`LINES`] lines or one is wider than `columns`.
pub fn fits(code: &str, columns: usize) -> Result<()> {
    let lines = code.lines().count();
    if lines > LINES {
        bail!("the quote has {lines} lines; a page quotes at most {LINES}");
    }
    if let Some(wide) = code.lines().find(|line| line.chars().count() > columns) {
        bail!(
            "the quote has a line of {} columns, and at most {columns} fit: {}",
            wide.chars().count(),
            wide.trim()
        );
    }
    Ok(())
}

/// `ANCHOR: name` or `ANCHOR_END: name`, in whatever comment the language has.
fn mark(line: &str) -> Option<(&'static str, &str)> {
    let (kind, rest) = match line.split_once("ANCHOR_END:") {
        Some((_, rest)) => ("ANCHOR_END", rest),
        None => ("ANCHOR", line.split_once("ANCHOR:")?.1),
    };
    rest.split_whitespace().next().map(|name| (kind, name))
}

/// The lines without the indentation that they share and without blank ones at either end.
fn dedent<'l>(lines: impl IntoIterator<Item = &'l str>) -> String {
    let lines: Vec<&str> = lines.into_iter().collect();
    let indent = |line: &&str| line.len() - line.trim_start_matches(' ').len();
    let shared = lines.iter().filter(|line| !line.trim().is_empty()).map(indent).min().unwrap_or(0);
    let cut: Vec<&str> =
        lines.iter().map(|line| line.get(shared..).unwrap_or("").trim_end()).collect();
    cut.join("\n").trim_matches('\n').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn file(text: &str) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("a.rs"), text).unwrap();
        folder
    }

    #[test]
    fn an_anchor_is_quoted_without_marks_and_indentation() {
        let text = "fn f() {\n    // ANCHOR: outer\n    let a = 1;\n    // ANCHOR: inner\n        a\n    \
                    // ANCHOR_END: inner\n\n    // ANCHOR_END: outer\n}\n";
        let folder = file(text);
        assert_eq!(include(folder.path(), "a.rs:outer").unwrap(), "let a = 1;\n    a");
        assert_eq!(include(folder.path(), "a.rs:inner").unwrap(), "a");
        assert!(!include(folder.path(), "a.rs").unwrap().contains("ANCHOR"));
    }

    #[test]
    fn lines_are_quoted_by_their_numbers() {
        let folder = file("  one\n  two\n    three\n");
        assert_eq!(include(folder.path(), "a.rs:2:3").unwrap(), "two\n  three");
        assert_eq!(include(folder.path(), "a.rs:1:1").unwrap(), "one");
    }

    #[test]
    fn a_missing_file_or_anchor_is_an_error() {
        let folder = file("// ANCHOR: open\nlet a = 1;\n");
        for (what, says) in [
            ("b.rs", "b.rs"),
            ("b.rs:x", "b.rs"),
            ("a.rs:x", "no `ANCHOR: x`"),
            ("a.rs:open", "no `ANCHOR_END: open`"),
            ("a.rs:0:1", "from 1"),
            ("a.rs:1:x", "two numbers"),
            ("a.rs:1:3", "has 2 lines"),
            ("a.rs:2:0", "has 2 lines"),
        ] {
            let error = format!("{:#}", include(folder.path(), what).unwrap_err());
            assert!(error.contains(says), "{what}: {error}");
        }
    }

    #[test]
    fn a_quote_fits_on_a_screen() {
        assert!(fits(&"x\n".repeat(LINES), COLUMNS).is_ok());
        assert!(fits(&"x\n".repeat(LINES + 1), COLUMNS).is_err());
        assert!(fits(&"é".repeat(COLUMNS), COLUMNS).is_ok());
        assert!(fits(&"é".repeat(COLUMNS + 1), COLUMNS).is_err());
    }
}
