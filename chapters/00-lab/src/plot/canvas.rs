//! A sheet to draw on: plotters draws, through a backend that writes little. A unit is a pixel of the page, at which text is
//! 13 units high, as elsewhere beside the text.
//!
//! Ink is black and series have the colours of [`PALETTE`], so that the figure stands alone. A style sheet may say what
//! they are on its page: `.chart [fill="#000000"] { fill: currentColor }`, as `book/theme/throughput.css` does.

use plotters::{
    coord::Shift,
    prelude::*,
    style::{
        RGBAColor,
        text_anchor::{Pos, VPos},
    },
};
use plotters_backend::{BackendColor, BackendCoord, BackendTextStyle, DrawingErrorKind};
use std::{cell::RefCell, convert::Infallible, fmt::Write as _, rc::Rc};

/// The part of a text that is at its point.
pub use plotters::style::text_anchor::HPos;

/// A width that a figure is drawn for. A page shows the drawing that fits, at its own size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sheet {
    /// A desktop's column, and a notebook's.
    Wide,
    /// A phone's: fewer ticks, and names above what they name.
    Narrow,
}

impl Sheet {
    /// Both, as a page has them.
    pub const BOTH: [Self; 2] = [Self::Wide, Self::Narrow];

    /// Its width in units.
    pub const fn width(self) -> f64 {
        match self {
            Self::Wide => 660.0,
            Self::Narrow => 320.0,
        }
    }

    /// Whether it is a phone's.
    pub fn narrow(self) -> bool {
        self == Self::Narrow
    }
}

/// The height of all text.
pub const TEXT: f64 = 13.0;
/// The height of a line of text.
pub const LINE: f64 = 17.0;
/// From the middle of a line of text to its baseline.
const BASELINE: f64 = 4.6;
/// Plotters has whole-number coordinates; a unit is ten of them.
const FINE: f64 = 10.0;

/// Colours for light and dark paper alike, told apart with every common kind of colour blindness (after
/// Okabe and Ito 2008, darkened where they vanish on white).
pub const PALETTE: [RGBColor; 8] = [
    RGBColor(0x00, 0x72, 0xb2),
    RGBColor(0xd5, 0x5e, 0x00),
    RGBColor(0x00, 0x9e, 0x73),
    RGBColor(0xc2, 0x56, 0x9a),
    RGBColor(0xb0, 0x7c, 0x00),
    RGBColor(0x3b, 0x8f, 0xc2),
    RGBColor(0x8a, 0x6f, 0xd1),
    RGBColor(0x80, 0x80, 0x80),
];

/// What a line or letter is drawn with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ink {
    /// The colour of text.
    Text,
    /// Faint, for what is not the data.
    Faint,
    /// Fainter still: the grid.
    Grid,
    /// The colour of a series.
    Series(usize),
    /// The same colour, transparent: a band.
    Band(usize),
    /// The same colour, so many percent of it: a cell.
    Tint(usize, u8),
}

impl Ink {
    fn color(self) -> RGBAColor {
        let of = |series: usize| PALETTE[series % PALETTE.len()];
        match self {
            Self::Text => BLACK.mix(1.0),
            Self::Faint => BLACK.mix(0.75),
            Self::Grid => BLACK.mix(0.18),
            Self::Series(i) => of(i).mix(1.0),
            Self::Band(i) => of(i).mix(0.18),
            Self::Tint(i, percent) => of(i).mix(f64::from(percent) / 100.0),
        }
    }

    /// What is below the text, whose rim of paper thus hides no data.
    fn layer(self) -> usize {
        match self {
            Self::Grid | Self::Band(_) | Self::Tint(..) => UNDER,
            _ => DATA,
        }
    }
}

/// A rectangle: left, top, right, bottom.
pub type Area = [f64; 4];

const UNDER: usize = 0;
const WORDS: usize = 1;
const DATA: usize = 2;

/// The SVG so far: what is below the text, the text, and the data.
#[derive(Default)]
struct Layers {
    parts: [String; 3],
    at: usize,
}

/// Writes what plotters draws.
struct Svg {
    layers: Rc<RefCell<Layers>>,
    size: (u32, u32),
}

type Drawn = Result<(), DrawingErrorKind<Infallible>>;

impl Svg {
    fn write(&self, element: &str) {
        let mut layers = self.layers.borrow_mut();
        let at = layers.at;
        layers.parts[at].push_str(element);
        layers.parts[at].push('\n');
    }
}

/// `fill="#0072B2" opacity="0.18"`.
fn painted(attribute: &str, color: BackendColor) -> String {
    let (r, g, b) = color.rgb;
    let mut out = format!("{attribute}=\"#{r:02X}{g:02X}{b:02X}\"");
    if color.alpha < 1.0 {
        let _ = write!(out, " opacity=\"{}\"", (100.0 * color.alpha).round() / 100.0);
    }
    out
}

