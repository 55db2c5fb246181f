//! The crates' documentation next to the pages: what `cargo doc` made becomes the book's folder `doc`.
//!
//! A page links to its crate's documentation only if the book has it, so that no link is dead. The link check
//! leaves the folder itself to rustdoc, which checks its own links.

use crate::disk;
use anyhow::{Result, bail};
use lab::Chapter;
use std::path::Path;

/// The folder's name in the book.
pub const FOLDER: &str = "doc";

/// Where the documentation of the page's crate is, from the book's root, if the page is a chapter's first and `docs`
/// has it.
pub fn link(docs: Option<&Path>, chapters: &[Chapter], page: &Path) -> Option<String> {
    let own = |chapter: &&Chapter| page == Path::new(&chapter.folder()).join("README.md");
    let chapter = chapters.iter().find(own)?;
    let index = format!("{}/index.html", chapter.name);
    docs?.join(&index).is_file().then(|| format!("{FOLDER}/{index}"))
}

/// Copies the documentation of the chapters' crates out of `docs` (`target/doc`) into the book at `book`, with
/// what their pages share, and without crates that were documented in addition.
///
/// # Errors
/// If a crate has no documentation there, or a file can't be copied.
pub fn copy(docs: &Path, chapters: &[Chapter], book: &Path) -> Result<()> {
    let ours = |name: &str| chapters.iter().any(|chapter| chapter.name == name);
    for chapter in chapters {
        if !docs.join(chapter.name).join("index.html").is_file() {
            bail!(
                "{} has no documentation of the crate {}; run `cargo doc --workspace --no-deps`",
                docs.display(),
                chapter.name
            );
        }
    }
    // A folder with `all.html` is a crate's; next to them are rustdoc's own and the sources, a folder a crate.
    for file in disk::files(docs)? {
        let below = file.strip_prefix(docs).unwrap_or(&file);
        let parts: Vec<_> = below.iter().map(|part| part.to_string_lossy()).collect();
        let krate = match parts.as_slice() {
            [folder, name, _, ..] if folder == "src" => Some(name),
            [name, ..] if docs.join(&**name).join("all.html").is_file() => Some(name),
            _ => None,
        };
        if krate.is_none_or(|name| ours(name)) && !parts.iter().any(|part| part.starts_with('.')) {
            disk::copy(&file, &book.join(FOLDER).join(below))?;
        }
    }
    Ok(())
}
