//! What brings readers to a page: its own description for search engines and previews, and the glossary for the book's search.

use crate::{
    directive::term,
    disk,
    expand::Shared,
    html,
    markdown::{Heading, sentences},
    page::{Flavour, as_index, of_chapter},
    site::Site,
    sources::{self, Glossary},
    text,
};
use anyhow::{Result, anyhow};
use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

/// What each page says of itself, by its file in the book (`01-matmul/roofline.md`; an opener is `index.md`).
pub type Descriptions = BTreeMap<PathBuf, String>;

/// The longest description: search engines cut what is longer.
const LONGEST: usize = 160;

/// What ends a sentence.
const STOPS: &str = ".?!";

/// What a page says of itself: the sentences of its first paragraph that fit, as plain text. Numbers are left to the page,
/// which knows the machine: a sentence that quotes one is passed over.
pub fn description(glossary: &Glossary, source: &str) -> Option<String> {
    let begins = |part: &&str| part.starts_with(char::is_alphanumeric) || part.starts_with("**");
    let paragraphs = source.split("\n\n").map(str::trim).filter(begins);
    let said = |part: &str| {
        // Each term's own words are in place of its directive.
        let link = |term: &str| term::link(glossary, term, "", Flavour::Notebook, false);
        let part = text::replaced(part, "{{#term ", "}}", link).ok()?;
        let kept = sentences(&part, STOPS).into_iter().filter(|sentence| !sentence.contains("{{#"));
        Some(short(&sources::plain(&kept.collect::<String>())))
    };
    paragraphs.filter_map(said).find(|text| text.len() > 30)
}

/// As many sentences as fit; of a longer first one the words that do.
fn short(text: &str) -> String {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let long = |text: &str| text.chars().count() > LONGEST;
    let mut out = String::new();
    for sentence in sentences(&text, STOPS) {
        if long(&(out.clone() + sentence)) {
            break;
        }
        out.push_str(sentence);
    }
    if out.is_empty() {
        let head: String = text.chars().take(LONGEST).collect();
        let end = head.rfind(' ').unwrap_or(head.len());
        return format!("{} …", head[..end].trim_end_matches([',', ';', ':']));
    }
    out
}

/// Gives each page of the built book its own description in place of the book's, what a preview shows, and on a site its
/// address.
///
/// # Errors
/// If a page can't be read or written, or has no description.
pub fn describe(book: &Path, title: &str, pages: &Descriptions, site: Option<&Site>) -> Result<()> {
    for (path, own) in pages {
        let file = book.join(path).with_extension("html");
        let text = text::read(&file)?;
        let text = described(&text, title, own, &of_site(site, path)).ok_or_else(|| {
            anyhow!("{} has no description; see tools/bookbinder/src/found.rs", file.display())
        })?;
        disk::write(&file, text)?;
    }
    Ok(())
}

/// What a page on a site says of it.
fn of_site(site: Option<&Site>, page: &Path) -> String {
    let Some(site) = site else { return String::new() };
    let address = html::attribute(&site.of(page));
    format!("\n        <meta property=\"og:url\" content=\"{address}\">")
}

/// The page with its own description, and the properties of the Open Graph protocol (<https://ogp.me>).
fn described(page: &str, title: &str, own: &str, more: &str) -> Option<String> {
    let begin = "<meta name=\"description\" content=\"";
    let (before, rest) = page.split_once(begin)?;
    let (_, after) = rest.split_once("\">")?;
    let (_, name) = before.split_once("<title>")?;
    let (name, _) = name.split_once("</title>")?;
    let own = html::attribute(own);
    let graph = [
        ("title", name),
        ("description", own.as_str()),
        ("type", "article"),
        ("site_name", &html::attribute(title)),
    ]
    .map(|(property, text)| format!("<meta property=\"og:{property}\" content=\"{text}\">"));
    Some(format!("{before}{begin}{own}\">\n        {}{more}{after}", graph.join("\n        ")))
}

