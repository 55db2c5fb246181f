//! A notebook as a file (nbformat 4.5).

use super::{
    cell::{Cell, Kind, Runs, lines},
    made::{KEY, digest, hash, joined},
    ran::Ran,
};
use crate::text;
use anyhow::{Context, Result, anyhow, bail};
use serde_json::{Value, json};
use std::{collections::HashMap, path::Path};

/// A notebook: its cells, in order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Notebook {
    /// The cells.
    pub cells: Vec<Cell>,
    /// Where its outputs come from; `None` if it never ran.
    pub ran: Option<Ran>,
    /// The digest by which the notebook is known as one that the pages made.
    pub made: Option<String>,
}

impl Notebook {
    /// Reads a notebook file.
    ///
    /// # Errors
    /// If the file can't be read or is no notebook of nbformat 4.
    pub fn read(file: &Path) -> Result<Self> {
        Self::parse(&text::read(file)?).with_context(|| {
            format!(
                "{} is not a notebook; move it away and run `cargo run -- notebooks sync`",
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
                        count: cell["execution_count"].as_u64(),
                        ran: Ran::of(cell),
                    },
                    Some("markdown") => Kind::Markdown,
                    other => bail!("it has a cell of the kind {other:?}"),
                };
                let id = cell["id"].as_str().unwrap_or_default().to_owned();
                Ok(Cell { id, source: joined(&cell["source"]), kind })
            })
            .collect::<Result<_>>()?;
        let made = json["metadata"][KEY]["made"].as_str().map(str::to_owned);
        Ok(Self { cells, ran: Ran::of(&json), made })
    }

    /// The file's text.
    ///
    /// # Errors
    /// None that a user can cause; writing JSON into memory may fail in principle.
    pub fn json(&self) -> Result<String> {
        as_jupyter(&self.value())
    }

    /// Marks it as the notebook of this name that the pages made.
    pub(super) fn is_made_as(&mut self, name: &str) {
        self.made = Some(digest(name, &self.value()));
    }

    pub(super) fn value(&self) -> Value {
        let cells: Vec<Value> = self
            .cells
            .iter()
            .map(|cell| match &cell.kind {
                Kind::Markdown => json!({
                    "cell_type": "markdown", "id": cell.id, "metadata": {}, "source": lines(&cell.source),
                }),
                Kind::Code { runs, outputs, count, ran } => {
                    let mut metadata = runs.metadata();
                    if let Some(ran) = ran {
                        metadata[KEY] = json!(ran);
                    }
                    json!({
                        "cell_type": "code",
                        "execution_count": count,
                        "id": cell.id,
                        "metadata": metadata,
                        "outputs": outputs,
                        "source": lines(&cell.source),
                    })
                }
            })
            .collect();
        let mut notebook = json!({
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
        if let Some(ran) = &self.ran {
            notebook["metadata"][KEY] = json!(ran);
        }
        if let Some(made) = &self.made {
            notebook["metadata"][KEY]["made"] = json!(made);
        }
        notebook
    }

    /// Takes over what `old` printed for each code cell whose source is the same, with its count and the machine that ran
    /// it. Cells that are in several places take the outputs in order.
    pub fn keep_outputs_of(&mut self, old: &Self) {
        let mut printed: HashMap<&str, Vec<_>> = HashMap::new();
        for cell in old.cells.iter().rev() {
            if let Kind::Code { outputs, count, ran, .. } = &cell.kind {
                printed.entry(&cell.source).or_default().push((outputs, *count, ran));
            }
        }
        for cell in &mut self.cells {
            if let Kind::Code { outputs, count, ran, .. } = &mut cell.kind
                && let Some((old, of_old, by)) =
                    printed.get_mut(cell.source.as_str()).and_then(Vec::pop)
            {
                outputs.clone_from(old);
                *count = of_old;
                ran.clone_from(by);
            }
        }
        self.ran.clone_from(&old.ran);
    }

    /// Takes over what `run` printed for the cells that have printed nothing here, each with that run's machine.
    pub fn take_missing_of(&mut self, run: &Self) {
        for (cell, new) in self.cells.iter_mut().zip(&run.cells) {
            if !cell.printed() && new.printed() {
                cell.kind.clone_from(&new.kind);
                if let Kind::Code { ran, .. } = &mut cell.kind {
                    ran.clone_from(&run.ran);
                }
            }
        }
    }

    /// The cell with this index has run and printed these outputs. Its count is its place among the cells that run with the
    /// whole notebook; one that runs only when asked keeps the count that it has.
    pub fn has_run(&mut self, index: usize, outputs: Vec<Value>) {
        let along =
            |cell: &&Cell| matches!(cell.kind, Kind::Code { runs, .. } if runs != Runs::Asked);
        let before = self.cells.iter().take(index).filter(along).count() as u64;
        if let Some(Kind::Code { runs, outputs: kept, count, ran }) =
            self.cells.get_mut(index).map(|cell| &mut cell.kind)
        {
            *kept = outputs;
            *ran = None;
            if *runs != Runs::Asked {
                *count = Some(before + 1);
            }
        }
    }

    /// What differs from the notebook that the page makes, leaving outputs aside: `None` if nothing does.
    pub fn differs_from(&self, page: &Self) -> Option<String> {
        let pairs = self.cells.iter().zip(&page.cells);
        if let Some(at) = pairs.clone().position(|(ours, theirs)| !ours.same_source(theirs)) {
            // A picture of a page is one long line.
            let line = page.cells[at].source.lines().next().unwrap_or_default();
            let begin: String = line.chars().take(80).collect();
            return Some(format!("cell {} differs from the page's `{begin}`", at + 1));
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
            let long = hash(&cell.source);
            let id = format!("{kind}-{:08x}", (long ^ (long >> 32)) as u32);
            let times = seen.entry(id.clone()).and_modify(|times| *times += 1).or_insert(1);
            cell.id = if *times == 1 { id } else { format!("{id}-{times}") };
        }
    }
}

/// A notebook's JSON as text, laid out as Jupyter itself does, so that saving it there changes nothing.
pub(super) fn as_jupyter(notebook: &Value) -> Result<String> {
    let mut text = Vec::new();
    let format = serde_json::ser::PrettyFormatter::with_indent(b" ");
    let mut writer = serde_json::Serializer::with_formatter(&mut text, format);
    serde::Serialize::serialize(notebook, &mut writer)?;
    text.push(b'\n');
    Ok(String::from_utf8(text)?)
}
