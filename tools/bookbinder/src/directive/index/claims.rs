//! The claims that the pages test: what people say, the verdict, and where the test is.

use crate::mention::Mention;
use lab::Chapter;

/// An item for each claim of a chapter's pages, in their order. Directives in a claim are left for the caller.
pub(super) fn items(chapter: &Chapter, mentions: &[Mention], up: &str) -> Vec<String> {
    let folder = chapter.folder();
    let claims = mentions
        .iter()
        .filter(|mention| mention.name == Mention::CLAIM && mention.page.starts_with(&folder));
    claims
        .map(|claim| {
            let (says, verdict) = claim.argument.split_once('\n').unwrap_or((&claim.argument, ""));
            format!("{says} **{verdict}** {}", claim.last(up))
        })
        .collect()
}
