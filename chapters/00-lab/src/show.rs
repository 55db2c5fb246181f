//! Figures and tables in a notebook.
//!
//! The Rust kernel for Jupyter, evcxr, shows as rich output what a cell prints between two lines that name
//! its type (evcxr's documentation, "Integration with Jupyter"). Elsewhere the same calls print plain text.
//! Of several outputs of one type in a cell the kernel keeps the last: show one thing in a cell.

use crate::{Drawing, TableData, probe::in_notebook};
use std::{
    fmt::Write as _,
    io::{self, Write},
};

/// Shows a figure with its caption.
pub fn drawing(drawing: &Drawing) {
    print(in_notebook(), &captioned(drawing), &format!("{}\n{}", drawing.caption, drawing.alt));
}

/// Shows a figure; `alt` says in words what it shows.
pub fn svg(svg: &str, alt: &str) {
    print(in_notebook(), &figure_html(svg, alt), alt);
}

/// Shows a table.
pub fn table(table: &TableData) {
    print(in_notebook(), &table_html(table), &table_text(table));
}

/// Shows HTML, with `text` where there is none.
pub fn html(html: &str, text: &str) {
    print(in_notebook(), html, text);
}

fn print(rich: bool, html: &str, text: &str) {
    let output = if rich {
        // Inside HTML a figure takes the notebook's colours, light or dark; as a figure of its own it could
        // not see them.
        contents("text/html", html) + &contents("text/plain", text)
    } else {
        format!("{}\n", text.trim_end())
    };
    // A notebook whose kernel has gone away shows nothing: that is no reason to fail.
    let _ = io::stdout().write_all(output.as_bytes());
    let _ = io::stdout().flush();
}

/// evcxr's frame around an output. A line that ends the frame early is broken up.
fn contents(mime: &str, text: &str) -> String {
    let text = text.trim_end().replace("\nEVCXR_END_CONTENT\n", "\nEVCXR_END_CONTENT \n");
    format!("EVCXR_BEGIN_CONTENT {mime}\n{text}\nEVCXR_END_CONTENT\n")
}

/// The figure at a width that suits a notebook, with its alternative text.
fn figure_html(svg: &str, alt: &str) -> String {
    // Black ink becomes the notebook's, light or dark. A rim of its paper keeps text clear of lines.
    let svg = svg.trim_end().replace("\"#000000\"", "\"currentColor\"");
    let rim = "<style>.chart text{paint-order:stroke;stroke-width:.3em;stroke-linejoin:round;\
               stroke:var(--jp-layout-color0,var(--vscode-editor-background,var(--bg,transparent)))}</style>";
    let alt = escaped(alt);
    format!("<div style=\"max-width:42rem\" role=\"img\" aria-label=\"{alt}\">{rim}{svg}</div>")
}

/// The figure above its caption.
fn captioned(drawing: &Drawing) -> String {
    format!(
        "<figure style=\"margin:0\">{}<figcaption>{}</figcaption></figure>",
        figure_html(&drawing.svg, &drawing.alt),
        escaped(&drawing.caption)
    )
}

fn table_html(table: &TableData) -> String {
    let mut html = String::from("<table>");
    if !table.caption.is_empty() {
        let _ = write!(html, "<caption>{}</caption>", escaped(&table.caption));
    }
    html.push_str("<thead><tr>");
    for head in &table.head {
        let _ = write!(html, "<th scope=\"col\">{}</th>", escaped(head));
    }
    html.push_str("</tr></thead><tbody>");
    for row in &table.rows {
        html.push_str("<tr>");
        for (i, cell) in row.iter().enumerate() {
            let _ = match i {
                0 => write!(html, "<th scope=\"row\">{}</th>", escaped(cell)),
                _ => write!(html, "<td>{}</td>", escaped(cell)),
            };
        }
        html.push_str("</tr>");
    }
    html.push_str("</tbody></table>");
    html
}

/// The table in columns, for a terminal: the first column to the left, all others, mostly numbers, to the
/// right.
pub fn table_text(table: &TableData) -> String {
    let wide = |cell: &str| cell.chars().count();
    let mut widths: Vec<usize> = Vec::new();
    for row in table.rows.iter().chain([&table.head]) {
        for (i, cell) in row.iter().enumerate() {
            if i == widths.len() {
                widths.push(0);
            }
            widths[i] = widths[i].max(wide(cell));
        }
    }
    let mut text = String::new();
    for row in [&table.head].into_iter().chain(&table.rows).filter(|row| !row.is_empty()) {
        let mut line = String::new();
        for (i, (cell, &width)) in row.iter().zip(&widths).enumerate() {
            let _ = match i {
                0 => write!(line, "{cell:<width$}"),
                _ => write!(line, "  {cell:>width$}"),
            };
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    if !table.caption.is_empty() {
        let _ = writeln!(text, "{}", table.caption);
    }
    text
}

/// The text with the letters that mean something in HTML written out.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sizes() -> TableData {
        TableData {
            caption: "Larger is <faster>.".to_owned(),
            head: vec!["n".to_owned(), "rate".to_owned()],
            rows: vec![
                vec!["512".to_owned(), "60 GFLOP/s".to_owned()],
                vec!["naïve".to_owned(), "1".to_owned()],
            ],
        }
    }

    #[test]
    fn the_frame_is_what_the_kernel_looks_for() {
        assert_eq!(
            contents("text/html", "<b>a</b>\n"),
            "EVCXR_BEGIN_CONTENT text/html\n<b>a</b>\nEVCXR_END_CONTENT\n"
        );
        let tricked = contents("text/plain", "a\nEVCXR_END_CONTENT\nb");
        assert_eq!(tricked.lines().filter(|line| *line == "EVCXR_END_CONTENT").count(), 1);
    }

    #[test]
    fn a_table_is_escaped_in_html_and_aligned_in_text() {
        let html = table_html(&sizes());
        assert!(html.contains("<caption>Larger is &lt;faster&gt;.</caption>"), "{html}");
        assert!(html.contains("<th scope=\"row\">512</th><td>60 GFLOP/s</td>"), "{html}");
        assert_eq!(
            table_text(&sizes()),
            "n            rate\n512    60 GFLOP/s\nnaïve           1\nLarger is <faster>.\n"
        );
        assert_eq!(table_text(&TableData::default()), "");
    }

    #[test]
    fn a_figure_has_its_caption_and_its_alternative() {
        let html = captioned(&Drawing {
            svg: "<svg></svg>\n".to_owned(),
            caption: "a & b".to_owned(),
            alt: "says \"c\"".to_owned(),
        });
        assert!(html.contains("<svg></svg></div><figcaption>a &amp; b</figcaption>"), "{html}");
        assert!(html.contains("aria-label=\"says &quot;c&quot;\""), "{html}");
    }
}
