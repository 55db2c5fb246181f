//! Plain text of crates and kernels as Markdown.

use crate::html;
use std::fmt::Write as _;

/// Plain text in Markdown: what is between backticks is code, nothing else means anything.
pub(super) fn with_code(text: &str) -> String {
    let mut out = String::new();
    for (at, part) in text.split('`').enumerate() {
        let _ = match at % 2 {
            0 => write!(out, "{}", html::text(part)),
            _ => write!(out, "`{part}`"),
        };
    }
    out
}
