//! A sheet to draw on: plotters' SVG backend in sentinel colours, which are then replaced by those of the
//! page. A coordinate is a fraction of a pixel, so that lines stay smooth when the picture is enlarged.

use plotters::{
    prelude::*,
    style::{
        RGBAColor,
        text_anchor::{HPos, Pos, VPos},
    },
};
use std::fmt::Write as _;

/// Units of the sheet. With text 16 units high, a sheet of 520 is readable on a phone 360 pixels wide.
pub const WIDTH: f64 = 520.0;
/// The height of all text.
pub const TEXT: f64 = 16.0;
/// Plotters has whole-number coordinates; a unit is ten of them.
const FINE: f64 = 10.0;

/// Colours for light and dark paper alike, told apart with every common kind of colour blindness (after
/// Okabe and Ito 2008, darkened where they vanish on white). A page may set `--series-1` and so on.
const PALETTE: [&str; 8] =
    ["#0072b2", "#d55e00", "#009e73", "#c2569a", "#b07c00", "#3b8fc2", "#8a6fd1", "#808080"];

/// What a line or letter is drawn with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ink {
    /// The page's text colour.
    Text,
    /// The page's text colour with a rim of the page's paper, over lines.
    Halo,
    /// Faint, for what is not the data.
    Faint,
    /// Faint text with a rim of the page's paper.
    FaintHalo,
    /// Fainter still: the grid.
    Grid,
    /// A limit: dashed, in the text colour.
    Limit,
    /// The colour of a series.
    Series(usize),
    /// The same colour, transparent: a band.
    Band(usize),
    /// The same colour, so many percent of it: a cell.
    Tint(usize, u8),
}

impl Ink {
    /// The sentinel: a colour that no picture uses.
    fn sentinel(self) -> RGBColor {
        match self {
            Self::Text | Self::Faint | Self::Grid => RGBColor(1, 254, 0),
            Self::Halo | Self::FaintHalo => RGBColor(1, 254, 1),
            Self::Limit => RGBColor(1, 254, 2),
            Self::Series(i) | Self::Band(i) | Self::Tint(i, _) => {
                RGBColor(2, 254, (i % PALETTE.len()) as u8)
            }
        }
    }

    fn color(self) -> RGBAColor {
        self.sentinel().mix(match self {
            Self::Text | Self::Halo | Self::Limit | Self::Series(_) => 1.0,
            Self::Faint | Self::FaintHalo => 0.75,
            Self::Grid | Self::Band(_) => 0.18,
            Self::Tint(_, percent) => f64::from(percent) / 100.0,
        })
    }
}

/// Where a text hangs on its point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hang {
    /// The text starts at the point.
    Start,
    /// Its middle is at the point.
    Middle,
    /// It ends at the point.
    End,
}

/// A rectangle: left, top, right, bottom.
pub type Area = [f64; 4];

/// The sheet.
pub struct Canvas {
    height: f64,
    strokes: Vec<Stroke>,
}

enum Stroke {
    Line(Vec<(f64, f64)>, Ink, f64),
    Fill(Vec<(f64, f64)>, Ink),
    Disc((f64, f64), f64, Ink, bool),
    Text((f64, f64), Hang, Ink, String),
}

impl Canvas {
    pub fn new(height: f64) -> Self {
        Self { height, strokes: Vec::new() }
    }

    pub fn line(&mut self, points: &[(f64, f64)], ink: Ink, width: f64) {
        self.strokes.push(Stroke::Line(points.to_vec(), ink, width));
    }

    pub fn fill(&mut self, points: &[(f64, f64)], ink: Ink) {
        self.strokes.push(Stroke::Fill(points.to_vec(), ink));
    }

    pub fn rectangle(&mut self, [left, top, right, bottom]: Area, ink: Ink) {
        self.fill(&[(left, top), (right, top), (right, bottom), (left, bottom)], ink);
    }

    /// One line of text whose middle is at the height of `at`.
    pub fn text(&mut self, at: (f64, f64), hang: Hang, ink: Ink, text: &str) {
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        if !text.is_empty() {
            self.strokes.push(Stroke::Text(at, hang, ink, text));
        }
    }

