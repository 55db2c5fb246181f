//! An exercise on a page: the task, hints that fold out, how to check, and a folded solution.
//!
//! The contents of its folder are in [`crate::exercises`].

use crate::{
    exercises::{folders, readme, stub},
    html,
    page::Flavour,
    text,
};
use anyhow::{Context, Error, Result, anyhow};
use lab::{Chapter, names};
use std::{
    fmt::Write as _,
    path::{Path, PathBuf},
};

/// The folder of the exercise `CHAPTER/NAME`.
///
/// # Errors
/// If there is no such chapter or exercise; the message lists what there is.
pub fn folder(root: &Path, chapters: &[Chapter], which: &str) -> Result<PathBuf> {
    let (chapter, name) = which
        .split_once('/')
        .ok_or_else(|| anyhow!("an exercise is named CHAPTER/NAME, not `{which}`"))?;
    let chapter = lab::chapter::named(chapters, chapter)?;
    let exercises = root.join("chapters").join(chapter.folder()).join("exercises");
    let names = folders(&exercises);
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    Ok(exercises.join(names[names::named("exercise", name, &names)?]))
}

/// The exercise in `folder` as Markdown, its parts folded for a page.
///
/// # Errors
/// If a file is missing or the README has no title, no hint or no solution.
pub fn markdown(folder: &Path, which: &str, flavour: Flavour) -> Result<String> {
    let read = |name: &str| text::read(&folder.join(name));
    let readme = read("README.md")?;
    let exercise =
        readme::parse(&readme).with_context(|| format!("{}/README.md", folder.display()))?;
    let solution = code(&read("solution.rs")?).context("solution.rs")?;
    let check = format!("cargo run -- check {which}");
    let (head, yours, behind) = match flavour {
        Flavour::Html => (
            format!(" {{#exercise-{}}}", html::value_anchor(which)),
            format!("run this, which says whether it passes:\n\n```console\n{check}\n```\n"),
            format!(
                "\n<details class=\"solution\"><summary>Solution</summary>\n\n{}\n\n```rust\n{solution}\n```\n\n\
                 </details>\n\n</div>\n",
                exercise.solution
            ),
        ),
        // A run of all cells does not wait for tests of code that is yet to be written.
        Flavour::Notebook => (
            String::new(),
            format!(
                "run the cell below the hints, which says whether it passes, as `{check}` does in a terminal.\n"
            ),
            format!(
                "\n```rust,cell,asked\nstd::process::Command::new(\"cargo\")\n    \
                 .args([\"run\", \"-q\", \"--\", \"check\", \"{which}\"])\n    .status()?;\n```\n"
            ),
        ),
    };
    let mut out = format!(
        "### Exercise: {}{head}\n\n{}\n\n{}\n\nYour file is `chapters/{}/exercise.rs`; it is there as soon as you {yours}",
        exercise.title,
        exercise.effort,
        exercise.task,
        below_chapters(folder),
    );
    if flavour == Flavour::Html {
        out.insert_str(0, "<div class=\"exercise\">\n\n");
    }
    for (number, text) in (1..).zip(&exercise.hints) {
        let _ =
            write!(out, "\n<details><summary>Hint {number}</summary>\n\n{text}\n\n</details>\n");
    }
    Ok(out + &behind)
}

/// The folder from `chapters` on, with `/` on every system.
fn below_chapters(folder: &Path) -> String {
    let parts: Vec<String> =
        folder.components().map(|part| part.as_os_str().to_string_lossy().into_owned()).collect();
    let at = parts.iter().rposition(|part| part == "chapters").map_or(0, |at| at + 1);
    parts[at..].join("/")
}

/// The solution without the file's own heading and the part to work on.
fn code(text: &str) -> Result<String> {
    let shown = |(_, place, line): &(usize, stub::Place, &str)| {
        let mark = line.contains(stub::BEGIN) || line.contains(stub::END);
        !matches!(place, stub::Place::Stub(_)) && !mark && !line.trim_start().starts_with("//!")
    };
    let lines = stub::lines(text).map_err(Error::msg)?;
    let lines: Vec<&str> = lines.into_iter().filter(shown).map(|(_, _, line)| line).collect();
    Ok(lines.join("\n").trim().to_owned())
}
