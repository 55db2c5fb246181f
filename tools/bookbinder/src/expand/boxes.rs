//! The boxes: claims and checks for both flavours, and for notebooks mdBook's own as well.

use super::{check, shared::OnPage};
use crate::{
    markdown::{capitalised, code_ranges},
    page::Flavour,
    text::edited,
};
use anyhow::{Context as _, Result};

/// `text` with its boxes as the page's flavour has them.
pub(super) fn expand(page: OnPage, text: &str) -> Result<String> {
    const MARK: &str = "\n> [!";
    let code = code_ranges(text);
    let mut edits = Vec::new();
    for (at, _) in text.match_indices(MARK) {
        let rest = &text[at + MARK.len()..];
        let end = rest.find("\n\n").unwrap_or(rest.trim_end().len());
        let Some((kind, body)) = rest[..end].split_once(']') else { continue };
        let first = body.lines().next().unwrap_or_default();
        let made = match (kind, page.shared.flavour) {
            _ if code.iter().any(|code| code.range.contains(&(at + 1))) => continue,
            ("CHECK", _) => check::folded(body.trim()).with_context(|| {
                format!("book/src/{}: the check `{}`", page.path.display(), first.trim())
            })?,
            ("CLAIM", Flavour::Html) => {
                let lines = apart(body).replace("\n> ", "\n").replace("\n>", "\n");
                let role = "role=\"note\" aria-label=\"A claim, tested\"";
                let title = "<p class=\"claim-title\">A claim, tested</p>";
                format!("<div class=\"claim\" {role}>\n{title}\n\n{lines}\n\n</div>")
            }
            ("CLAIM", Flavour::Notebook) => format!("> **A claim, tested.** {}", apart(body)),
            (kind, Flavour::Notebook) => {
                let kind = capitalised(&kind.to_lowercase());
                format!("> **{kind}.** {}", body.trim_start_matches(' '))
            }
            _ => continue,
        };
        edits.push((at + 1..at + MARK.len() + end, made));
    }
    Ok(edited(text, edits))
}

/// A claim whose first line is a sentence, with that as a paragraph of its own: what follows is about it.
fn apart(claim: &str) -> String {
    let claim = claim.trim_start();
    match claim.split_once('\n') {
        Some((first, rest)) if first.trim_end().ends_with(['"', '”', '.', '!', '?']) => {
            format!("{first}\n>\n{rest}")
        }
        _ => claim.to_owned(),
    }
}
