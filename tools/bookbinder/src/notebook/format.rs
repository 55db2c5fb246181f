//! A notebook as a file (nbformat 4.5).

use super::cell::{Cell, Kind, Runs, joined, lines};
use anyhow::{Context, Result, anyhow, bail};
use serde_json::{Value, json};
use std::{collections::HashMap, fs, path::Path};

/// A notebook: its cells, in order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Notebook {
    /// The cells.
    pub cells: Vec<Cell>,
}

impl Notebook {
    /// Reads a notebook file.
    ///
    /// # Errors
    /// If the file can't be read or is no notebook of nbformat 4.
    pub fn read(file: &Path) -> Result<Self> {
        let text =
            fs::read_to_string(file).with_context(|| format!("can't read {}", file.display()))?;
        Self::parse(&text).with_context(|| {
            format!(
                "{} is not a notebook; delete it and run `cargo run --release -- notebooks sync`",
                file.display()
            )
        })
    }

    /// Reads the JSON of a notebook.
    ///
    /// # Errors
    /// If it is no notebook of nbformat 4.
    pub fn parse(text: &str) -> Result<Self> {
        let json: Value = serde_json::from_str(text)?;
        let cells = json["cells"].as_array().ok_or_else(|| anyhow!("it has no list of cells"))?;
        let cells = cells
            .iter()
            .map(|cell| {
                let kind = match cell["cell_type"].as_str() {
                    Some("code") => Kind::Code {
                        runs: Runs::tagged(&cell["metadata"]["tags"]),
                        outputs: cell["outputs"].as_array().cloned().unwrap_or_default(),
                    },
                    Some("markdown") => Kind::Markdown,
                    other => bail!("it has a cell of the kind {other:?}"),
                };
                let id = cell["id"].as_str().unwrap_or_default().to_owned();
                Ok(Cell { id, source: joined(&cell["source"]), kind })
            })
            .collect::<Result<_>>()?;
        Ok(Self { cells })
    }

    /// The file's text, laid out as Jupyter itself does, so that saving it there changes nothing.
    ///
    /// # Errors
    /// None that a user can cause; writing JSON into memory may fail in principle.
    pub fn json(&self) -> Result<String> {
        let mut count = 0;
        let cells: Vec<Value> = self
            .cells
            .iter()
            .map(|cell| match &cell.kind {
                Kind::Markdown => json!({
                    "cell_type": "markdown", "id": cell.id, "metadata": {}, "source": lines(&cell.source),
                }),
                Kind::Code { runs, outputs } => {
                    count += 1;
                    let ran = if outputs.is_empty() { Value::Null } else { json!(count) };
                    json!({
                        "cell_type": "code",
                        "execution_count": ran,
                        "id": cell.id,
                        "metadata": runs.metadata(),
                        "outputs": outputs,
                        "source": lines(&cell.source),
                    })
                }
            })
            .collect();
        let notebook = json!({
            "cells": cells,
            "metadata": {
                "kernelspec": {"display_name": "Rust", "language": "rust", "name": "rust"},
                "language_info": {
                    "codemirror_mode": "rust", "file_extension": ".rs", "mimetype": "text/rust",
                    "name": "Rust", "pygment_lexer": "rust", "version": "",
                },
            },
            "nbformat": 4,
            "nbformat_minor": 5,
        });
        let mut text = Vec::new();
        let format = serde_json::ser::PrettyFormatter::with_indent(b" ");
        let mut writer = serde_json::Serializer::with_formatter(&mut text, format);
        serde::Serialize::serialize(&notebook, &mut writer)?;
        text.push(b'\n');
        Ok(String::from_utf8(text)?)
    }

    /// Takes over what `old` printed for each code cell whose source is the same. Cells that are in
    /// several places take the outputs in order.
    pub fn keep_outputs_of(&mut self, old: &Self) {
        let mut printed: HashMap<&str, Vec<&Vec<Value>>> = HashMap::new();
        for cell in old.cells.iter().rev() {
            if let Kind::Code { outputs, .. } = &cell.kind {
                printed.entry(&cell.source).or_default().push(outputs);
            }
        }
        for cell in &mut self.cells {
            if let Kind::Code { outputs, .. } = &mut cell.kind
                && let Some(old) = printed.get_mut(cell.source.as_str()).and_then(Vec::pop)
            {
                outputs.clone_from(old);
            }
        }
    }

    /// What differs from the notebook that the page makes, leaving outputs aside: `None` if nothing does.
    pub fn differs_from(&self, page: &Self) -> Option<String> {
        let pairs = self.cells.iter().zip(&page.cells);
        if let Some(at) = pairs.clone().position(|(ours, theirs)| !ours.same_source(theirs)) {
            let line = page.cells[at].source.lines().next().unwrap_or_default();
            return Some(format!("cell {} differs from the page's `{line}`", at + 1));
        }
        let (ours, theirs) = (self.cells.len(), page.cells.len());
        if ours != theirs {
            return Some(format!("it has {ours} cells, the page makes {theirs}"));
        }
        pairs.clone().position(|(ours, theirs)| ours.id != theirs.id).map(|at| {
            format!(
                "cell {} has the id `{}`, not `{}`",
                at + 1,
                self.cells[at].id,
                page.cells[at].id
            )
        })
    }

    /// Adds a code cell at the end.
    pub fn push_code(&mut self, source: &str) {
        if !source.trim().is_empty() {
            self.cells.push(Cell::code(source, Runs::Along));
            self.number();
        }
    }

    /// The code cells.
    pub fn code_cells(&self) -> impl Iterator<Item = &Cell> {
        self.cells.iter().filter(|cell| matches!(cell.kind, Kind::Code { .. }))
    }

    /// Gives each cell an id made from its content.
    pub(super) fn number(&mut self) {
        let mut seen: HashMap<String, usize> = HashMap::new();
        for cell in &mut self.cells {
            let kind = if cell.kind == Kind::Markdown { "text" } else { "code" };
            let id = format!("{kind}-{:08x}", hash(&cell.source));
            let times = seen.entry(id.clone()).and_modify(|times| *times += 1).or_insert(1);
            cell.id = if *times == 1 { id } else { format!("{id}-{times}") };
        }
    }
}

/// FNV-1a, folded to 32 bits: the same on every machine and in every version of Rust.
fn hash(text: &str) -> u32 {
    let hash = text.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    (hash ^ (hash >> 32)) as u32
}
