//! The cell that loads the chapters' crates.

use super::{
    cell::{Cell, Kind, Runs},
    format::Notebook,
};
use crate::manifest::ChapterCrate;

/// Puts a cell that loads the crates before the first code cell, unless the page loads them itself.
pub(super) fn put_first(notebook: &mut Notebook, crates: &[ChapterCrate], name: &str) {
    let code: Vec<&str> = notebook.code_cells().map(|cell| cell.source.as_str()).collect();
    let loads = |krate: &ChapterCrate| {
        code.iter().flat_map(|source| source.lines()).any(|line| {
            line.strip_prefix(":dep ").is_some_and(|dep| {
                dep.split(['=', ' ']).next() == Some(&krate.name)
                    || dep.trim().ends_with(&krate.folder)
            })
        })
    };
    // The chapter's own crate comes last: the later ones build on the earlier ones.
    let needed: Vec<String> = crates
        .iter()
        .filter(|krate| code.iter().any(|source| names_crate(source, &krate.name)) && !loads(krate))
        .map(|krate| format!(":dep ../chapters/{}", krate.folder))
        .collect();
    if needed.is_empty() {
        return;
    }
    let words = format!(
        "> This notebook is the page [{name}](../book/src/{name}/) with its code in cells. Run a cell with \
         Shift+Enter. The next cell loads the chapter's code. The first time, that compiles it, which takes \
         a while."
    );
    let first =
        notebook.cells.iter().position(|cell| matches!(cell.kind, Kind::Code { .. })).unwrap_or(0);
    let at = first.min(1);
    notebook.cells.insert(at, Cell::code(&needed.join("\n"), Runs::Along));
    notebook.cells.insert(at, Cell::markdown(&words));
}

/// Whether `source` uses the crate: `matmul::` or `use matmul;`, not as a part of another name.
fn names_crate(source: &str, name: &str) -> bool {
    source.match_indices(name).any(|(at, _)| {
        let before = source[..at].chars().next_back();
        let starts =
            before.is_none_or(|c| !c.is_alphanumeric() && c != '_' && c != ':' && c != '.');
        let after = &source[at + name.len()..];
        starts
            && (after.starts_with("::")
                || (source[..at].ends_with("use ") && after.starts_with(';')))
    })
}
