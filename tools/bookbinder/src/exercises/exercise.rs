//! One exercise, and its files.

use super::{
    readme::{self, Readme},
    stub::{self, Place},
};
use crate::text::read;
use anyhow::{Context, Error, Result, bail};
use std::path::{Path, PathBuf};

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
    /// Its title, task, hints and solution.
    pub readme: Readme,
    /// Whether a page has it.
    pub on_page: bool,
}

impl Exercise {
    /// `matmul/loop-order`, as a user names it.
    pub fn id(&self) -> String {
        format!("{}/{}", self.krate.replace('_', "-"), self.name)
    }

    /// The reader's file, which [`Exercise::write_missing`] makes.
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

    /// Writes the reader's file as it begins, if there is none.
    ///
    /// # Errors
    /// If it can't be written.
    pub fn write_missing(&self) -> Result<()> {
        Ok(stub::write_missing(&self.folder)?)
    }

    /// Whether the reader's file is still as it begins.
    pub(super) fn is_untouched(&self) -> Result<bool> {
        Ok(stub::stub(&self.source()?).map_err(Error::msg)? == read(&self.file())?)
    }

    fn source(&self) -> Result<String> {
        read(&self.folder.join("solution.rs"))
    }

    /// The solved parts of `solution.rs`, each with the line on which it begins.
    ///
    /// # Errors
    /// If the file can't be read, or has not its marks.
    pub fn solved_parts(&self) -> Result<Vec<(usize, String)>> {
        let text = self.source()?;
        let lines = stub::lines(&text).map_err(Error::msg)?;
        let solved = |(_, place, _): &(usize, Place, &str)| *place == Place::Solved;
        let parts = lines.split(|line| !solved(line)).filter(|part| !part.is_empty());
        let part = |part: &[(usize, Place, &str)]| {
            (part[0].0, part.iter().fold(String::new(), |text, (_, _, line)| text + line + "\n"))
        };
        Ok(parts.map(part).collect())
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
        let readme = readme::parse(&read(&file)?).with_context(|| file.display().to_string())?;
        Ok(Self {
            chapter: chapter.to_owned(),
            krate: krate.to_owned(),
            name,
            folder: folder.to_owned(),
            readme,
            on_page,
        })
    }
}
