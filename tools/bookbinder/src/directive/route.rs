//! The map of the course: the chapters along a road, with the sports car (latency) and the freight truck
//! (throughput) on it.

use crate::{html, page::Entry, picture::lines};
use std::{fmt::Write as _, path::Path};

/// Stops in a row of the map.
const COLUMNS: usize = 3;
/// Between two stops of a row.
const STEP: f64 = 250.0;
/// Between two rows.
const ROW: f64 = 170.0;
/// The first stop.
const LEFT: f64 = 120.0;
const TOP: f64 = 70.0;

/// The entries that are chapters: their titles start with a number, `3. Title`.
fn chapters(entries: &[Entry]) -> Vec<(&str, &str, &Entry)> {
    entries
        .iter()
        .filter_map(|entry| {
            let (number, title) = entry.title.split_once(". ")?;
            number.chars().all(|c| c.is_ascii_digit()).then_some((number, title, entry))
        })
        .collect()
}

/// Where stop `at` is: rows run to the right and to the left in turn.
fn place(at: usize) -> (f64, f64) {
    let (row, column) = (at / COLUMNS, at % COLUMNS);
    let column = if row.is_multiple_of(2) { column } else { COLUMNS - 1 - column };
    (LEFT + STEP * column as f64, TOP + ROW * row as f64)
}

/// The map as SVG. A chapter that has a page is a link; one that has none is drawn dashed.
pub fn svg(entries: &[Entry], up: &str) -> String {
    let chapters = chapters(entries);
    let rows = chapters.len().div_ceil(COLUMNS).max(1);
    let (right, radius) = (LEFT + STEP * (COLUMNS - 1) as f64, ROW / 2.0);
    let (width, height) = (right + LEFT, TOP + ROW * (rows - 1) as f64 + 90.0);
    let mut road = format!("M20 {TOP}");
    for row in 0..rows {
        let (last, forth) = (row + 1 == rows, row % 2 == 0);
        let end = match (last, forth) {
            (true, true) => width - 20.0,
            (true, false) => 20.0,
            (false, true) => right,
            (false, false) => LEFT,
        };
        let _ = write!(road, " H{end}");
        if !last {
            let _ = write!(road, " a{radius} {radius} 0 0 {} 0 {ROW}", u8::from(forth));
        }
    }
    let mut out = format!(
        "<div class=\"route\"><svg viewBox=\"0 0 {width} {height}\" role=\"group\" aria-label=\"The route \
         through the chapters\"><g aria-hidden=\"true\"><path class=\"road\" d=\"{road}\"/><path \
         class=\"line\" d=\"{road}\"/>{}{}</g>",
        car(LEFT + 0.5 * STEP, TOP),
        truck(LEFT + 1.55 * STEP, TOP),
    );
    for (at, (number, title, entry)) in chapters.iter().enumerate() {
        let (x, y) = place(at);
        let mut stop = format!(
            "<circle cx=\"{x}\" cy=\"{y}\" r=\"24\"/><text class=\"number\" x=\"{x}\" y=\"{}\">{number}</text>",
            y + 8.0
        );
        for (line, words) in lines(title, 18).iter().enumerate() {
            let _ = write!(
                stop,
                "<text x=\"{x}\" y=\"{}\">{}</text>",
                y + 52.0 + 22.0 * line as f64,
                html::text(words)
            );
        }
        let _ = match &entry.path {
            Some(path) => write!(out, "<a href=\"{up}{}\">{stop}</a>", link(path)),
            None => write!(out, "<g class=\"draft\">{stop}</g>"),
        };
    }
    out.push_str("</svg>");
    // On a narrow screen, where the road has no room.
    out.push_str("<ol class=\"stops\">");
    for (number, title, entry) in &chapters {
        let name = format!("<b>{number}</b> {}", html::text(title));
        let _ = match &entry.path {
            Some(path) => write!(out, "<li><a href=\"{up}{}\">{name}</a></li>", link(path)),
            None => write!(out, "<li>{name}</li>"),
        };
    }
    out.push_str("</ol></div>");
    out
}

/// The page that a chapter's source becomes.
fn link(path: &Path) -> String {
    path.with_extension("html").display().to_string().replace("README.html", "index.html")
}

/// The map for a notebook: a list.
pub fn list(entries: &[Entry]) -> String {
    chapters(entries).iter().fold(String::new(), |mut out, (number, title, _)| {
        let _ = writeln!(out, "- Chapter {number}: {title}");
        out
    })
}

/// The sports car, its wheels on the road at (x, y).
fn car(x: f64, y: f64) -> String {
    format!(
        "<g class=\"car\" transform=\"translate({} {})\"><path d=\"M0 20 Q2 11 14 10 L24 2 Q26 0 31 0 H44 \
         Q49 0 53 5 L58 10 Q70 11 70 20 Z\"/><path class=\"window\" d=\"M26 9 L31 4 H41 L46 9 Z\"/><circle \
         cx=\"16\" cy=\"20\" r=\"6\"/><circle cx=\"55\" cy=\"20\" r=\"6\"/></g>",
        x - 35.0,
        y - 26.0
    )
}

/// The freight truck, its wheels on the road at (x, y).
fn truck(x: f64, y: f64) -> String {
    format!(
        "<g class=\"truck\" transform=\"translate({} {})\"><path d=\"M0 0 H74 V34 H0 Z\"/><path d=\"M77 12 \
         H92 L101 22 V34 H77 Z\"/><path class=\"window\" d=\"M81 16 H90 L96 22 H81 Z\"/><circle cx=\"14\" \
         cy=\"35\" r=\"7\"/><circle cx=\"31\" cy=\"35\" r=\"7\"/><circle cx=\"88\" cy=\"35\" r=\"7\"/></g>",
        x - 50.0,
        y - 42.0
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::PathBuf;

    fn entries() -> Vec<Entry> {
        let chapter = |title: &str, path: Option<&str>| Entry {
            title: title.to_owned(),
            path: path.map(PathBuf::from),
        };
        vec![
            chapter("Welcome", Some("README.md")),
            chapter("0. The lab", Some("00-lab/README.md")),
            chapter("1. One matrix multiplication & more", Some("01-matmul/deep.md")),
            chapter("2. The GPU", None),
            chapter("3. Back again", None),
        ]
    }

    #[test]
    fn chapters_with_a_page_are_links() {
        let map = svg(&entries(), "../");
        assert!(
            map.contains("href=\"../00-lab/index.html\"")
                && map.contains("href=\"../01-matmul/deep.html\"")
        );
        assert_eq!(map.matches("<a ").count(), 4, "on the road and in the list");
        assert_eq!(map.matches("<li>").count(), 4);
        assert_eq!(map.matches("class=\"draft\"").count(), 2);
        assert!(map.contains("multiplication &amp;") && !map.contains("Welcome"), "{map}");
        assert!(!map.contains('\n'));
    }

    #[test]
    fn rows_run_to_and_fro() {
        assert!((place(2).0 - place(3).0).abs() < 1e-9);
        assert!(place(3).1 > place(2).1 && place(4).0 < place(3).0);
    }

    #[test]
    fn the_list_has_every_chapter() {
        assert_eq!(list(&entries()).lines().count(), 4);
    }
}
