//! The doctor's rows for a terminal.

use super::requirements::Row;
use crate::{names::variable, plot::broken};
use console::Term;
use std::{
    fmt::Write as _,
    io::{self, IsTerminal as _},
};

/// The rows as text: as wide as the terminal, in colour if it is one and `NO_COLOR` does not refuse.
pub fn table(rows: &[Row]) -> String {
    let terminal = io::stdout().is_terminal();
    let refused = variable("NO_COLOR").is_some();
    let width = Term::stdout().size_checked().map_or(100, |(_, columns)| usize::from(columns));
    render(rows, width.clamp(40, 120), terminal && !refused)
}

fn render(rows: &[Row], width: usize, colour: bool) -> String {
    let paint = |code: &str, text: &str| {
        if colour { format!("\u{1b}[{code}m{text}\u{1b}[0m") } else { text.to_owned() }
    };
    let names = rows.iter().map(|row| row.name.chars().count()).max().unwrap_or(0);
    let indent = names + 6;
    let verdict = if rows.iter().all(|row| row.found || !row.required) {
        "The course runs here. Each `no` says what it would add and how to get it."
    } else {
        "The course can't run here until each NO is mended."
    };
    let mut text = String::new();
    paragraph(&mut text, verdict, 0, width);
    let mut step = "";
    for row in rows {
        if row.step != step {
            step = &row.step;
            let _ = writeln!(text, "{}", paint("1", step));
        }
        let (mark, code) = match (row.found, row.required) {
            (true, _) => ("yes", "32"),
            (false, false) => (" no", "33"),
            (false, true) => (" NO", "31"),
        };
        let _ = write!(text, "{} {:<names$}  ", paint(code, mark), row.name);
        let about = row.version.clone().unwrap_or_else(|| format!("for {}", row.what_for));
        paragraph(&mut text, &about, indent, width);
        if !row.found {
            let _ = write!(text, "{:indent$}", "");
            paragraph(&mut text, &format!("→ {}", row.how_to_get), indent, width);
        }
    }
    text
}

/// Writes words in lines of `width`, all but the first indented.
fn paragraph(text: &mut String, words: &str, indent: usize, width: usize) {
    let lines =
        broken(words, width.saturating_sub(indent) as f64, |text| text.chars().count() as f64);
    let _ = writeln!(text, "{}", lines.join(&format!("\n{:indent$}", "")));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows() -> Vec<Row> {
        let row = |step: &str, name: &str, version: Option<&str>, required| Row {
            step: step.to_owned(),
            name: name.to_owned(),
            found: version.is_some(),
            version: version.map(str::to_owned),
            what_for: "a purpose".to_owned(),
            how_to_get: "buy one that has many more words than fit into a single line of text"
                .to_owned(),
            required,
        };
        vec![
            row("0. the machine", "CPU", Some("A CPU, 2 cores"), true),
            row("1. the card", "NVIDIA GPU", None, false),
            row("1. the card", "memory", None, true),
        ]
    }

    #[test]
    fn what_is_missing_says_its_purpose_and_the_way_to_get_it() {
        let text = render(&rows(), 60, false);
        let begins = "The course can't run here until each NO is mended.\n0. the machine\n\
                      yes CPU         A CPU, 2 cores\n1. the card\n";
        assert!(text.starts_with(begins), "{text}");
        assert!(
            text.contains(" no NVIDIA GPU  for a purpose\n                → buy one"),
            "{text}"
        );
        assert!(text.contains(" NO memory"), "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= 60), "{text}");
        assert!(!text.contains('\u{1b}'));
        assert!(render(&rows()[..2], 60, false).starts_with("The course runs here."));
    }

    #[test]
    fn colour_is_an_addition() {
        let text = render(&rows(), 80, true);
        assert!(text.contains("\u{1b}[32myes\u{1b}[0m"), "{text:?}");
        let plain = ["\u{1b}[0m", "\u{1b}[1m", "\u{1b}[31m", "\u{1b}[32m", "\u{1b}[33m"]
            .iter()
            .fold(text, |text, code| text.replace(code, ""));
        assert_eq!(plain, render(&rows(), 80, false));
    }
}
