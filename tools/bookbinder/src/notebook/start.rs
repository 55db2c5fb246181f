//! The notebook that a reader begins with: the three doors and all chapters as links, and what is solved.

use super::{cell::Cell, format::Notebook, links::Site, pages};
use crate::page::Page;
use anyhow::{Context, Result};
use std::{fmt::Write as _, path::Path};

/// Its name.
pub const START: &str = "start";

/// What is said before the doors.
const FIRST: &str = "# Throughput

These notebooks are yours: git leaves the folder `my-notebooks` alone, and `cargo run -- notebooks open NAME --reset` \
takes the course's again. Run a cell with Shift+Enter. What it printed on the course's machine is hidden until you do, so predict \
first. A cell uses names from the cells above it: to begin at a later section, take *Run → Run All Above Selected Cell* first. \
When you run a notebook's first cell, the kernel loads the chapter's code: wait some ten seconds once, and again after a restart. \
A cell may fail: [the book says what is kept](../book/src/how-to.md#when-a-cell-fails).";

/// The start, from the pages; `solved` is what to say of a chapter's exercises, by its folder.
///
/// # Errors
/// If the first page has no doors any more.
pub fn start(root: &Path, all: &[Page], solved: impl Fn(&str) -> String) -> Result<Notebook> {
    let site = Site::new(root, all);
    let cells_of = |path: &str| -> Result<Vec<Cell>> {
        let page = all.iter().find(|page| page.path == Path::new(path));
        pages::cells(&site, page.with_context(|| format!("there is no page {path}"))?)
    };
    let doors = cells_of("README.md")?.into_iter().map(|cell| cell.source);
    let doors = doors.into_iter().find(|text| text.starts_with("## Three doors"));
    let doors = doors.context("the first page has no `## Three doors`")?;
    let mut chapters = "## All chapters\n\n".to_owned();
    for cell in cells_of("how-to.md")? {
        for line in cell.source.lines().filter(|line| line.starts_with("- **[")) {
            let name = line.split("](").nth(1).and_then(|link| link.split(".ipynb").next());
            let name = name.unwrap_or_default();
            let ran = Notebook::read(&root.join(format!("notebooks/{name}.ipynb")));
            let seconds = ran.ok().and_then(|notebook| notebook.ran?.seconds);
            let run = seconds.map(|seconds| format!(" Its cells ran in {seconds} s."));
            let _ = writeln!(chapters, "{line}{} {}", run.unwrap_or_default(), solved(name));
        }
    }
    let cells = [FIRST, &doors, &chapters].map(Cell::markdown).to_vec();
    let mut start = Notebook { cells, ..Notebook::default() };
    start.number();
    start.is_made_as(START);
    Ok(start)
}
