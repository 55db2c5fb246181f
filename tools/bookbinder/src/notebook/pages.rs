//! From the pages of the book to the notebooks.

use super::{cell::Cell, cut, drawing, format::Notebook, links::Site, load};
use crate::{
    manifest::chapter_crates,
    page::{Page, is_opener},
};
use anyhow::{Context, Result};
use std::path::Path;

/// The notebooks that the pages make, by name (`01-matmul`), in the order of the pages.
///
/// # Errors
/// If a page marks a fence in a list or a quotation as a cell, or names an image that is not there.
pub fn from_pages(root: &Path, pages: &[Page]) -> Result<Vec<(String, Notebook)>> {
    let crates = chapter_crates(root)?;
    let site = Site::new(root, pages);
    let mut notebooks: Vec<(String, Notebook)> = Vec::new();
    for page in pages {
        let Some(name) = site.notebook_of(&page.path) else { continue };
        let cells = cells(&site, page);
        let cells = cells.with_context(|| format!("book/src/{}", page.path.display()))?;
        match notebooks.iter_mut().find(|(other, _)| *other == name) {
            Some((_, notebook)) => notebook.cells.extend(cells),
            None => notebooks.push((name, Notebook { cells, ..Notebook::default() })),
        }
    }
    for (name, notebook) in &mut notebooks {
        load::put_first(notebook, &crates, name);
        notebook.number();
        notebook.is_made_as(name);
    }
    Ok(notebooks)
}

/// A page's cells, without ids.
pub(super) fn cells(site: &Site, page: &Page) -> Result<Vec<Cell>> {
    let text = drawing::as_pictures(&page.markdown)?;
    // The notebook is one page: the chapter's opener has its title, and a section is a part of it.
    cut::cells(&text, !is_opener(&page.path), &|address| site.link(page, address), &|address| {
        site.picture(page, address)
    })
}