    /// The mark of a series: eight shapes, so that colour is never the only difference.
    pub fn marker(&mut self, series: usize, (x, y): (f64, f64)) {
        let ink = Ink::Series(series);
        let at = |dx: f64, dy: f64| (x + dx, y + dy);
        match series % 8 {
            0 => self.strokes.push(Stroke::Disc((x, y), 4.2, ink, true)),
            1 => self.rectangle([x - 3.8, y - 3.8, x + 3.8, y + 3.8], ink),
            2 => self.fill(&[at(0.0, -5.2), at(4.9, 3.6), at(-4.9, 3.6)], ink),
            3 => self.fill(&[at(0.0, -5.6), at(5.0, 0.0), at(0.0, 5.6), at(-5.0, 0.0)], ink),
            4 => self.fill(&[at(0.0, 5.2), at(4.9, -3.6), at(-4.9, -3.6)], ink),
            5 => {
                self.line(&[at(-4.0, -4.0), at(4.0, 4.0)], ink, 2.2);
                self.line(&[at(-4.0, 4.0), at(4.0, -4.0)], ink, 2.2);
            }
            6 => {
                self.line(&[at(-5.0, 0.0), at(5.0, 0.0)], ink, 2.2);
                self.line(&[at(0.0, -5.0), at(0.0, 5.0)], ink, 2.2);
            }
            _ => self.strokes.push(Stroke::Disc((x, y), 4.0, ink, false)),
        }
    }

    /// The picture, without a size of its own, without blank lines.
    pub fn svg(self) -> String {
        let mut svg = String::new();
        {
            let size = (fine(WIDTH) as u32, fine(self.height) as u32);
            let root = SVGBackend::with_string(&mut svg, size).into_drawing_area();
            for stroke in &self.strokes {
                // Writing to a string does not fail, and the backend has no other error.
                let _ = stroke.draw(&root);
            }
            let _ = root.present();
        }
        themed(&svg)
    }
}

impl Stroke {
    fn draw(
        &self,
        root: &DrawingArea<SVGBackend, plotters::coord::Shift>,
    ) -> Result<(), Box<dyn std::error::Error>> {
        let whole = |&(x, y): &(f64, f64)| (fine(x), fine(y));
        match self {
            Self::Line(points, ink, width) => {
                let style = ink.color().stroke_width(fine(*width) as u32);
                let points: Vec<_> = points.iter().map(whole).collect();
                root.draw(&PathElement::new(points, style)).map_err(|e| e.to_string())?;
            }
            Self::Fill(points, ink) => {
                let points: Vec<_> = points.iter().map(whole).collect();
                root.draw(&Polygon::new(points, ink.color().filled()))
                    .map_err(|e| e.to_string())?;
            }
            Self::Disc(at, radius, ink, full) => {
                let style = ink.color().stroke_width(fine(2.0) as u32);
                let style = if *full { style.filled() } else { style };
                root.draw(&Circle::new(whole(at), fine(*radius), style))
                    .map_err(|e| e.to_string())?;
            }
            Self::Text(at, hang, ink, text) => {
                let hang = match hang {
                    Hang::Start => HPos::Left,
                    Hang::Middle => HPos::Center,
                    Hang::End => HPos::Right,
                };
                let color = ink.color();
                // Plotters divides the size by 1.24.
                let style = ("sans-serif", TEXT * FINE * 1.24)
                    .into_text_style(root)
                    .color(&color)
                    .pos(Pos::new(hang, VPos::Center));
                root.draw(&Text::new(text.as_str(), whole(at), style))
                    .map_err(|e| e.to_string())?;
            }
        }
        Ok(())
    }
}

fn fine(value: f64) -> i32 {
    // `as` saturates: a point far outside the sheet stays far outside it.
    (value * FINE).round() as i32
}

/// Sentinels become the page's colours; the fixed size goes, the view box stays.
fn themed(svg: &str) -> String {
    let hex = |ink: Ink| {
        let RGBColor(r, g, b) = ink.sentinel();
        format!("\"#{r:02X}{g:02X}{b:02X}\"")
    };
    let mut svg = svg
        .replace(" font-family=\"sans-serif\"", "")
        .replace(" opacity=\"1\"", "")
        .replace(&hex(Ink::Text), "\"currentColor\"")
        .replace(
            &hex(Ink::Halo),
            "\"currentColor\" stroke=\"var(--plot-paper, var(--bg, transparent))\" \
             stroke-width=\"50\" stroke-linejoin=\"round\" paint-order=\"stroke\"",
        )
        .replace(&hex(Ink::Limit), "\"currentColor\" stroke-dasharray=\"60 45\"");
    for (i, fallback) in PALETTE.iter().enumerate() {
        svg =
            svg.replace(&hex(Ink::Series(i)), &format!("\"var(--series-{}, {fallback})\"", i + 1));
    }
    // The root's own size is the first that occurs.
    if let (Some(from), Some(to)) = (svg.find(" width="), svg.find(" viewBox=")) {
        svg.replace_range(from..to, " font-family=\"var(--plot-font, system-ui, sans-serif)\"");
    }
    compact(&svg)
}

