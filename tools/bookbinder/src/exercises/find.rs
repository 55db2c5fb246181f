//! All exercises, in the order of the pages, and those that a reader names.

use super::exercise::Exercise;
use crate::{manifest::package_name, text};
use anyhow::{Result, anyhow, bail};
use std::{
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
};

/// All exercises, chapter by chapter, in the order of the pages. Those on no page come last.
///
/// # Errors
/// If an exercise's README is not as it should be, or a file can't be read.
pub fn all(root: &Path) -> Result<Vec<Exercise>> {
    let chapters = root.join("chapters");
    let mut found = Vec::new();
    for chapter in folders(&chapters) {
        let folder = chapters.join(&chapter);
        let exercises = folder.join("exercises");
        let names = folders(&exercises);
        if names.is_empty() {
            continue;
        }
        let manifest = folder.join("Cargo.toml");
        let text = text::read(&manifest)?;
        let krate = package_name(&text)
            .ok_or_else(|| anyhow!("{} names no package", manifest.display()))?;
        let order = order(&root.join("book/src").join(&chapter));
        let place = |name: &str| {
            let named = |quoted: &&str| {
                quoted.rsplit_once('/').is_some_and(|(chapter_name, exercise)| {
                    exercise == name
                        && (chapter_name == krate
                            || chapter_name == chapter
                            || chapter_name.replace('-', "_") == krate)
                })
            };
            order.iter().map(String::as_str).position(|quoted| named(&quoted))
        };
        let mut here = names
            .iter()
            .filter(|name| exercises.join(name).join("exercise.rs").is_file())
            .map(|name| {
                let at = place(name);
                let exercise =
                    Exercise::read(&exercises.join(name), &chapter, &krate, at.is_some())?;
                Ok((at.unwrap_or(usize::MAX), exercise))
            })
            .collect::<Result<Vec<_>>>()?;
        here.sort_by(|(a, x), (b, y)| (a, &x.name).cmp(&(b, &y.name)));
        found.extend(here.into_iter().map(|(_, exercise)| exercise));
    }
    Ok(found)
}

/// The names of the folders in a folder, sorted; none if it is not there.
fn folders(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries
        .filter(|entry| entry.path().is_dir())
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

/// The exercises that a chapter's pages quote, in order: `matmul/loop-order`.
fn order(pages: &Path) -> Vec<String> {
    let entries = fs::read_dir(pages).into_iter().flatten().flatten();
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    // A chapter's first page is its README; the others follow by name.
    files.sort_by_key(|file| {
        (file.file_name().is_none_or(|name| name != "README.md"), file.clone())
    });
    let mut quoted = Vec::new();
    for file in
        files.iter().filter(|file| file.extension().is_some_and(|extension| extension == "md"))
    {
        let text = fs::read_to_string(file).unwrap_or_default();
        for part in text.split("{{#exercise ").skip(1) {
            if let Some((name, _)) = part.split_once("}}") {
                quoted.push(name.trim().to_owned());
            }
        }
    }
    quoted
}

/// The exercises that `which` names: all of them (`None`), a chapter's (`matmul`, `1`, `01-matmul`), or one
/// (`matmul/loop-order`).
///
/// # Errors
/// If there is none: the message lists what there is.
pub fn select<'e>(exercises: &'e [Exercise], which: Option<&str>) -> Result<Vec<&'e Exercise>> {
    let Some(which) = which else {
        return Ok(exercises.iter().collect());
    };
    let (chapter, name) = which.split_once('/').map_or((which, None), |(c, n)| (c, Some(n)));
    let selected: Vec<&Exercise> = exercises
        .iter()
        .filter(|exercise| {
            let number = exercise.chapter.split('-').next().unwrap_or_default();
            let is_chapter = [exercise.chapter.as_str(), exercise.krate.as_str(), number]
                .iter()
                .any(|known| *known == chapter || known.replace('_', "-") == chapter)
                || number.trim_start_matches('0') == chapter;
            is_chapter && name.is_none_or(|name| exercise.name == name)
        })
        .collect();
    if selected.is_empty() {
        let known: Vec<String> = exercises.iter().map(Exercise::id).collect();
        bail!("there is no exercise `{which}`; there are {}", known.join(", "));
    }
    Ok(selected)
}

/// How far a reader is, a line for each chapter: `matmul   ██████░░░░░░  3 of 6`; with `bars`, or in words alone.
pub fn progress(states: &[(&Exercise, bool)], bars: bool) -> String {
    const WIDE: usize = 12;
    let name = |exercise: &Exercise| exercise.krate.replace('_', "-");
    let widest = states.iter().map(|(exercise, _)| name(exercise).len()).max().unwrap_or(0);
    let mut out = String::new();
    for chapter in states.chunk_by(|(a, _), (b, _)| a.chapter == b.chapter) {
        let (done, all) = (chapter.iter().filter(|(_, solved)| *solved).count(), chapter.len());
        // Full only when all is done, and not empty once something is.
        let filled = (done * WIDE / all).max(usize::from(done > 0));
        let bar = "█".repeat(filled) + &"░".repeat(WIDE - filled) + "  ";
        let bar = if bars { bar.as_str() } else { "" };
        let _ = writeln!(out, "  {:widest$}  {bar}{done} of {all}", name(chapter[0].0));
    }
    out
}
