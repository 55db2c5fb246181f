//! Each chapter for paper: its pages, one after the other, in `01-matmul/print.html`, where the printer's icon of its pages leads.

use crate::{disk, page::of_chapter, picture::with_own_ids, text};
use anyhow::{Context as _, Result};
use std::path::{Path, PathBuf};

/// The page that mdBook makes of all pages, and the name of a chapter's.
const PRINT: &str = "print.html";

/// What mdBook puts between two pages.
const BREAK: &str = "<div style=\"break-before: page; page-break-before: always;\"></div>\n";

/// Puts them into the finished book, whose pages are these, in their order.
///
/// # Errors
/// If a page can't be read or written, or is none of mdBook's.
pub fn put_chapters(book: &Path, pages: &[PathBuf]) -> Result<()> {
    let whole = text::read(&book.join(PRINT))?;
    let script = whole.rfind("<script>").and_then(|at| whole[at..].split("</script>").next());
    let script = format!("{}</script>\n", script.context("mdBook's print.html does not print")?);
    for chapter in pages.chunk_by(|a, b| a.parent() == b.parent()) {
        if !of_chapter(&chapter[0]) {
            continue;
        }
        let (mut parts, mut frame) = (Vec::new(), None);
        for page in chapter {
            let file = book.join(page.with_extension("html"));
            let html = text::read(&file)?;
            let html = html
                .replace(&format!("\"../{PRINT}\""), &format!("\"{PRINT}\""))
                .replace("Print this book", "Print this chapter");
            let (head, rest) = html.split_once("<main>").context("a page has no <main>")?;
            let (main, tail) = rest.split_once("</main>").context("a page's <main> has no end")?;
            frame.get_or_insert_with(|| (head.to_owned(), tail.to_owned()));
            let name = page.file_stem().unwrap_or_default().to_string_lossy();
            // Sections have headings in common.
            parts.push(with_own_ids(main, &name));
            disk::write(&file, html)?;
        }
        let (head, tail) = frame.unwrap_or_default();
        let tail = tail.replace("</body>", &format!("{script}</body>"));
        let all = format!("{head}<main>{}</main>{tail}", parts.join(BREAK));
        disk::write(&book.join(&chapter[0]).with_file_name(PRINT), all)?;
    }
    Ok(())
}
