//! The boxes: claims for both flavours, and for notebooks mdBook's own as well.

use crate::{markdown::code_ranges, page::Flavour};
use std::fmt::Write as _;

/// `text` with its boxes as the flavour has them.
pub(super) fn expand(text: &str, flavour: Flavour) -> String {
    const KINDS: [(&str, &str); 5] = [
        ("[!NOTE]", "Note"),
        ("[!TIP]", "Tip"),
        ("[!IMPORTANT]", "Important"),
        ("[!WARNING]", "Warning"),
        ("[!CAUTION]", "Caution"),
    ];
    let code = code_ranges(text);
    let (mut out, mut at) = (String::with_capacity(text.len()), 0);
    let mut lines = text.split_inclusive('\n').peekable();
    while let Some(line) = lines.next() {
        let start = at;
        at += line.len();
        let quoted = line.strip_prefix('>').map(str::trim_start);
        let in_code = code.iter().any(|code| code.range.contains(&start));
        let claim = quoted.and_then(|rest| rest.strip_prefix("[!CLAIM]")).filter(|_| !in_code);
        match (claim, flavour) {
            (Some(first), Flavour::Html) => {
                out.push_str(
                    "<div class=\"claim\" role=\"note\" aria-label=\"A claim, tested\">\n",
                );
                out.push_str("<p class=\"claim-title\">A claim, tested</p>\n\n");
                out.push_str(first.trim_start());
                if is_sentence(first) {
                    out.push('\n');
                }
                while let Some(more) = lines.peek().and_then(|line| line.strip_prefix('>')) {
                    out.push_str(more.strip_prefix(' ').unwrap_or(more));
                    at += more.len() + 1;
                    lines.next();
                }
                if !out.ends_with('\n') {
                    out.push('\n');
                }
                out.push_str("\n</div>\n");
            }
            (Some(first), Flavour::Notebook) => {
                let _ = write!(out, "> **A claim, tested.** {}", first.trim_start());
                if is_sentence(first) {
                    out.push_str(">\n");
                }
            }
            (None, Flavour::Notebook) if !in_code => {
                let kind = quoted.and_then(|rest| {
                    KINDS.iter().find_map(|(mark, name)| Some((name, rest.strip_prefix(mark)?)))
                });
                match kind {
                    Some((name, rest)) => {
                        let _ = write!(out, "> **{name}.** {}", rest.trim_start_matches(' '));
                    }
                    None => out.push_str(line),
                }
            }
            _ => out.push_str(line),
        }
    }
    out
}

/// Whether a claim's first line is a paragraph of its own; what follows is about it.
fn is_sentence(line: &str) -> bool {
    line.trim_end().ends_with(['"', '”', '.', '!', '?'])
}
