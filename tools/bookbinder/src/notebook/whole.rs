//! The whole text as one file of Markdown.

use super::{
    cell::{Cell, Kind},
    cut, drawing,
    links::slashed,
};
use crate::{
    page::{Page, as_index, is_opener, of_chapter, tidy},
    text::replaced,
};
use anyhow::{Context as _, Result};

/// The pages, as notebooks have them, one after the other; what is drawn is its alternative text. The file lies beside the
/// book's first page, and its links lead to the book's pages.
///
/// # Errors
/// If a cell is where none can be.
pub fn whole(pages: &[Page]) -> Result<String> {
    let mut out = String::new();
    for page in pages {
        let here = |address: &str| {
            let outside = address.is_empty() || address.starts_with('#') || address.contains(':');
            let (file, fragment) = address.split_once('#').unwrap_or((address, ""));
            let file = slashed(&tidy(&page.path.with_file_name(file)));
            let file = as_index(&file).replace(".md", ".html");
            let fragment = if fragment.is_empty() { String::new() } else { format!("#{fragment}") };
            (!outside).then(|| file + &fragment)
        };
        let drawn = |alt: &str| Ok(format!("*Drawn here: {alt}*"));
        let words = drawing::each(&page.markdown, |svg| {
            drawn(drawing::attribute(svg, "aria-label").unwrap_or("a drawing"))
        })?;
        let words = replaced(&words, "<img alt=\"", ">", |image| {
            drawn(image.split('"').next().unwrap_or_default())
        })?;
        let part = of_chapter(&page.path) && !is_opener(&page.path);
        let cells = cut::cells(&words, part, &here, &|address| Ok(here(address)));
        for Cell { source, kind, .. } in
            cells.with_context(|| format!("book/src/{}", page.path.display()))?
        {
            let fence = if kind == Kind::Markdown { ["", ""] } else { ["```rust\n", "\n```"] };
            out += &[fence[0], &source, fence[1], "\n\n"].concat();
        }
    }
    Ok(out)
}

/// The file in the book.
pub const WHOLE: &str = "throughput.markdown";

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn links_lead_into_the_book_and_drawings_are_words() {
        let page = |path: &str, markdown: &str| Page {
            path: Path::new(path).to_owned(),
            markdown: markdown.to_owned(),
        };
        let section = "# B\n\n[a](README.md#x), [up](../how.md), [here](#y), [out](https://e.org/a.md) ![t](t.svg)\n\n\
                       <svg aria-label=\"Two bars.\"><g/></svg>\n\n## Y\n\n```rust,cell,figure\nlet a = 1;\n```\n\n```rust,ignore\nb\n```\n";
        let made = whole(&[page("README.md", "# A\n\n[b](01-a/b.md)"), page("01-a/b.md", section)]);
        assert_eq!(
            made.unwrap(),
            "# A\n\n[b](01-a/b.html)\n\n## B\n\n[a](01-a/index.html#x), [up](how.html), [here](#y), [out](https://e.org/a.md) \
             ![t](01-a/t.svg)\n\n*Drawn here: Two bars.*\n\n### Y\n\n```rust\nlet a = 1;\n```\n\n```rust\nb\n```\n\n"
        );
    }
}
