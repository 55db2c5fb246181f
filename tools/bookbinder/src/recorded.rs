//! What a notebook recorded, for the page that the notebook was made from.

use crate::{
    html,
    notebook::{Kind, Notebook, Ran, joined},
};
use anyhow::Result;
use console::strip_ansi_codes;
use serde_json::Value;
use std::{collections::HashMap, fmt::Write as _, path::Path};

/// The outputs of a notebook's cells, by the cell's source, each with the machine that it comes from.
#[derive(Debug, Default)]
pub struct Recorded {
    outputs: HashMap<String, (Vec<Value>, Option<Ran>)>,
}

/// Reads the outputs of the notebook in `file`.
///
/// # Errors
/// If the file can't be read or is not a notebook.
pub fn read(file: &Path) -> Result<Recorded> {
    let notebook = Notebook::read(file)?;
    let outputs = notebook.cells.into_iter().filter_map(|cell| match cell.kind {
        Kind::Code { outputs, ran, .. } => {
            let ran = ran.or_else(|| notebook.ran.clone());
            Some((cell.source.trim().to_owned(), (outputs, ran)))
        }
        Kind::Markdown => None,
    });
    Ok(Recorded { outputs: outputs.collect() })
}

impl Recorded {
    /// What the cell with this source printed; `None` if it did not run.
    pub fn text(&self, source: &str) -> Option<String> {
        let (outputs, _) = self.outputs.get(source.trim()).filter(|(all, _)| !all.is_empty())?;
        let parts = outputs.iter().flat_map(|one| [&one["text"], &one["data"]["text/plain"]]);
        Some(parts.map(|part| strip_ansi_codes(&joined(part)).into_owned() + "\n").collect())
    }

    /// The output of the cell with this source as HTML on one line, with the machine that printed it; `None` if there is no
    /// such cell or it printed nothing.
    pub fn html(&self, source: &str) -> Option<String> {
        let mut out = String::new();
        let (outputs, ran) = self.outputs.get(source.trim())?;
        for output in outputs {
            match output["output_type"].as_str() {
                Some("stream") => push_text(&mut out, &joined(&output["text"])),
                Some("error") => push_text(
                    &mut out,
                    &format!("{}: {}", joined(&output["ename"]), joined(&output["evalue"])),
                ),
                Some("execute_result" | "display_data") => {
                    let data = &output["data"];
                    if let Some(svg) = rich(&data["image/svg+xml"]) {
                        let _ = write!(out, "<div class=\"plot\">{svg}</div>");
                    } else if let Some(html) = rich(&data["text/html"]) {
                        let _ = write!(out, "<div class=\"table-wrapper\">{html}</div>");
                    } else {
                        push_text(&mut out, &joined(&data["text/plain"]));
                    }
                }
                _ => {}
            }
        }
        if out.is_empty() {
            return None;
        }
        if let Some(Ran { machine, commit, date, .. }) = ran {
            let (machine, date) = (html::text(machine), html::text(date));
            let commit = html::attribute(commit);
            let _ = write!(
                out,
                "<p class=\"ran\" title=\"commit {commit}\">Ran on {machine}; {date}.</p>"
            );
        }
        Some(format!("<div class=\"cell-output\">{out}</div>"))
    }
}

fn rich(value: &Value) -> Option<String> {
    let text = joined(value);
    (!text.trim().is_empty()).then(|| html::one_line(&text))
}

/// Printed text. A line break is an entity, so that a blank line does not end the HTML for Markdown.
fn push_text(out: &mut String, text: &str) {
    if text.trim().is_empty() {
        return;
    }
    let escaped: Vec<String> =
        text.trim_end().lines().map(|line| html::text(&strip_ansi_codes(line))).collect();
    let _ = write!(out, "<pre class=\"output\">{}</pre>", escaped.join("&#10;"));
}
