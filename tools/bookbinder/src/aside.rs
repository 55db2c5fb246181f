//! Contributed machines' numbers next to the pages: a page carries the reference machines' and the reader's own, and
//! loads another machine's when a reader chooses it. Each machine would add up to half a page's weight otherwise.
//!
//! The pieces are in a script, because a page that is opened from a folder may fetch nothing else. Each goes behind
//! the element of the first reference machine that it followed, found by its number on the page.

use anyhow::{Context, Result};
use std::{
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
};

/// How a page's element says whose it is.
const MACHINE: &str = " data-machine=\"";

/// The name under which a page's numbers are kept: `01-matmul-index` for `01-matmul/index.html`.
pub fn page_name(page: &Path) -> String {
    page.with_extension("").to_string_lossy().replace(['/', '\\'], "-")
}

/// Takes the numbers of `machines` out of every page of the finished book and puts them into
/// `records/MACHINE/pages/PAGE.js`. `anchor` is the first reference machine.
///
/// # Errors
/// If a file can't be read or written.
pub fn extract(book: &Path, anchor: &str, machines: &[&str]) -> Result<()> {
    let mut pages = Vec::new();
    for entry in fs::read_dir(book).with_context(|| format!("can't read {}", book.display()))? {
        let path = entry?.path();
        let inner = path.is_dir().then(|| fs::read_dir(&path)).transpose();
        for inner in
            inner.with_context(|| format!("can't read {}", path.display()))?.into_iter().flatten()
        {
            pages.push(inner?.path());
        }
        pages.push(path);
    }
    pages.retain(|page| page.extension().is_some_and(|ext| ext == "html"));
    for page in pages {
        let name = page_name(page.strip_prefix(book).unwrap_or(&page));
        let mut html =
            fs::read_to_string(&page).with_context(|| format!("can't read {}", page.display()))?;
        for machine in machines {
            let (rest, pieces) = split(&html, anchor, machine);
            if pieces.is_empty() {
                continue;
            }
            html = rest;
            let file: PathBuf =
                book.join("records").join(machine).join("pages").join(format!("{name}.js"));
            let text = script(machine, &pieces)?;
            fs::create_dir_all(file.parent().unwrap_or(book))
                .and_then(|()| fs::write(&file, text))
                .with_context(|| format!("can't write {}", file.display()))?;
        }
        fs::write(&page, html).with_context(|| format!("can't write {}", page.display()))?;
    }
    Ok(())
}

/// The script that hands the pieces to the page.
fn script(machine: &str, pieces: &[(usize, String)]) -> serde_json::Result<String> {
    let mut out = "globalThis.throughputMachine(".to_owned();
    let _ = write!(out, "{},{}", serde_json::to_string(machine)?, serde_json::to_string(pieces)?);
    Ok(out + ");\n")
}

/// `html` without the elements of `machine`, and these, each with the number of the anchor's element before it. Parts
/// of drawings stay: not every machine has one for each.
fn split(html: &str, anchor: &str, machine: &str) -> (String, Vec<(usize, String)>) {
    let (mut out, mut pieces) = (String::with_capacity(html.len()), Vec::new());
    let (mut at, mut anchors) = (0, 0_usize);
    for (found, _) in html.match_indices(MACHINE) {
        let Some(start) = html[..found].rfind('<').filter(|start| *start >= at) else { continue };
        let tag = html[start + 1..found].split(char::is_whitespace).next().unwrap_or("");
        let owner = html[found + MACHINE.len()..].split('"').next().unwrap_or("");
        if tag == "tspan" {
            continue;
        }
        if owner == anchor {
            anchors += 1;
        }
        if owner == machine
            && anchors > 0
            && let Some(length) = element(&html[start..], tag)
        {
            out.push_str(&html[at..start]);
            pieces.push((anchors - 1, html[start..start + length].to_owned()));
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
    fn elements_are_taken_out_whole_and_numbered_by_the_anchor() {
        let page = "<p><a data-machine=\"one\">1</a><a class=\"x\" data-machine=\"far\" hidden=\"\">2</a></p>\
                    <div data-machine=\"one\"><div>3</div></div>\
                    <div class=\"t\" data-machine=\"far\" hidden=\"\"><div>4</div><i>5</i></div><abbr>6</abbr>\
                    <text><tspan data-machine=\"far\">7</tspan></text>\
                    <p data-machine=\"one\">8</p><p data-machine=\"mine\">9</p>";
        let (rest, pieces) = split(page, "one", "far");
        assert_eq!(
            pieces,
            [
                (0, "<a class=\"x\" data-machine=\"far\" hidden=\"\">2</a>".to_owned()),
                (
                    1,
                    "<div class=\"t\" data-machine=\"far\" hidden=\"\"><div>4</div><i>5</i></div>"
                        .to_owned()
                ),
            ]
        );
        let whole = pieces.iter().fold(page.to_owned(), |page, (_, piece)| page.replace(piece, ""));
        assert_eq!(rest, whole);
        assert!(rest.contains("<tspan data-machine=\"far\">"));
        let lines = "<i data-machine=\"one\">1</i>\n<i data-machine=\"far\">2</i>\n</p>";
        assert_eq!(split(lines, "one", "far").0, "<i data-machine=\"one\">1</i>\n</p>");
        // Without an element to follow, a piece stays.
        assert_eq!(split(page, "none", "far"), (page.to_owned(), vec![]));
    }

    #[test]
    fn an_element_that_does_not_end_stays() {
        assert_eq!(element("<a><a></a>", "a"), None);
        assert_eq!(element("<a><abbr></abbr></a>x", "a"), Some(20));
    }

    #[test]
    fn a_script_is_a_call_with_json() {
        let text = script("far", &[(2, "<b>\"</b>".to_owned())]).unwrap();
        assert_eq!(text, "globalThis.throughputMachine(\"far\",[[2,\"<b>\\\"</b>\"]]);\n");
    }
}
