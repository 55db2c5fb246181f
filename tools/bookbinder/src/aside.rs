//! Other machines' numbers next to the pages: a page carries those of the machine that it shows first, and loads another
//! one's when a reader chooses it. Each machine would add up to half a page's weight otherwise.
//!
//! The pieces are in a script, because a page that is opened from a folder may fetch nothing else. Each goes to the end of
//! the quote that it was taken from, found by the quote's number on the page.

use crate::{disk, page::built, text};
use anyhow::Result;
use std::{
    collections::BTreeMap,
    ops::Range,
    path::{Path, PathBuf},
};

/// What marks a quote: the element with what each machine has.
pub const QUOTE: &str = "data-quote";

/// How a page's element says whose it is, and for whom it also stands.
const MACHINE: &str = " data-machine=\"";
const ALSO: &str = " data-also=\"";

/// Where the page's script reads which machines' numbers lie next to the page.
const MAIN: &str = "<main>";

/// The name under which a page's numbers are kept: `01-matmul-index` for `01-matmul/index.html`.
fn page_name(page: &Path) -> String {
    page.with_extension("").to_string_lossy().replace(['/', '\\'], "-")
}

/// The pieces of one machine, each with the number of its quote.
type Pieces = Vec<(usize, String)>;

/// Takes what the machine `first` does not show out of every page of the finished book, and puts it into
/// `records/MACHINE/pages/PAGE.js` for each other machine.
///
/// # Errors
/// If a file can't be read or written.
pub fn extract(book: &Path, first: &str) -> Result<()> {
    for page in built(book)? {
        let name = page_name(page.strip_prefix(book).unwrap_or(&page));
        let html = text::read(&page)?;
        let (html, others) = split(&html, first);
        if others.is_empty() {
            continue;
        }
        for (machine, pieces) in &others {
            let file: PathBuf =
                book.join("records").join(machine).join("pages").join(format!("{name}.js"));
            disk::write(&file, script(machine, pieces)?)?;
        }
        let machines: Vec<&str> = others.keys().map(String::as_str).collect();
        let main = format!("<main data-page=\"{name}\" data-beside=\"{}\">", machines.join(" "));
        disk::write(&page, html.replacen(MAIN, &main, 1))?;
    }
    Ok(())
}

/// The script that hands the pieces to the page.
fn script(machine: &str, pieces: &[(usize, String)]) -> serde_json::Result<String> {
    let (machine, pieces) = (serde_json::to_string(machine)?, serde_json::to_string(pieces)?);
    Ok(format!("globalThis.throughputMachine({machine},{pieces});\n"))
}

/// The name of the tag around `at`, and where it starts, if it is one.
fn tag_around(html: &str, at: usize) -> Option<(usize, &str)> {
    let start = html[..at].rfind('<')?;
    let inside = &html[start + 1..at];
    let tag = inside.split(char::is_whitespace).next()?;
    (!inside.contains('>') && !tag.is_empty()).then_some((start, tag))
}

/// The quotes of a page, in their order.
fn quotes(html: &str) -> Vec<Range<usize>> {
    let mut all: Vec<Range<usize>> = Vec::new();
    for (found, _) in html.match_indices(&format!(" {QUOTE}")) {
        let Some((start, tag)) = tag_around(html, found) else { continue };
        let Some(length) = element(&html[start..], tag) else { continue };
        all.push(start..start + length);
    }
    all
}

/// `html` without what the machine `first` does not show, and this, by machine. What stands in for machines that have
/// nothing is each of theirs.
fn split(html: &str, first: &str) -> (String, BTreeMap<String, Pieces>) {
    let (mut out, mut pieces) = (String::with_capacity(html.len()), BTreeMap::new());
    let mut at = 0;
    for (number, quote) in quotes(html).into_iter().enumerate() {
        for (found, _) in html[quote.clone()].match_indices(MACHINE) {
            let found = quote.start + found;
            let Some((start, tag)) = tag_around(html, found).filter(|(start, _)| *start >= at)
            else {
                continue;
            };
            let head = html[found..].split('>').next().unwrap_or_default();
            let value = |name: &str| {
                let rest = head.split_once(name).map_or("", |(_, rest)| rest);
                rest.split('"').next().unwrap_or_default()
            };
            let also = value(ALSO).split(' ').filter(|name| !name.is_empty());
            let shown_for: Vec<&str> = [value(MACHINE)].into_iter().chain(also).collect();
            let Some(length) = element(&html[start..], tag).filter(|_| !shown_for.contains(&first))
            else {
                continue;
            };
            let piece = &html[start..start + length];
            for machine in shown_for {
                let of_machine: &mut Pieces = pieces.entry(machine.to_owned()).or_default();
                of_machine.push((number, piece.to_owned()));
            }
            out.push_str(&html[at..start]);
            at = start + length;
            // An element on a line of its own goes with its line.
            if out.ends_with('\n') && html[at..].starts_with('\n') {
                at += 1;
            }
        }
    }
    out.push_str(&html[at..]);
    (out, pieces)
}

/// The length of the element `tag` at the start of `html`, with what is inside.
fn element(html: &str, tag: &str) -> Option<usize> {
    let (open, close) = (format!("<{tag}"), format!("</{tag}>"));
    let (mut at, mut depth) = (0, 0);
    loop {
        let end = at + html[at..].find(&close)?;
        let opened = html[at..end].match_indices(&open).filter(|(start, _)| {
            html[at + start + open.len()..].starts_with(|c: char| c.is_whitespace() || c == '>')
        });
        depth += opened.count();
        at = end + close.len();
        depth = depth.checked_sub(1)?;
        if depth == 0 {
            return Some(at);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_in_for_a_machine_comes_with_it() {
        let page = "<span data-quote=\"\"><a data-machine=\"one\">1</a><a data-machine=\"far\" data-also=\"wide\">2</a>\
                    <a data-machine=\"wide\">on far</a></span>";
        let (rest, pieces) = split(page, "one");
        assert_eq!(rest, "<span data-quote=\"\"><a data-machine=\"one\">1</a></span>");
        assert_eq!((pieces["far"].len(), pieces["wide"].len()), (1, 2));
        assert!(pieces["wide"][0].1.contains(">2<"), "the number comes before whose it is");
    }

    #[test]
    fn an_element_that_does_not_end_stays() {
        assert_eq!(element("<a><a></a>", "a"), None);
        assert_eq!(element("<a><abbr></abbr></a>x", "a"), Some(20));
    }
}
