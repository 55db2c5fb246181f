//! The directives and the claims of a page, and the headings that they are below.

use crate::{
    html,
    markdown::{capitalised, headings},
};
use std::path::{Path, PathBuf};

/// A directive or a claim of a page, and the heading that it is below.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mention {
    /// The directive's name: `figure`; of a claim, [`Mention::CLAIM`].
    pub name: String,
    /// What follows the name; of a claim what people say and, on a second line, the verdict.
    pub argument: String,
    /// The page, relative to `book/src`.
    pub page: PathBuf,
    /// The heading's text.
    pub heading: String,
    /// The heading's anchor; none for the page's title.
    pub anchor: Option<String>,
}

impl Mention {
    /// The name of a claim, `> [!CLAIM] People say: "…"`.
    pub const CLAIM: &str = "claim";

    /// A link to the heading, from a page that is `up` below the book's root.
    pub fn link(&self, up: &str) -> String {
        let anchor = self.anchor.as_ref().map_or(String::new(), |anchor| format!("#{anchor}"));
        format!("[{}]({up}{}{anchor})", html::text(&self.heading), self.page.display())
    }

    /// [`Mention::link`] at the end of a sentence: a heading that asks needs no other stop.
    pub fn last(&self, up: &str) -> String {
        let stop = if self.heading.ends_with(['?', '!']) { "" } else { "." };
        self.link(up) + stop
    }

    /// The key of a quoted record; of an include, the file.
    pub fn first(&self) -> &str {
        self.argument.split_whitespace().next().unwrap_or("")
    }
}

/// Every directive of a page, in order, and behind them every claim.
pub fn mentions(page: &Path, source: &str) -> Vec<Mention> {
    let headings = headings(source);
    let mention = |at: usize, name: &str, argument: &str| {
        let above = headings.iter().rev().find(|heading| heading.at < at);
        Mention {
            name: name.to_owned(),
            argument: argument.to_owned(),
            page: page.to_owned(),
            heading: above.map(|heading| heading.text.clone()).unwrap_or_default(),
            anchor: above.filter(|heading| !heading.title).map(|heading| heading.anchor.clone()),
        }
    };
    let mut found = Vec::new();
    for (at, _) in source.match_indices("{{#") {
        let Some((body, _)) = source[at + 3..].split_once("}}") else { continue };
        if source[..at].ends_with('\\') || body.contains('\n') {
            continue;
        }
        let (name, argument) = body.trim().split_once(char::is_whitespace).unwrap_or((body, ""));
        found.push(mention(at, name, argument.trim()));
    }
    for (at, mark) in source.match_indices("\n> [!CLAIM] ") {
        let quote = source[at + mark.len()..].split("\n\n").next().unwrap_or_default();
        let says = quote.lines().next().unwrap_or_default();
        let says = says.strip_prefix("People say: ").unwrap_or(says).trim();
        found.push(mention(at, Mention::CLAIM, &format!("{says}\n{}", verdict(quote))));
    }
    found
}

/// The verdict of a claim's box: `**Verdict: no.**` is `No.`.
fn verdict(quote: &str) -> String {
    let bold = quote.split("**Verdict: ").nth(1).and_then(|rest| rest.split_once("**"));
    let text = bold.map_or("", |(verdict, _)| verdict).trim_end_matches([';', ',', '.']);
    if text.is_empty() { String::new() } else { capitalised(text) + "." }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mention_knows_the_heading_above_it() {
        let source = "# Title\n\n{{#figure a.b}}\n\n## One `of` two\n\n\\{{#figure no}}\n\n```rust\n\
                      {{#include x/y.rs:part}}\n```\n\n## One of two\n\nA {{#measure a.c n=1}}.\n\n\
                      ## Named {#here}\n\n{{#route}}\n";
        let found = mentions(Path::new("01-a/README.md"), source);
        let short: Vec<_> = found
            .iter()
            .map(|m| (m.name.as_str(), m.first(), m.anchor.as_deref().unwrap_or("-")))
            .collect();
        assert_eq!(
            short,
            [
                ("figure", "a.b", "-"),
                ("include", "x/y.rs:part", "one-of-two"),
                ("measure", "a.c", "one-of-two-1"),
                ("route", "", "here"),
            ]
        );
        assert_eq!(found[1].last("../"), "[One of two](../01-a/README.md#one-of-two).");
        let asked = Mention { heading: "Who?".to_owned(), ..found[0].clone() };
        assert_eq!(asked.last(""), "[Who?](01-a/README.md)");
    }
}
