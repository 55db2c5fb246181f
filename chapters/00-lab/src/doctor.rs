//! What this machine has, what is missing, how to get it.

use serde::Serialize;
use std::path::Path;

/// One requirement.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Row {
    /// Which step of the way from a bare machine to a GPU that trains it belongs to.
    pub step: String,
    /// What is looked for.
    pub name: String,
    /// Whether it is there.
    pub found: bool,
    /// Its version, or what else tells it apart.
    pub version: Option<String>,
    /// What the course uses it for.
    pub what_for: String,
    /// How to get it, where it is missing.
    pub how_to_get: String,
    /// Whether the course can't run without it.
    pub required: bool,
}

/// Looks for everything. `data` is the folder that the reader named (`--data`).
pub fn examine(data: Option<&Path>) -> Vec<Row> {
    let _ = data;
    Vec::new()
}

/// The rows for a person.
pub fn table(rows: &[Row]) -> String {
    let _ = rows;
    String::new()
}
