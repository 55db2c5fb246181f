//! The machine that ran a notebook, as the notebook's metadata keep it.

use super::made::KEY;
use lab::machine::{Machine, Provenance};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Which machine printed a notebook's outputs, and when.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ran {
    /// The commit of the course.
    pub commit: String,
    /// The day, in UTC: `2026-01-31`.
    pub date: String,
    /// The machine in a few words: `AMD EPYC, 2 cores, AVX2`.
    pub machine: String,
    /// The seconds that all cells together took.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seconds: Option<u64>,
}

impl Ran {
    /// On this machine, now.
    pub fn here() -> Self {
        let Provenance { commit, date, .. } = Provenance::now();
        let date = date.split('T').next().unwrap_or_default().to_owned();
        Self { commit, date, machine: Machine::detect().in_short(), seconds: None }
    }

    /// Of a notebook's JSON.
    pub fn of(notebook: &Value) -> Option<Self> {
        Self::deserialize(&notebook["metadata"][KEY]).ok()
    }
}