/// A coordinate of plotters as the page's.
fn unit(fine: i32) -> f64 {
    f64::from(fine) / FINE
}

fn joined(points: impl IntoIterator<Item = BackendCoord>) -> String {
    let points = points.into_iter().map(|(x, y)| format!("{},{}", unit(x), unit(y)));
    points.collect::<Vec<_>>().join(" ")
}

impl DrawingBackend for Svg {
    type ErrorType = Infallible;

    fn get_size(&self) -> (u32, u32) {
        self.size
    }

    fn ensure_prepared(&mut self) -> Drawn {
        Ok(())
    }

    fn present(&mut self) -> Drawn {
        Ok(())
    }

    fn draw_pixel(&mut self, _: BackendCoord, _: BackendColor) -> Drawn {
        Ok(())
    }

    fn draw_path<S: plotters_backend::BackendStyle, I: IntoIterator<Item = BackendCoord>>(
        &mut self,
        path: I,
        style: &S,
    ) -> Drawn {
        let width = f64::from(style.stroke_width()) / FINE;
        let stroke = painted("stroke", style.color());
        let points = joined(path);
        self.write(&format!(
            "<polyline fill=\"none\" {stroke} stroke-width=\"{width}\" points=\"{points}\"/>"
        ));
        Ok(())
    }

    fn fill_polygon<S: plotters_backend::BackendStyle, I: IntoIterator<Item = BackendCoord>>(
        &mut self,
        points: I,
        style: &S,
    ) -> Drawn {
        let (fill, points) = (painted("fill", style.color()), joined(points));
        self.write(&format!("<polygon {fill} points=\"{points}\"/>"));
        Ok(())
    }

    fn draw_text<S: BackendTextStyle>(
        &mut self,
        text: &str,
        style: &S,
        (x, y): BackendCoord,
    ) -> Drawn {
        let anchor = match style.anchor().h_pos {
            HPos::Left => "",
            HPos::Center => " text-anchor=\"middle\"",
            HPos::Right => " text-anchor=\"end\"",
        };
        let (x, y, fill) = (unit(x), unit(y), painted("fill", style.color()));
        self.write(&format!("<text x=\"{x}\" y=\"{y}\"{anchor} {fill}>{}</text>", escaped(text)));
        Ok(())
    }
}

/// The sheet.
pub struct Canvas {
    area: DrawingArea<Svg, Shift>,
    layers: Rc<RefCell<Layers>>,
    /// The width that is drawn for.
    pub sheet: Sheet,
}

/// What is drawn on a sheet of this height, as SVG of its own size without blank lines. `attributes` are more of the root's.
pub fn drawn(sheet: Sheet, height: f64, attributes: &str, draw: impl FnOnce(&Canvas)) -> String {
    let layers = Rc::new(RefCell::new(Layers::default()));
    let size = (fine(sheet.width()) as u32, fine(height) as u32);
    let area = Svg { layers: Rc::clone(&layers), size }.into_drawing_area();
    let canvas = Canvas { area, layers: Rc::clone(&layers), sheet };
    draw(&canvas);
    let body = layers.borrow().parts.concat();
    let class = if sheet.narrow() { "chart narrow" } else { "chart" };
    let (width, height) = (sheet.width(), height.round());
    format!(
        "<svg class=\"{class}\" xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" \
         height=\"{height}\" font-family=\"sans-serif\" font-size=\"{TEXT}\"{attributes}>\n{body}</svg>\n"
    )
}

/// The text with what means something in SVG and HTML written out.
pub fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

impl Canvas {
    fn on(&self, layer: usize) -> &DrawingArea<Svg, Shift> {
        self.layers.borrow_mut().at = layer;
        &self.area
    }

    fn raw(&self, layer: usize, element: &str) {
        self.layers.borrow_mut().parts[layer].push_str(element);
    }

    pub fn line(&self, points: &[(f64, f64)], ink: Ink, width: f64) {
        let style = ink.color().stroke_width(fine(width) as u32);
        let _ = self.on(ink.layer()).draw(&PathElement::new(whole(points), style));
    }

    /// Several lines as one element.
    pub fn lines(&self, lines: &[Vec<(f64, f64)>], ink: Ink, width: f64) {
        self.path(&moves(lines), ink, width, "");
    }

    /// A limit: dashed, in the colour of text.
    pub fn dashed(&self, lines: &[Vec<(f64, f64)>], width: f64, dash: &str) {
        self.path(&moves(lines), Ink::Text, width, &format!(" stroke-dasharray=\"{dash}\""));
    }