/// An element of a plotters picture: its own attributes, and those that its neighbours may share.
#[derive(Clone, PartialEq)]
struct Element {
    tag: String,
    place: String,
    look: String,
    text: String,
}

impl Element {
    /// Reads a line such as `<circle cx="1" cy="2" r="3" fill="red"/>`; `text` is what a text says.
    fn read(line: &str, text: &str) -> Option<Self> {
        let inside = line.strip_prefix('<')?.trim_end_matches(['/', '>']);
        let (tag, mut rest) = inside.split_once(' ')?;
        let (mut place, mut look) = (String::new(), String::new());
        let unfilled = inside.contains(" fill=\"none\"");
        let unstroked = inside.contains(" stroke=\"none\"");
        while let Some((name, after)) = rest.split_once("=\"") {
            let (value, after) = after.split_once('"')?;
            rest = after;
            let (name, value) = (name.trim(), value.trim_end());
            let _ = match name {
                // What would be so without saying.
                "stroke" | "stroke-width" if unstroked => Ok(()),
                "text-anchor" if value == "start" => Ok(()),
                "font-size" => Ok(()),
                // `opacity` is not inherited; of what is only a line or only an area, these are the same.
                "opacity" if tag == "text" => write!(place, " opacity=\"{value}\""),
                "opacity" if unfilled => write!(look, " stroke-opacity=\"{value}\""),
                "opacity" => write!(look, " fill-opacity=\"{value}\""),
                "x" | "y" | "dy" | "cx" | "cy" | "r" | "points" => {
                    write!(place, " {name}=\"{value}\"")
                }
                _ => write!(look, " {name}=\"{value}\""),
            };
        }
        Some(Self { tag: tag.to_owned(), place, look, text: text.to_owned() })
    }

    /// The points of a line that is drawn in full.
    fn points(&self) -> Option<&str> {
        let solid = self.tag == "polyline" && !self.look.contains("stroke-opacity");
        self.place.strip_prefix(" points=\"")?.strip_suffix('"').filter(|_| solid)
    }

    fn write(&self, out: &mut String, look: &str) {
        let Self { tag, place, text, .. } = self;
        let _ = match text.as_str() {
            "" => writeln!(out, "<{tag}{place}{look}/>"),
            text => writeln!(out, "<{tag}{place}{look}>\n{text}\n</{tag}>"),
        };
    }
}

/// The same picture in fewer bytes: lines that follow each other and look alike become one path, and what
/// neighbours share is said once. A page has dozens of pictures.
fn compact(svg: &str) -> String {
    let mut out = String::with_capacity(svg.len());
    let mut elements: Vec<Element> = Vec::new();
    let mut lines = svg.lines().map(str::trim).filter(|line| !line.is_empty());
    while let Some(line) = lines.next() {
        if line.starts_with("<svg") {
            let _ = writeln!(
                out,
                "{}",
                line.replacen("<svg", &format!("<svg font-size=\"{}\"", TEXT * FINE), 1)
            );
            continue;
        }
        let text = if line.starts_with("<text") { lines.next().unwrap_or_default() } else { "" };
        let Some(element) = Element::read(line, text) else { continue };
        if let Some(last) = elements.last_mut()
            && last.look == element.look
            && let Some(points) = element.points()
        {
            if let Some(first) = last.points() {
                last.place = format!(" d=\"M{first}\"");
                "path".clone_into(&mut last.tag);
            }
            if last.tag == "path" {
                last.place.pop();
                let _ = write!(last.place, "M{points}\"");
                continue;
            }
        }
        elements.push(element);
    }
    for alike in elements.chunk_by(|a, b| a.look == b.look) {
        match alike {
            [one] => one.write(&mut out, &one.look),
            several => {
                let _ = writeln!(out, "<g{}>", several[0].look);
                for element in several {
                    element.write(&mut out, "");
                }
                out.push_str("</g>\n");
            }
        }
    }
    out.push_str("</svg>\n");
    out
}

