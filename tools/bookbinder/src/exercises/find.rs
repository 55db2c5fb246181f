//! All exercises, in the order of the pages, and those that a reader names.

use super::exercise::Exercise;
use crate::{disk, manifest::package_name, text};
use anyhow::{Result, anyhow, bail};
use lab::names;
use std::{collections::BTreeSet, fmt::Write as _, fs, path::Path};

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
        let quoted = quoted(root, &chapter);
        let place = |name: &str| quoted.iter().position(|quoted| quoted == name);
        let mut here = names
            .iter()
            .filter(|name| exercises.join(name).join("solution.rs").is_file())
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
pub fn folders(folder: &Path) -> Vec<String> {
    let inner = disk::entries(folder).unwrap_or_default().into_iter().filter(|path| path.is_dir());
    inner.filter_map(|path| Some(path.file_name()?.to_string_lossy().into_owned())).collect()
}

/// The names of the exercises that a chapter's pages quote, in the order of the table of contents.
fn quoted(root: &Path, chapter: &str) -> Vec<String> {
    let pages = root.join("book/src");
    let contents = fs::read_to_string(pages.join("SUMMARY.md")).unwrap_or_default();
    let links = contents.split("](").skip(1).filter_map(|link| Some(link.split_once(')')?.0));
    let mut names = Vec::new();
    for link in links.filter(|link| link.starts_with(&format!("{chapter}/"))) {
        let text = fs::read_to_string(pages.join(link)).unwrap_or_default();
        for part in text.split("{{#exercise ").skip(1) {
            let which = part.split_once("}}").and_then(|(which, _)| which.split_once('/'));
            names.extend(which.map(|(_, name)| name.trim().to_owned()));
        }
    }
    names
}

/// The exercises that `which` names: all of them (`None`), a chapter's (`matmul`, `1`, `01-matmul`), or one
/// (`matmul/loop-order`, or `loop-order` where no other chapter has one of that name). The beginning of a name will do.
///
/// # Errors
/// If there is none: the message has names that there are.
pub fn select<'e>(exercises: &'e [Exercise], which: Option<&str>) -> Result<Vec<&'e Exercise>> {
    let Some(which) = which else {
        return Ok(exercises.iter().collect());
    };
    let (chapter, name) = which.split_once('/').map_or((which, None), |(c, n)| (c, Some(n)));
    let chapters: Vec<&str> = exercises
        .chunk_by(|a, b| a.chapter == b.chapter)
        .map(|chapter| chapter[0].chapter.as_str())
        .collect();
    let place = names::chapter("chapter", chapter, &chapters);
    if place.is_err() && name.is_none() && !which.starts_with(|c: char| c.is_ascii_digit()) {
        let own = |e: &'e Exercise| [&*e.name, e.chapter.split_once('-').map_or("", |c| c.1)];
        let names = Vec::from_iter(exercises.iter().flat_map(own).collect::<BTreeSet<&str>>());
        let name = names[names::named("chapter or exercise", which, &names)?];
        let found: Vec<&Exercise> = exercises.iter().filter(|e| e.name == name).collect();
        if found.len() > 1 {
            let ids: Vec<String> = found.iter().map(|exercise| exercise.id()).collect();
            bail!("`{which}` may be {}", ids.join(" or "));
        }
        return Ok(found);
    }
    let chapter = chapters[place?];
    let mut here: Vec<&Exercise> = exercises.iter().filter(|e| e.chapter == chapter).collect();
    if let Some(name) = name {
        let names: Vec<&str> = here.iter().map(|exercise| exercise.name.as_str()).collect();
        here = vec![here[names::named("exercise", name, &names)?]];
    }
    Ok(here)
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
