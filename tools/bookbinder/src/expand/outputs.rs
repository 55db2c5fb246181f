//! What the chapter's notebook recorded, under the cells of the page.

use super::shared::OnPage;
use crate::{
    markdown::{cell_code, code_ranges},
    recorded::{self, Recorded},
    text::{edited, replaced},
};
use anyhow::{Context as _, Result};
use lab::units;
use std::{ops::Range, path::PathBuf};

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

/// `text` with the recorded outputs under its cells. Those that only draw are folded, below what they have drawn.
pub(super) fn under_cells(text: &str, recorded: Option<&Recorded>) -> String {
    let cells = code_ranges(text).into_iter().filter(|code| code.cell);
    let edits = cells.flat_map(|code| {
        let output = recorded.and_then(|recorded| recorded.html(&cell_code(&code.text)));
        let output = output.map(|output| format!("\n\n{output}\n")).unwrap_or_default();
        let Range { start, end } = code.range;
        if code.drawing {
            let fold = "<details class=\"drawing\"><summary>The code that draws this</summary>";
            let before = format!("{}\n{fold}\n\n", output.trim_start());
            return vec![(start..start, before), (end..end, "\n\n</details>\n".to_owned())];
        }
        vec![(end..end, output)]
    });
    edited(text, edits)
}

/// A rule with a number in place of each `printed "LABEL"`: what stands behind these words in the output of the last cell
/// above, with anything in the place of an `…`. None if that cell has yet to run.
pub(super) fn with_printed(page: OnPage, above: &str, rule: &str) -> Result<Option<String>> {
    const PRINTED: &str = "printed \"";
    if !rule.contains(PRINTED) {
        return Ok(Some(rule.to_owned()));
    }
    let cell = code_ranges(above).into_iter().rfind(|code| code.cell);
    let cell = cell.context("there is no cell above it")?;
    let Some(text) = recorded(page)?.and_then(|all| all.text(&cell_code(&cell.text))) else {
        return Ok(None);
    };
    let number = |label: &str| -> Result<String> {
        let behind = label.split('…').try_fold(&*text, |text, part| Some(text.split_once(part)?.1));
        let number = behind.and_then(units::read).with_context(|| {
            format!("the cell above has printed no number behind `{label}`: {}", text.trim())
        })?;
        Ok(number.to_string())
    };
    replaced(rule, PRINTED, "\"", number).map(Some)
}
