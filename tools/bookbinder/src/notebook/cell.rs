//! One cell of a notebook.

use super::ran::Ran;
use serde_json::{Value, json};

/// When a code cell runs, and what is to come of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Runs {
    /// With the others, and it works.
    Along,
    /// The same, and as it only draws, Jupyter shows its code when asked.
    Draws,
    /// With the others, and it shows an error on purpose.
    Fails,
    /// On its own: not with the whole notebook.
    Asked,
}

impl Runs {
    /// The word of a fence, and the tag by which Jupyter knows the cell.
    pub(super) const MARKS: [(Self, &str, &str); 3] = [
        (Self::Fails, "fails", "raises-exception"),
        (Self::Asked, "asked", "skip-execution"),
        (Self::Draws, "figure", "hide-input"),
    ];

    /// What a cell with these tags does.
    pub(super) fn tagged(tags: &Value) -> Self {
        let tags = tags.as_array().map_or(&[][..], Vec::as_slice);
        let mark = Self::MARKS.iter().find(|(_, _, tag)| tags.iter().any(|known| known == tag));
        mark.map_or(Self::Along, |(runs, _, _)| *runs)
    }

    /// A cell's metadata.
    pub(super) fn metadata(self) -> Value {
        match Self::MARKS.iter().find(|(runs, _, _)| *runs == self) {
            Some((Self::Draws, _, tag)) => {
                json!({ "jupyter": { "source_hidden": true }, "tags": [tag] })
            }
            Some((_, _, tag)) => json!({ "tags": [tag] }),
            None => json!({}),
        }
    }
}

/// A cell's content.
#[derive(Clone, Debug, PartialEq)]
pub enum Kind {
    /// Text.
    Markdown,
    /// Rust, and what it printed when it last ran.
    Code {
        /// When it runs, and what is to come of it.
        runs: Runs,
        /// Its outputs as nbformat has them.
        outputs: Vec<Value>,
        /// Which cell of the run it was, from 1; `None` if it did not run. One that ran may have printed nothing.
        count: Option<u64>,
        /// Where its outputs come from, if not from the notebook's own run.
        ran: Option<Ran>,
    },
}

/// One cell.
#[derive(Clone, Debug, PartialEq)]
pub struct Cell {
    /// Made from the cell's content: an edit elsewhere leaves it as it is.
    pub id: String,
    /// The text or the code, without a line break at its end.
    pub source: String,
    /// What it is.
    pub kind: Kind,
}

impl Cell {
    pub(super) fn markdown(source: &str) -> Self {
        Self { id: String::new(), source: source.to_owned(), kind: Kind::Markdown }
    }

    pub(super) fn code(source: &str, runs: Runs) -> Self {
        let kind = Kind::Code { runs, outputs: Vec::new(), count: None, ran: None };
        Self { id: String::new(), source: source.trim_matches('\n').to_owned(), kind }
    }

    /// Whether it is code that has printed something.
    pub fn printed(&self) -> bool {
        matches!(&self.kind, Kind::Code { outputs, .. } if !outputs.is_empty())
    }

    /// Whether the page would make this cell: the same kind and the same source, whatever it printed.
    pub(super) fn same_source(&self, other: &Self) -> bool {
        let runs = |kind: &Kind| match kind {
            Kind::Markdown => None,
            Kind::Code { runs, .. } => Some(*runs),
        };
        self.source == other.source && runs(&self.kind) == runs(&other.kind)
    }
}

/// Text as a notebook keeps it: lines with their breaks.
pub fn lines(text: &str) -> Vec<&str> {
    text.split_inclusive('\n').collect()
}
