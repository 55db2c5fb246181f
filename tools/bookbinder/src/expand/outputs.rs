//! What the chapter's notebook recorded, under the cells of the page.

use super::shared::OnPage;
use crate::{
    markdown::{cell_code, code_ranges},
    recorded::{self, Recorded},
    text::edited,
};
use anyhow::Result;
use std::path::PathBuf;

/// The chapter's notebook, if it has been generated.
pub(super) fn notebook(page: OnPage) -> Option<PathBuf> {
    let folder = page.path.parent().filter(|folder| !folder.as_os_str().is_empty())?;
    let name = format!("{}.ipynb", folder.display());
    Some(page.shared.root.join("notebooks").join(name)).filter(|file| file.is_file())
}

/// What it recorded.
pub(super) fn recorded(page: OnPage) -> Result<Option<Recorded>> {
    notebook(page).map(|file| recorded::read(&file)).transpose()
}

/// `text` with the recorded outputs under its cells.
pub(super) fn under_cells(text: &str, recorded: Option<&Recorded>) -> String {
    let Some(recorded) = recorded else { return text.to_owned() };
    let cells = code_ranges(text).into_iter().filter(|code| code.cell);
    let outputs = cells.filter_map(|code| {
        let output = recorded.html(&cell_code(&code.text))?;
        Some((code.range.end..code.range.end, format!("\n\n{output}\n")))
    });
    edited(text, outputs)
}
