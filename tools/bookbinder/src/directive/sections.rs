//! The sections of a chapter, on its opener: a link, the minutes, and what the reader will be able to do.

use super::map::minutes_mark;
use crate::{
    page::{Entry, is_opener},
    text,
};
use anyhow::{Context, Result, bail};
use std::{fmt::Write as _, path::Path};

/// What a section begins with: what it is for.
const GOAL: &str = "You will be able to";

/// The list on the opener at `opener`, in the order of the table of contents. Directives in the sections' first
/// sentences are left for the caller.
///
/// # Errors
/// If the page is no opener, or a section can't be read or does not begin with what it is for.
pub fn list(root: &Path, entries: &[Entry], opener: &Path) -> Result<String> {
    let folder = opener.parent().filter(|_| is_opener(opener));
    let folder = folder.context("only the opener of a chapter lists its sections")?;
    let mut out = String::new();
    for entry in entries {
        let Some(path) = entry.path.as_deref() else { continue };
        let Some(file) = path.file_name().filter(|_| path != opener) else { continue };
        if path.parent() != Some(folder) {
            continue;
        }
        let from = root.join("book/src").join(path);
        let text = text::read(&from)?;
        let goal = goal(&text).with_context(|| format!("in {}", from.display()))?;
        let _ = writeln!(
            out,
            "- [{}]({}) ({} min). {goal}",
            entry.title,
            file.display(),
            minutes_mark(&path.display().to_string()),
        );
    }
    if out.is_empty() {
        bail!("{} has no sections", folder.display());
    }
    Ok(out)
}

/// The first paragraph below the title, on one line: what the reader will be able to do.
fn goal(page: &str) -> Result<String> {
    let below = page.lines().skip_while(|line| !line.starts_with("# ")).skip(1);
    let first: Vec<&str> = below
        .map(str::trim)
        .skip_while(|line| line.is_empty())
        .take_while(|line| !line.is_empty())
        .collect();
    let text = first.join(" ").replace("**", "");
    if !text.starts_with(GOAL) {
        bail!("a section begins with \"{GOAL} …\", and not with \"{text}\"");
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn entry(title: &str, path: &str) -> Entry {
        Entry { title: title.to_owned(), path: Some(path.into()) }
    }

    #[test]
    fn an_opener_lists_its_sections_with_their_goals() {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("book/src/01-a");
        fs::create_dir_all(&folder).unwrap();
        let write = |file: &str, text: &str| fs::write(folder.join(file), text).unwrap();
        write("one.md", "# One\n\n**You will be able to count**\nto one.\n\nText.\n");
        write("two.md", "# Two\n\nYou will be able to go on.\n");
        let entries = [
            entry("1. A", "01-a/README.md"),
            entry("One", "01-a/one.md"),
            entry("◇ Two", "01-a/two.md"),
            entry("2. B", "02-b/README.md"),
        ];
        let made = |page: &str| list(root.path(), &entries, Path::new(page));
        assert_eq!(
            made("01-a/README.md").unwrap(),
            "- [One](one.md) (<!-- minutes 01-a/one.md --> min). You will be able to count to one.\n\
             - [◇ Two](two.md) (<!-- minutes 01-a/two.md --> min). You will be able to go on.\n"
        );
        assert!(made("02-b/README.md").unwrap_err().to_string().contains("no sections"));
        assert!(made("01-a/one.md").unwrap_err().to_string().contains("opener"));
        write("two.md", "# Two\n\nWho goes on?\n");
        assert!(format!("{:#}", made("01-a/README.md").unwrap_err()).contains("two.md"));
    }
}