    fn path(&self, d: &str, ink: Ink, width: f64, more: &str) {
        if d.is_empty() {
            return;
        }
        let stroke = painted("stroke", ink.color().to_backend_color());
        let class = if ink == Ink::Grid { "class=\"grid\" " } else { "" };
        let element = format!(
            "<path {class}fill=\"none\" {stroke} stroke-width=\"{width}\"{more} d=\"{d}\"/>\n"
        );
        self.raw(ink.layer(), &element);
    }

    pub fn fill(&self, points: &[(f64, f64)], ink: Ink) {
        if points.is_empty() {
            return;
        }
        let _ = self.on(ink.layer()).draw(&Polygon::new(whole(points), ink.color().filled()));
    }

    pub fn rectangle(&self, [left, top, right, bottom]: Area, ink: Ink) {
        self.fill(&[(left, top), (right, top), (right, bottom), (left, bottom)], ink);
    }

    /// One line of text whose middle is at the height of `at`.
    pub fn text(&self, (x, y): (f64, f64), hang: HPos, ink: Ink, text: &str) {
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        if text.is_empty() {
            return;
        }
        let color = ink.color();
        let style = ("sans-serif", fine(TEXT))
            .into_text_style(&self.area)
            .color(&color)
            .pos(Pos::new(hang, VPos::Bottom));
        let at = (fine(x), fine(y + BASELINE));
        let _ = self.on(WORDS).draw(&Text::new(text, at, style));
    }

    /// Lines of text below each other: the first begins at `from`.
    pub fn lines_of_text(&self, (x, y): (f64, f64), lines: &[String]) {
        for (k, line) in lines.iter().enumerate() {
            self.text((x, y + k as f64 * LINE), HPos::Left, Ink::Text, line);
        }
    }

    /// The mark of a series at each of the points: eight shapes, so that colour is never the only difference.
    pub fn markers(&self, series: usize, points: &[(f64, f64)]) {
        let (shape, hollow) = match series % 8 {
            0 => ("m-4.2,0a4.2,4.2 0 1 0 8.4,0a4.2,4.2 0 1 0 -8.4,0", false),
            1 => ("m-3.8,-3.8h7.6v7.6h-7.6z", false),
            2 => ("m0,-5.2l4.9,8.8h-9.8z", false),
            3 => ("m0,-5.6l5,5.6l-5,5.6l-5,-5.6z", false),
            4 => ("m0,5.2l4.9,-8.8h-9.8z", false),
            5 => ("m-4,-4l8,8m-8,0l8,-8", true),
            6 => ("m-5,0h10m-5,-5v10", true),
            _ => ("m-4,0a4,4 0 1 0 8,0a4,4 0 1 0 -8,0", true),
        };
        let marks =
            points.iter().map(|&(x, y)| format!("M{},{}{shape}", unit(fine(x)), unit(fine(y))));
        let d = marks.collect::<Vec<_>>().concat();
        if d.is_empty() {
            return;
        }
        let color = |attribute| painted(attribute, PALETTE[series % 8].to_backend_color());
        let paint = if hollow {
            format!("fill=\"none\" {} stroke-width=\"2.2\"", color("stroke"))
        } else {
            color("fill")
        };
        self.raw(DATA, &format!("<path {paint} d=\"{d}\"/>\n"));
    }
}

/// The lines as what a path draws.
fn moves(lines: &[Vec<(f64, f64)>]) -> String {
    let mut d = String::new();
    for line in lines {
        for (i, &(x, y)) in line.iter().enumerate() {
            let _ =
                write!(d, "{}{},{}", if i == 0 { 'M' } else { 'L' }, unit(fine(x)), unit(fine(y)));
        }
    }
    d
}

fn whole(points: &[(f64, f64)]) -> Vec<(i32, i32)> {
    points.iter().map(|&(x, y)| (fine(x), fine(y))).collect()
}

fn fine(value: f64) -> i32 {
    // `as` saturates: a point far outside the sheet stays far outside it.
    (value * FINE).round() as i32
}

/// The widths of Open Sans' letters from the space to the tilde, in thousandths of the size.
const WIDTHS: [u16; 95] = [
    260, 267, 401, 646, 572, 823, 730, 221, 296, 296, 552, 572, 245, 322, 266, 367, 572, 572, 572,
    572, 572, 572, 572, 572, 572, 572, 266, 266, 572, 572, 572, 429, 899, 633, 648, 631, 729, 556,
    516, 728, 738, 279, 267, 614, 519, 903, 754, 779, 602, 779, 618, 549, 553, 728, 595, 926, 577,
    560, 571, 329, 367, 329, 542, 448, 577, 556, 613, 476, 613, 561, 339, 548, 614, 253, 253, 525,
    253, 930, 614, 604, 613, 613, 408, 477, 353, 614, 501, 778, 524, 504, 468, 379, 551, 379, 572,
];

