//! Figures and tables in a notebook.
//!
//! The Rust kernel for Jupyter, evcxr, shows as rich output what a cell prints between two lines that name
//! its type (evcxr's documentation, "Integration with Jupyter"). Elsewhere the same calls print plain text.
//! Of several outputs of one type in a cell the kernel keeps the last: show one thing in a cell.

use crate::{
    Drawing, TableData,
    out::harmless,
    plot::{Axis, Bar, BarPlot, LinePlot, Series, escaped},
    probe::in_notebook,
};
use base64::{Engine as _, prelude::BASE64_STANDARD};
use std::{
    fmt::{Display, Write as _},
    io::{self, Write},
};

/// Shows a figure with its caption.
pub fn drawing(drawing: &Drawing) {
    print(in_notebook(), &captioned(drawing), &format!("{}\n{}", drawing.caption, drawing.alt));
}

/// Shows lines over two axes.
pub fn lines((x, y): (Axis, Axis), series: Vec<Series>, caption: impl Into<String>) {
    drawing(&LinePlot { x, y, series, limits: vec![] }.drawing(caption));
}

/// Shows bars over an axis.
pub fn bars(axis: Axis, bars: Vec<Bar>, caption: impl Into<String>) {
    drawing(&BarPlot { axis, bars, limits: vec![] }.drawing(caption));
}

/// Shows a table.
pub fn table(table: &TableData) {
    print(in_notebook(), &table_html(table, &escaped(&table.caption), escaped), &table_text(table));
}

/// Shows HTML, with `text` where there is none.
pub fn html(html: &str, text: &str) {
    print(in_notebook(), html, text);
}

/// Shows small images of `width` columns beside each other, each above its label: a level of 0 is paper and 1 is ink.
pub fn images<L: Display, P: AsRef<[f32]>>(tiles: &[(L, P)], width: usize) {
    let grey = |level: f32, _: f32| {
        let light = (255.0 * (1.0 - level.clamp(0.0, 1.0))).round() as u8;
        [light; 3]
    };
    let labels: Vec<String> = tiles.iter().map(|(label, _)| label.to_string()).collect();
    print(in_notebook(), &images_html(tiles, width, grey), &labels.join("\n"));
}

/// [`images`] of numbers with a sign: red above zero, blue below it, and white at zero. The strongest colour is the
/// largest magnitude of the image.
pub fn weights<L: Display, P: AsRef<[f32]>>(tiles: &[(L, P)], width: usize) {
    let labels: Vec<String> = tiles.iter().map(|(label, _)| label.to_string()).collect();
    print(in_notebook(), &images_html(tiles, width, signed), &labels.join("\n"));
}

/// The colour of a number among numbers of at most this magnitude.
fn signed(value: f32, largest: f32) -> [u8; 3] {
    let share = if largest > 0.0 { (value / largest).clamp(-1.0, 1.0) } else { 0.0 };
    let faded = |full: u8| (255.0 - share.abs() * f32::from(255 - full)).round() as u8;
    if share < 0.0 { [20, 80, 190].map(faded) } else { [200, 30, 40].map(faded) }
}