/// The width of a text in units of the sheet, near enough: no font is at hand to ask.
pub fn text_width(text: &str) -> f64 {
    let ems: f64 = text
        .chars()
        .map(|c| match c {
            'i' | 'j' | 'l' | 'I' | '.' | ',' | ':' | ';' | '|' | '\'' | '!' | '(' | ')' | '/'
            | ' ' | 'f' | 't' | 'r' | '-' => 0.35,
            'm' | 'w' | 'M' | 'W' | '%' | '×' => 0.85,
            c if c.is_uppercase() => 0.68,
            c if c.is_ascii() => 0.56,
            // Superscripts are narrow, Chinese is wide.
            '\u{2070}'..='\u{209f}' | '²' | '³' | '¹' => 0.4,
            '\u{2e80}'..='\u{ffef}' => 1.0,
            _ => 0.6,
        })
        .sum();
    // Fonts differ: rather too wide than cut off.
    1.06 * ems * TEXT
}

/// The text in lines no wider than `width`, as far as its words allow.
pub fn wrapped(text: &str, width: f64) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if text_width(line) + text_width(word) + 0.35 * TEXT <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_wraps_between_words_and_keeps_them_all() {
        let text = "gemm 0.19 with AVX-512, two threads";
        let lines = wrapped(text, 120.0);
        assert!(lines.len() > 1);
        assert!(lines.iter().all(|line| text_width(line) <= 120.0), "{lines:?}");
        assert_eq!(lines.join(" "), text);
        assert!(wrapped("  ", 120.0).is_empty());
        assert_eq!(wrapped("unbreakableunbreakable", 30.0), ["unbreakableunbreakable"]);
    }

    #[test]
    fn every_ink_becomes_a_colour_of_the_page() {
        let mut canvas = Canvas::new(100.0);
        for ink in [Ink::Text, Ink::Halo, Ink::Faint, Ink::FaintHalo, Ink::Grid, Ink::Limit] {
            canvas.line(&[(0.0, 0.0), (9.0, 9.0)], ink, 1.0);
        }
        for series in 0..8 {
            canvas.marker(series, (20.0, 20.0));
            canvas.fill(&[(0.0, 0.0), (9.0, 9.0), (0.0, 9.0)], Ink::Band(series));
        }
        canvas.text((5.0, 5.0), Hang::Middle, Ink::Halo, "a < b\n\n & c");
        let svg = canvas.svg();
        assert!(!svg.contains("FE0"), "a sentinel is left: {svg}");
        assert!(svg.contains("a &lt; b &amp; c"), "{svg}");
        for series in 1..=8 {
            assert!(svg.contains(&format!("var(--series-{series}, #")));
        }
        assert!(svg.starts_with("<svg ") && svg.trim_end().ends_with("</svg>"));
        assert!(svg.contains("viewBox=\"0 0 5200 1000\""));
        assert!(!svg.lines().next().unwrap_or_default().contains(" width="));
    }

    #[test]
    fn lines_that_look_alike_are_one_path_unless_they_shine_through() {
        let mut canvas = Canvas::new(50.0);
        for y in [1.0, 2.0, 3.0] {
            canvas.line(&[(0.0, y), (9.0, y)], Ink::Text, 1.0);
        }
        for x in [1.0, 2.0] {
            canvas.line(&[(x, 0.0), (x, 9.0)], Ink::Grid, 1.0);
        }
        canvas.text((1.0, 1.0), Hang::Start, Ink::Text, "alone");
        let svg = canvas.svg();
        assert!(svg.contains(" d=\"M0,10 90,10M0,20 90,20M0,30 90,30\""), "{svg}");
        assert_eq!(svg.matches("<path").count(), 1, "{svg}");
        // Where two of these cross, the paper must show less than along one of them.
        assert_eq!(svg.matches("<polyline").count(), 2, "{svg}");
        assert_eq!(svg.matches("stroke-opacity").count(), 1, "{svg}");
        assert!(svg.contains("\nalone\n"), "{svg}");
    }

    #[test]
    fn every_marker_differs_from_the_others() {
        let shapes: std::collections::HashSet<String> = (0..8)
            .map(|series| {
                let mut canvas = Canvas::new(50.0);
                canvas.marker(series, (20.0, 20.0));
                canvas
                    .svg()
                    .replace(&format!("--series-{}", series + 1), "")
                    .replace(PALETTE[series], "")
            })
            .collect();
        assert_eq!(shapes.len(), 8);
    }
}
