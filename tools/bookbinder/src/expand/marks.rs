//! Formulas, citations and links, all found by the parser so that code is left alone.

use super::shared::OnPage;
use crate::{
    arithmetic,
    markdown::options,
    maths,
    page::{Flavour, as_index},
    text::edited,
};
use anyhow::{Context as _, Result, bail};
use pulldown_cmark::{Event, LinkType, Parser, Tag};
use std::{fmt::Write as _, ops::Range};

/// `text` with its marks expanded, and the keys that it cites. `source` is the page as it was written, for the line of
/// a message.
pub(super) fn expand(page: OnPage, text: &str, source: &str) -> Result<(String, Vec<String>)> {
    let Marks { edits, known, cited } = marks(page, text, source)?;
    all_known(page, text, source, &known)?;
    Ok((edited(text, edits) + &notes(page, &cited), cited))
}

/// What the parser found.
#[derive(Default)]
struct Marks {
    /// Marks and their replacements, in order.
    edits: Vec<(Range<usize>, String)>,
    /// Where `[^` is a footnote, or none of the page's text.
    known: Vec<Range<usize>>,
    /// The keys of the sources, in order.
    cited: Vec<String>,
}

fn marks(page: OnPage, text: &str, source: &str) -> Result<Marks> {
    let OnPage { shared, .. } = page;
    // A reference is one for the parser only if its definition is there.
    let mut whole = text.to_owned();
    whole.push_str("\n\n");
    for key in shared.sources.keys() {
        let _ = writeln!(whole, "[^{key}]: .\n");
    }
    let mut marks = Marks::default();
    for (event, range) in Parser::new_ext(&whole, options()).into_offset_iter() {
        let done = marks.edits.last().map_or(0, |(range, _)| range.end);
        if range.start >= text.len() || range.start < done {
            continue;
        }
        match &event {
            Event::InlineMath(tex) | Event::DisplayMath(tex) => {
                marks.known.push(range.clone());
                if shared.flavour == Flavour::Html {
                    let block = matches!(event, Event::DisplayMath(_));
                    let made = arithmetic::holds(tex).and_then(|()| maths::mathml(tex, block));
                    marks.edits.push((range, made.with_context(|| line_of(page, source, tex))?));
                }
            }
            Event::Code(_)
            | Event::Start(Tag::CodeBlock(_))
            | Event::Html(_)
            | Event::InlineHtml(_) => marks.known.push(range),
            Event::Start(Tag::FootnoteDefinition(_)) => {
                marks.known.push(range.start..range.start + 2);
            }
            Event::FootnoteReference(key) => {
                marks.known.push(range.clone());
                // Others are footnotes of the page's own.
                if shared.sources.contains_key(&**key) {
                    let cited = &mut marks.cited;
                    let at = cited.iter().position(|old| old == &**key).unwrap_or_else(|| {
                        cited.push(key.to_string());
                        cited.len() - 1
                    });
                    if shared.flavour == Flavour::Notebook {
                        marks.edits.push((range, format!("\\[{}\\]", at + 1)));
                    }
                }
            }
            Event::Start(Tag::Link { link_type: LinkType::Inline, dest_url, .. }) => {
                let Some(at) = text[range.clone()].rfind(&**dest_url) else { continue };
                let new = as_index(dest_url);
                if shared.flavour == Flavour::Html && !dest_url.contains("://") && new != **dest_url
                {
                    let start = range.start + at;
                    marks.edits.push((start..start + dest_url.len(), new));
                }
            }
            _ => {}
        }
    }
    Ok(marks)
}

/// That each `[^` is a footnote.
fn all_known(page: OnPage, text: &str, source: &str, known: &[Range<usize>]) -> Result<()> {
    for (start, _) in text.match_indices("[^") {
        if !known.iter().any(|range| range.contains(&start)) && !text[..start].ends_with('\\') {
            let key = text[start + 2..].split(']').next().unwrap_or("");
            bail!(
                "{}: book/src/bibliography.md does not define `[^{key}]`",
                line_of(page, source, &text[start..start + 2 + key.len()])
            );
        }
    }
    Ok(())
}

/// Where `needle` is in the page's source.
fn line_of(page: OnPage, source: &str, needle: &str) -> String {
    let place = source.find(needle).map(|at| page.place(source, at));
    place.unwrap_or_else(|| format!("book/src/{}", page.path.display()))
}

/// The sources at the end of the page.
fn notes(page: OnPage, cited: &[String]) -> String {
    if cited.is_empty() {
        return String::new();
    }
    let OnPage { shared, .. } = page;
    let mut out = match shared.flavour {
        Flavour::Html => "\n",
        Flavour::Notebook => "\n\n## Sources\n\n",
    }
    .to_owned();
    for (number, key) in (1..).zip(cited) {
        let entry = &shared.sources[key];
        let _ = match shared.flavour {
            Flavour::Html => writeln!(out, "\n[^{key}]: {entry}"),
            Flavour::Notebook => writeln!(out, "{number}. {entry}"),
        };
    }
    out
}