fn print(rich: bool, html: &str, text: &str) {
    let output = if rich {
        // Inside HTML a figure takes the notebook's colours, light or dark; as a figure of its own it could
        // not see them.
        contents("text/html", html) + &contents("text/plain", text)
    } else {
        harmless(text.trim_end()) + "\n"
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

/// The figure at its own width, or the one for a phone where that does not fit, with its alternative text, above its caption.
fn captioned(drawing: &Drawing) -> String {
    let (alt, caption) = (escaped(&drawing.alt), escaped(&drawing.caption));
    // Black ink becomes the notebook's, light or dark. A rim of its paper keeps text clear of lines.
    let styled = |svg: &str, more: &str| {
        let shown = format!(
            "<svg role=\"img\" aria-label=\"{alt}\" style=\"max-width:100%;height:auto{more}\""
        );
        svg.trim_end().replace("\"#000000\"", "\"currentColor\"").replacen("<svg", &shown, 1)
    };
    let mut rules = ".chart text{paint-order:stroke;stroke-width:.3em;stroke-linejoin:round;\
                     stroke:var(--jp-layout-color0,var(--vscode-editor-background,var(--bg,transparent)))}"
        .to_owned();
    let mut shown = styled(&drawing.svg, "");
    if !drawing.narrow.is_empty() {
        // What knows no style sheet shows one figure, not both.
        shown += &styled(&drawing.narrow, ";display:none");
        rules += "@container(max-width:659px){.chart:has(+.narrow){display:none}\
                  .chart.narrow{display:block!important}}";
    }
    format!(
        "<figure style=\"margin:0\"><div style=\"max-width:672px;container-type:inline-size\"><style>{rules}</style>{shown}</div>\
         <figcaption>{caption}</figcaption></figure>"
    )
}

/// Images as PNG in HTML: they need no file, and they stay sharp when they are made larger.
fn images_html<L: Display, P: AsRef<[f32]>>(
    tiles: &[(L, P)],
    width: usize,
    colour: impl Fn(f32, f32) -> [u8; 3],
) -> String {
    let side = (3 * width).clamp(84, 240);
    let mut html =
        "<div style=\"display:flex;flex-wrap:wrap;gap:.75rem\" role=\"group\">".to_owned();
    for (label, levels) in tiles {
        let (levels, label) = (levels.as_ref(), escaped(&label.to_string()));
        let largest = levels.iter().fold(0.0, |largest, level| level.abs().max(largest));
        let pixels: Vec<u8> = levels.iter().flat_map(|&level| colour(level, largest)).collect();
        let image = BASE64_STANDARD.encode(png(width, pixels));
        let _ = write!(
            html,
            "<figure style=\"margin:0;width:{side}px;text-align:center\"><img alt=\"{label}\" width=\"{side}\" \
             style=\"image-rendering:pixelated;border:1px solid #8888\" \
             src=\"data:image/png;base64,{image}\"><figcaption>{label}</figcaption></figure>"
        );
    }
    html + "</div>"
}

/// An image of `width` columns as PNG, from its red, green and blue. A last row that is not full ends in black.
fn png(width: usize, mut pixels: Vec<u8>) -> Vec<u8> {
    let width = width.max(1);
    let height = pixels.len().div_ceil(3 * width).max(1);
    pixels.resize(3 * width * height, 0);
    let mut out = Vec::new();
    let mut encoder = png::Encoder::new(&mut out, width as u32, height as u32);
    encoder.set_color(png::ColorType::Rgb);
    encoder
        .write_header()
        .and_then(|mut writer| writer.write_image_data(&pixels))
        .expect("as many pixels as the header says, in memory");
    out
}

/// The table in HTML, below a caption that is HTML already, with each cell as `shown` makes it.
pub fn table_html(table: &TableData, caption: &str, shown: impl Fn(&str) -> String) -> String {
    let mut html = String::from("<table>");
    if !caption.is_empty() {
        let _ = write!(html, "<caption>{caption}</caption>");
    }
    html.push_str("<thead><tr>");
    for head in &table.head {
        let _ = write!(html, "<th scope=\"col\">{}</th>", shown(head));
    }
    html.push_str("</tr></thead><tbody>");
    for row in &table.rows {
        html.push_str("<tr>");
        for (i, cell) in row.iter().enumerate() {
            let cell = shown(cell);
            let _ = match i {
                0 => write!(html, "<th scope=\"row\">{cell}</th>"),
                _ => write!(html, "<td>{cell}</td>"),
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
        let html = table_html(&sizes(), &escaped(&sizes().caption), escaped);
        assert!(html.contains("<caption>Larger is &lt;faster&gt;.</caption>"), "{html}");
        assert!(html.contains("<th scope=\"row\">512</th><td>60 GFLOP/s</td>"), "{html}");
        assert_eq!(
            table_text(&sizes()),
            "n            rate\n512    60 GFLOP/s\nnaïve           1\nLarger is <faster>.\n"
        );
        assert_eq!(table_text(&TableData::default()), "");
    }

    #[test]
    fn images_are_png_beside_each_other() {
        let tiles = [("3 <read> as 8", vec![0.0, 1.0, 0.5]), ("none", vec![])];
        let html = images_html(&tiles, 2, |level, _| [(255.0 * level) as u8; 3]);
        assert_eq!(html.matches("<figcaption>").count(), 2);
        assert!(html.contains("<figcaption>3 &lt;read&gt; as 8</figcaption>"), "{html}");
        let data = html.split("base64,").nth(1).and_then(|rest| rest.split('"').next()).unwrap();
        let bytes = BASE64_STANDARD.decode(data).unwrap();
        let mut reader = png::Decoder::new(io::Cursor::new(bytes)).read_info().unwrap();
        let mut pixels = vec![0; reader.output_buffer_size()];
        reader.next_frame(&mut pixels).unwrap();
        assert_eq!((reader.info().width, reader.info().height), (2, 2));
        assert_eq!(pixels, [0, 0, 0, 255, 255, 255, 127, 127, 127, 0, 0, 0]);
    }

    #[test]
    fn a_sign_is_a_colour() {
        assert_eq!([signed(0.0, 2.0), signed(0.0, 0.0)], [[255; 3]; 2]);
        assert_eq!([signed(2.0, 2.0), signed(-2.0, 2.0)], [[200, 30, 40], [20, 80, 190]]);
        let [red, green, blue] = signed(0.5, 2.0);
        assert!(red > green && red > blue && green > 30, "{red} {green} {blue}");
    }

    #[test]
    fn a_figure_has_its_caption_and_its_alternative() {
        let html = captioned(&Drawing {
            svg: "<svg></svg>\n".to_owned(),
            narrow: "<svg class=\"chart narrow\"></svg>\n".to_owned(),
            caption: "a & b".to_owned(),
            alt: "says \"c\"".to_owned(),
            ..Drawing::default()
        });
        assert!(html.contains("</svg></div><figcaption>a &amp; b</figcaption>"), "{html}");
        assert_eq!(html.matches("<svg ").count(), 2, "{html}");
        assert_eq!(html.matches(";display:none\"").count(), 1, "one of two is shown: {html}");
        assert!(html.contains("aria-label=\"says &quot;c&quot;\""), "{html}");
    }
}
