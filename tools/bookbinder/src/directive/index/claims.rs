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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mention::mentions;
    use std::path::Path;

    #[test]
    fn a_claim_has_its_verdict_and_its_place() {
        let page = "# A\n\n## Speed\n\n> [!CLAIM] People say: \"It is fast.\"\n> We ran it.\n>\n> **Verdict: no.** It is slow.\n";
        let title = "A title";
        let chapter = Chapter {
            number: 1,
            name: "a",
            title,
            experiments: vec![],
            figures: vec![],
            tables: vec![],
        };
        let mut all = mentions(Path::new("01-a/one.md"), page);
        all.extend(mentions(Path::new("02-b/one.md"), page));
        assert_eq!(
            items(&chapter, &all, "../"),
            ["\"It is fast.\" **No.** [Speed](../01-a/one.md#speed)."]
        );
    }
}
