//! What the chapters take: `{{#map times}}` and, in a sentence, the hours that reading and exercises take in all,
//! `{{#map hours}}` and `{{#map practice}}`.
//!
//! Nothing here is typed: how long a page takes to read is counted (see [`crate::markdown::reading_minutes`]), and what else
//! a chapter takes is the note on its opener.

use crate::{exercises, html, text};
use anyhow::{Context, Result};
use lab::Chapter;
use std::{fmt::Write as _, path::Path};

/// The placeholder for the minutes that pages and chapters take, until all pages are expanded: `names` are their paths
/// with a space between them.
pub fn minutes_mark(names: &str) -> String {
    format!("{MINUTES}{names}{END}")
}

const MINUTES: &str = "<!-- minutes ";
const END: &str = " -->";

/// A text with the minutes in place of each mark (see [`minutes_mark`]).
///
/// # Errors
/// If a mark does not end.
pub fn with_minutes(text: &str, minutes: impl Fn(&str) -> u64) -> Result<String> {
    text::replaced(text, MINUTES, END, |names| Ok(minutes(names).to_string()))
}

/// The hours that all exercises take, by their READMEs.
///
/// # Errors
/// If one can't be read or gives no minutes.
pub fn practice(root: &Path) -> Result<u64> {
    let minutes = |exercise: &exercises::Exercise| {
        let effort = &exercise.readme.effort;
        let first = effort.split_whitespace().next();
        first.and_then(|minutes| minutes.parse::<u64>().ok()).with_context(|| {
            format!("the exercise {} has `{effort}` instead of its minutes", exercise.id())
        })
    };
    let all = exercises::all(root)?;
    Ok(all.iter().map(minutes).sum::<Result<u64>>()?.div_ceil(60))
}

/// The placeholder for the hours that all chapters take until all pages are expanded.
pub const HOURS_MARK: &str = "<!-- hours -->";

/// The chapters with what they take, as a list. The minutes are marks (see [`minutes_mark`]), and directives
/// in the notes are left for the caller.
///
/// # Errors
/// If a chapter's page can't be read or its first screen has no note.
pub fn times(root: &Path, chapters: &[Chapter], up: &str) -> Result<String> {
    let mut out = String::new();
    for chapter in chapters {
        let page = Path::new(&chapter.folder()).join("README.md");
        let file = root.join("book/src").join(&page);
        let text = text::read(&file)?;
        let note = note(&text).with_context(|| {
            format!("{} has no `> [!NOTE]` before its first section", file.display())
        })?;
        let _ = writeln!(
            out,
            "- **[{}. {}]({up}{})**, {} minutes to read. {note}",
            chapter.number,
            html::text(chapter.title),
            page.display(),
            minutes_mark(&chapter.folder()),
        );
    }
    Ok(out)
}

/// The first paragraph of the note on a page's first screen, on one line. A sentence that leads to something
/// below it (`…:`) is left out.
fn note(page: &str) -> Option<String> {
    let screen = page.split("\n## ").next().unwrap_or(page);
    let quote = screen.lines().skip_while(|line| line.trim() != "> [!NOTE]").skip(1);
    let lines: Vec<&str> = quote
        .map_while(|line| line.strip_prefix('>'))
        .map(str::trim)
        .take_while(|line| !line.is_empty())
        .collect();
    let mut text = lines.join(" ");
    if text.ends_with(':') {
        let end = text.rfind(". ").map_or(0, |at| at + 1);
        text.truncate(end);
    }
    (!text.is_empty()).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_is_one_on_the_first_screen_without_what_leads_on() {
        let page = "# A\n\nText.\n\n> [!NOTE]\n> You need nothing.\n> Run\n> this:\n>\n> ```\n> x\n> ```\n";
        assert_eq!(note(page).as_deref(), Some("You need nothing."));
        assert_eq!(note("# A\n\n## Later\n\n> [!NOTE]\n> Too late.\n"), None);
    }
}