/// The glossary as a script that the search loads: of each term its name, its sentence, the page that introduces it, and its other
/// names.
pub fn terms(shared: &Shared) -> String {
    let all = shared.glossary.iter().map(|(key, term)| {
        let (title, page) = shared
            .introduces(key)
            .unwrap_or_else(|| ("Glossary".to_owned(), format!("{}#{key}", sources::GLOSSARY)));
        let page = page.replacen(".md#", ".html#", 1);
        (&term.name, &term.short, page, title, &term.also)
    });
    let list = serde_json::to_string(&all.collect::<Vec<_>>()).expect("texts are JSON");
    // A script's text must not hold what ends a script.
    format!("throughputTerms({});\n", list.replace('<', "\\u003c"))
}

/// Whether one of a page's headings has the term's words in their order.
pub(crate) fn is_named(term: &str, headings: &[Heading]) -> bool {
    let plain = |text: &str| {
        let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
        words.fold(" ".to_owned(), |all, word| all + &word.to_lowercase() + " ")
    };
    let term = plain(term);
    headings.iter().any(|heading| plain(&heading.text).contains(&term))
}

impl Shared<'_> {
    /// The page that explains a term, and the place on it: the first section that marks it under a heading that names it,
    /// or else the first that marks it.
    pub(crate) fn introduces(&self, key: &str) -> Option<(String, String)> {
        let pages = self.used.get(key)?;
        let mut sections = pages.iter().filter(|(page, _)| of_chapter(page));
        let named = sections.clone().find(|(_, named)| *named);
        let (page, _) = named.or(sections.next()).or(pages.first())?;
        let place = format!("{}#term-{key}", as_index(&page.display().to_string()));
        Some((self.title(page), place))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{markdown::headings, sources::Term};

    #[test]
    fn a_page_is_described_by_its_first_words() {
        let term =
            |name: &str| Term { name: name.to_owned(), short: String::new(), also: Vec::new() };
        let terms =
            [("cache-line".to_owned(), term("Cache line")), ("fma".to_owned(), term("FMA"))];
        let glossary = Glossary::from(terms);
        let page = "# Title\n\n<div>\n\nUp to {{#measure a.b c=1}} times.\n\nIt takes {{#measure a.b}}. **You will be able to** draw a {{#term cache-line}} and \
                    a {{#term fma fused one}}, an {{#term fma}}, by `hand`.\n\nMore.";
        let found = description(&glossary, page).unwrap();
        assert_eq!(
            found,
            "You will be able to draw a cache line and a fused one, an FMA, by hand."
        );
        assert_eq!(description(&glossary, "# Title\n\n{{#index kernels}}\n"), None);
    }

    #[test]
    fn a_heading_names_a_term_by_its_words() {
        let page = "# Optimizers and learning-rate schedules\n\nA KV cache.\n\n## `FMA` units\n";
        let named = |term: &str, page: &str| is_named(term, &headings(page));
        assert!(named("Learning rate", page) && named("FMA", page));
        assert!(!named("KV cache", page) && !named("Rate", "# Rates\n"));
    }

    #[test]
    fn a_long_one_ends_with_a_sentence_or_a_word() {
        let long = format!("{} end here. {}", "word ".repeat(20).trim(), "more ".repeat(40));
        let description = |text: &str| description(&Glossary::new(), text);
        assert!(description(&long).unwrap().ends_with("end here."));
        let endless = "word ".repeat(60);
        let found = description(&endless).unwrap();
        assert!(found.ends_with("word …") && found.chars().count() <= LONGEST + 2, "{found}");
        let wide = "ä".repeat(400);
        assert_eq!(description(&wide).unwrap().chars().count(), LONGEST + 2);
    }

    #[test]
    fn a_built_page_gets_its_own_description() {
        let head =
            "<title>A &amp; B</title><meta name=\"description\" content=\"All &amp; everything\">";
        let text = described(head, "Book", "A \"page\"", "").unwrap();
        assert!(text.contains("name=\"description\" content=\"A &quot;page&quot;\""), "{text}");
        assert!(text.contains("og:title\" content=\"A &amp; B\"") && !text.contains("everything"));
        let book = tempfile::tempdir().unwrap();
        std::fs::write(book.path().join("a.html"), "<title>A</title>").unwrap();
        let pages = Descriptions::from([(PathBuf::from("a.md"), "A".to_owned())]);
        let error = describe(book.path(), "Book", &pages, None).unwrap_err().to_string();
        assert!(error.contains("a.html has no description"), "{error}");
    }
}
