//! A kernel's source inside a page, for an element that runs it: `{{#kernel CHAPTER/FILE}}`.
//!
//! The file is `chapters/NN-name/kernels/FILE`, the one that the page quotes and the tests run. It goes
//! into the page as `<script type="text/EXTENSION" data-kernel="NAME">`, which a browser neither shows nor
//! runs, so that the book works from a folder, where a script may fetch nothing.

use crate::{html, include};
use anyhow::{Context, Result, anyhow, bail};
use lab::Chapter;
use std::path::Path;

/// The `<script>` with the kernel `which` (`CHAPTER/FILE`), anchors' lines left out.
///
/// # Errors
/// If there is no such chapter or file, or HTML would end the text too early.
pub fn script(root: &Path, chapters: &[Chapter], which: &str) -> Result<String> {
    let (chapter, file) = which
        .split_once('/')
        .ok_or_else(|| anyhow!("a kernel is named CHAPTER/FILE, not `{which}`"))?;
    let (name, extension) =
        file.rsplit_once('.')
            .filter(|(name, _)| !name.contains(['/', '\\']))
            .with_context(|| format!("`{file}` is not the name of a kernel's file"))?;
    let folder = lab::chapter::named(chapters, chapter)?.folder();
    let text = include::include(&root.join("chapters").join(folder).join("kernels"), file)?;
    // HTML 13.2.5.4: in a script these two begin something else.
    for part in ["</script", "<!--"] {
        if text.to_ascii_lowercase().contains(part) {
            bail!("the kernel `{file}` contains `{part}`, which a page can't");
        }
    }
    Ok(format!(
        "<script type=\"text/{}\" data-kernel=\"{}\">\n{text}\n</script>",
        html::attribute(extension),
        html::attribute(name)
    ))
}
