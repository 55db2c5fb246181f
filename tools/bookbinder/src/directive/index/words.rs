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

/// The first sentence: a stop and a capital letter after it end one.
pub(super) fn sentence(text: &str) -> &str {
    let ends = |at: usize| text[at + 2..].starts_with(char::is_uppercase);
    match text.match_indices(". ").find(|(at, _)| ends(*at)) {
        Some((at, _)) => &text[..=at],
        None => text,
    }
}
