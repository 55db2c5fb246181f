//! One exercise, and its files.

use super::readme;
use crate::text::read;
use anyhow::{Context, Result, bail};
use std::path::{Path, PathBuf};

/// The mark before what the reader changes.
pub const BEGIN: &str = "// EXERCISE: begin";

/// The mark behind it.
pub const END: &str = "// EXERCISE: end";

/// One exercise.
#[derive(Clone, Debug, PartialEq)]
pub struct Exercise {
    /// The chapter's folder: `01-matmul`.
    pub chapter: String,
    /// The chapter's crate: `matmul`.
    pub krate: String,
    /// The exercise's own name: `loop-order`.
    pub name: String,
    /// The folder with its files.
    pub folder: PathBuf,
    /// The title.
    pub title: String,
    /// How long it takes and how hard it is: `10 minutes · level 1 of 3`.
    pub effort: String,
    /// What to do, as Markdown.
    pub task: String,
    /// The hints, from the gentlest on.
    pub hints: Vec<String>,
    /// The explanation of the solution.
    pub solution: String,
    /// Whether a page has it.
    pub on_page: bool,
}

impl Exercise {
    /// `matmul/loop-order`, as a user names it.
    pub fn id(&self) -> String {
        format!("{}/{}", self.krate.replace('_', "-"), self.name)
    }

    /// The reader's file.
    pub fn file(&self) -> PathBuf {
        self.folder.join("exercise.rs")
    }

    /// The name of its test in the manifest of the chapter's exercises.
    pub fn test(&self) -> String {
        format!("exercise-{}", self.name)
    }

    /// The package of the chapter's exercises.
    pub(super) fn package(&self) -> String {
        format!("{}-exercises", self.krate)
    }

    /// The manifest of that package, from the course's folder.
    pub(super) fn manifest(&self) -> String {
        format!("chapters/{}/exercises/Cargo.toml", self.chapter)
    }

    /// The solved parts of `solution.rs`, each with the line on which it begins.
    ///
    /// # Errors
    /// If the file can't be read.
    pub fn solved_parts(&self) -> Result<Vec<(usize, String)>> {
        let text = read(&self.folder.join("solution.rs"))?;
        let mut parts: Vec<(usize, String)> = Vec::new();
        let mut inside = false;
        for (number, line) in text.lines().enumerate() {
            match line.trim() {
                BEGIN => {
                    inside = true;
                    parts.push((number + 2, String::new()));
                }
                END => inside = false,
                _ if inside => {
                    if let Some((_, part)) = parts.last_mut() {
                        part.push_str(line);
                        part.push('\n');
                    }
                }
                _ => {}
            }
        }
        Ok(parts)
    }

    /// That the reader's file differs from the solution between the marks alone.
    ///
    /// # Errors
    /// Where else they differ.
    pub(super) fn differs_between_marks(&self) -> Result<()> {
        let solution = read(&self.folder.join("solution.rs"))?;
        only_marked_parts_differ(&read(&self.file())?, &solution)
    }

    /// That a page has the exercise, and the manifest has its test. What the reader writes is not looked at: `check
    /// --verify` tries the exercise as the course has it.
    ///
    /// # Errors
    /// What is wrong.
    pub fn in_order(&self) -> Result<()> {
        if !self.on_page {
            bail!("no page in book/src/{} has `{{{{#exercise {}}}}}`", self.chapter, self.id());
        }
        let manifest = self.folder.join("../Cargo.toml");
        if !read(&manifest)?.contains(&format!("name = \"{}\"", self.test())) {
            bail!("{} has no `[[test]]` named `{}`", self.manifest(), self.test());
        }
        Ok(())
    }

    /// Reads the exercise in `folder`.
    pub(super) fn read(folder: &Path, chapter: &str, krate: &str, on_page: bool) -> Result<Self> {
        let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let file = folder.join("README.md");
        let parsed = readme::parse(&read(&file)?).with_context(|| file.display().to_string())?;
        Ok(Self {
            chapter: chapter.to_owned(),
            krate: krate.to_owned(),
            name,
            folder: folder.to_owned(),
            title: parsed.title,
            effort: parsed.effort,
            task: parsed.task,
            hints: parsed.hints,
            solution: parsed.solution,
            on_page,
        })
    }
}

/// That the exercise and its solution differ only between the marks.
///
/// # Errors
/// If they differ elsewhere, or the marks are missing or don't pair: with the line.
pub fn only_marked_parts_differ(exercise: &str, solution: &str) -> Result<()> {
    let (ours, theirs) =
        (outside(exercise).context("exercise.rs")?, outside(solution).context("solution.rs")?);
    for ((number, line), (other, wanted)) in ours.iter().zip(&theirs) {
        if line != wanted {
            bail!(
                "line {number} of exercise.rs (`{}`) is not line {other} of solution.rs (`{}`)",
                line.trim(),
                wanted.trim()
            );
        }
    }
    if ours.len() != theirs.len() {
        bail!("exercise.rs and solution.rs differ behind the last mark");
    }
    if exercise == solution {
        bail!("exercise.rs and solution.rs are the same");
    }
    Ok(())
}

/// The lines outside the marks, with the marks themselves, each with its number.
fn outside(text: &str) -> Result<Vec<(usize, &str)>> {
    let mut lines = Vec::new();
    let (mut inside, mut marks) = (false, 0);
    for (number, line) in (1..).zip(text.lines()) {
        match line.trim() {
            BEGIN if inside => bail!("line {number} begins a part inside another one"),
            END if !inside => bail!("line {number} ends a part that was not begun"),
            BEGIN => {
                inside = true;
                marks += 1;
                lines.push((number, line));
            }
            END => {
                inside = false;
                lines.push((number, line));
            }
            _ if !inside => lines.push((number, line)),
            _ => {}
        }
    }
    if inside || marks == 0 {
        bail!("there is no pair of `{BEGIN}` and `{END}`, or the last one is not ended");
    }
    Ok(lines)
}