/// The width of a text in units of the sheet, in the page's font.
pub fn text_width(text: &str) -> f64 {
    let thousandths: f64 = text
        .chars()
        .map(|c| match c {
            ' '..='~' => f64::from(WIDTHS[c as usize - 32]),
            '·' => 266.0,
            '⁻' | '–' => 528.0,
            '\u{2070}'..='\u{209f}' | '²' | '³' | '¹' => 347.0,
            // Chinese is wide.
            '…' | '→' | '←' | '∞' | '—' | '\u{2e80}'..='\u{ffef}' => 1000.0,
            _ => 640.0,
        })
        .sum();
    // A notebook's font may be wider: rather too wide than cut off.
    1.03 * thousandths / 1000.0 * TEXT
}

/// The text in lines no wider than `width`, as far as its words allow.
pub fn wrapped(text: &str, width: f64) -> Vec<String> {
    broken(text, width, text_width)
}

/// [`wrapped`] by another width of a text, which is the sum of its characters'.
pub fn broken(text: &str, width: f64, wide: impl Fn(&str) -> f64) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if wide(line) + wide(word) + wide(" ") <= width => {
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

    fn hex(RGBColor(r, g, b): RGBColor) -> String {
        format!("#{r:02X}{g:02X}{b:02X}")
    }

    #[test]
    fn every_colour_is_one_that_the_page_makes_its_own() {
        let svg = drawn(Sheet::Wide, 100.0, "", |canvas| {
            for ink in [Ink::Text, Ink::Faint, Ink::Grid] {
                canvas.line(&[(0.0, 0.0), (9.0, 9.0)], ink, 1.0);
            }
            for series in 0..8 {
                canvas.markers(series, &[(20.0, 20.0)]);
                canvas.fill(&[(0.0, 0.0), (9.0, 9.0), (0.0, 9.0)], Ink::Band(series));
            }
            canvas.text((5.0, 5.0), HPos::Center, Ink::Text, "a < b\n\n & c");
        });
        let css = std::fs::read_to_string(crate::testing::book("theme/throughput.css")).unwrap();
        for attribute in ["fill", "stroke"] {
            for part in svg.split(&format!(" {attribute}=\"")).skip(1) {
                let color = part.split('"').next().unwrap_or_default();
                let rule = format!("[{attribute}=\"{color}\"]");
                assert!(color == "none" || css.contains(&rule), "the page has no rule {rule}");
            }
        }
        for (i, color) in PALETTE.into_iter().enumerate() {
            assert!(svg.contains(&hex(color)));
            for attribute in ["fill", "stroke"] {
                let is = format!("{attribute}: var(--series-{});", i + 1);
                let rule = css.split(&format!("[{attribute}=\"{}\"]", hex(color))).nth(1);
                let rule = rule.and_then(|rule| rule.split('}').next()).unwrap_or_default();
                assert!(rule.contains(&is), "the page's rule for series {i} is {rule}");
            }
        }
        assert!(svg.contains("a &lt; b &amp; c"), "{svg}");
        assert!(svg.starts_with("<svg class=\"chart\" ") && svg.trim_end().ends_with("</svg>"));
        assert!(svg.contains("viewBox=\"0 0 660 100\" width=\"660\" height=\"100\""));
        assert_eq!(svg.matches("font-size").count(), 1, "{svg}");
    }

    #[test]
    fn text_hides_no_data_and_is_hidden_by_none_of_the_grid() {
        let svg = drawn(Sheet::Narrow, 50.0, "", |canvas| {
            canvas.markers(0, &[(9.0, 9.0)]);
            canvas.text((5.0, 5.0), HPos::Left, Ink::Text, "words");
            canvas.line(&[(0.0, 9.0), (60.0, 9.0)], Ink::Grid, 1.0);
        });
        let order = ["<polyline", "words", "<path"].map(|part| svg.find(part));
        assert!(order.iter().all(Option::is_some) && order.is_sorted(), "{svg}");
    }

    #[test]
    fn every_marker_differs_from_the_others() {
        let marker = |series: usize| {
            let svg =
                drawn(Sheet::Wide, 50.0, "", |canvas| canvas.markers(series, &[(20.0, 20.0)]));
            svg.replace(&hex(PALETTE[series]), "")
        };
        let shapes: std::collections::HashSet<String> = (0..8).map(marker).collect();
        assert_eq!(shapes.len(), 8);
    }
}
