//! What the chapter's notebook recorded, under the cells of the page.

use super::shared::OnPage;
use crate::{
    markdown::{cell_code, code_ranges},
    recorded::{self, Recorded},
};
use anyhow::Result;
use std::{fmt::Write as _, path::PathBuf};

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
    let (mut out, mut at) = (String::with_capacity(text.len()), 0);
    for code in code_ranges(text).into_iter().filter(|code| code.cell) {
        let end = code.range.end;
        out.push_str(&text[at..end]);
        at = end;
        if let Some(output) = recorded.html(&cell_code(&code.text)) {
            let _ = write!(out, "\n\n{output}\n");
        }
    }
    out.push_str(&text[at..]);
    out
}
