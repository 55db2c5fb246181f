//! What a person sees while they wait: bars on a terminal, plain lines elsewhere.

use crate::record::Value;

/// The progress of a job of known or unknown length.
#[derive(Debug, Default)]
pub struct Progress;

impl Progress {
    /// Shows nothing: for tests.
    pub fn hidden() -> Self {
        Self
    }

    /// Says what is being done now.
    pub fn note(&self, _text: &str) {}

    /// Shows a value that was measured.
    pub fn value(&self, _value: &Value) {}
}
