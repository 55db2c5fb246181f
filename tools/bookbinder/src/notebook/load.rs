//! The cell that loads the chapters' crates.

use super::{
    cell::{Cell, Kind, Runs},
    format::Notebook,
};
use crate::manifest::ChapterCrate;

/// The lines by which the kernel loads these crates.
pub fn loads<'c>(crates: impl IntoIterator<Item = &'c ChapterCrate>) -> String {
    crates.into_iter().flat_map(|krate| [":dep ../chapters/", &krate.folder, "\n"]).collect()
}

/// Puts a cell before the first code cell that loads those of the course's crates that the cells name, if there are any. It
/// also keeps a value: what the kernel compiles for the first one is then part of the one wait.
pub(super) fn put_first(notebook: &mut Notebook, crates: &[ChapterCrate], name: &str) {
    let used = |krate: &&ChapterCrate| {
        notebook.code_cells().any(|cell| names_crate(&cell.source, &krate.name))
    };
    let loads = loads(crates.iter().filter(used));
    if loads.is_empty() {
        return;
    }
    let words = format!(
        "> This notebook is the page [{name}](../book/src/{name}/) with its code in cells. Run a cell with \
         Shift+Enter, change it, and run it again. A cell uses names from the cells above it: to begin at a later section, \
         take *Run → Run All Above Selected Cell* first. A cell prints the numbers of the machine that ran it; those in the \
         text are of other machines: a name in brackets, as (genoa-2core), is one. The next cell loads the course's \
         code: it takes ten to twenty seconds each time that the kernel starts, and later cells a second or two. \
         `notebooks setup` has compiled the code; without it, the first time takes some minutes. If a cell fails, \
         [the book says what is kept](../book/src/how-to.md#when-a-cell-fails)."
    );
    let first =
        notebook.cells.iter().position(|cell| matches!(cell.kind, Kind::Code { .. })).unwrap_or(0);
    let at = first.min(1);
    notebook.cells.insert(at, Cell::code(&(loads + "let loaded = true;"), Runs::Along));
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
