//! A term of the glossary in a sentence: `{{#term KEY}}`, `{{#term KEY as it reads}}`.

use crate::{html, page::Flavour, sources::Glossary};
use anyhow::{Result, anyhow};

/// The key of a term, and what it reads as where that is said.
pub fn parts(argument: &str) -> (&str, &str) {
    let (key, text) = argument.split_once(char::is_whitespace).unwrap_or((argument, ""));
    (key, text.trim())
}

/// A link to the glossary, on a page that is `up` below the book's root. The `first` one on the page is where the glossary
/// leads to.
///
/// # Errors
/// If the glossary has no such term.
pub fn link(
    glossary: &Glossary,
    argument: &str,
    up: &str,
    flavour: Flavour,
    first: bool,
) -> Result<String> {
    let (key, text) = parts(argument);
    let term = glossary
        .get(key)
        .ok_or_else(|| anyhow!("the glossary has no term `{key}` (book/src/glossary.md)"))?;
    let text = if text.is_empty() { running(&term.name) } else { text.to_owned() };
    Ok(match flavour {
        Flavour::Notebook => text,
        Flavour::Html => format!(
            "<a class=\"term\"{} href=\"{up}glossary.html#{key}\" title=\"{}\">{}</a>",
            if first { format!(" id=\"term-{key}\"") } else { String::new() },
            html::attribute(&term.short),
            html::text(&text)
        ),
    })
}

/// A term inside a sentence: `Cache line` is written `cache line`, `FMA` stays.
fn running(name: &str) -> String {
    let word = name.split([' ', '-']).next().unwrap_or("");
    let mut letters = name.chars();
    match letters.next() {
        Some(first) if word.chars().skip(1).all(char::is_lowercase) => {
            first.to_lowercase().chain(letters).collect()
        }
        _ => name.to_owned(),
    }
}
