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
        let path = entry.path.as_path();
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

    #[test]
    fn a_section_says_what_it_is_for() {
        assert_eq!(
            goal("# A\n\n**You will be able to a**\nb.\n\nC.").unwrap(),
            format!("{GOAL} a b.")
        );
        assert!(goal("# Two\n\nWho goes on?\n").unwrap_err().to_string().contains("Who goes on?"));
        let none = list(Path::new(""), &[], Path::new("01-a/README.md")).unwrap_err().to_string();
        assert!(none.contains("01-a has no sections"), "{none}");
    }
}
