//! A sheet to draw on: plotters' SVG backend with a unit of its own, in which text is 16 units high. A coordinate is a
//! fraction of a pixel, so that lines stay smooth when the figure is enlarged.
//!
//! Ink is black and series have the colours of [`PALETTE`], so that the figure stands alone. A style sheet may say what
//! they are on its page: `.chart [fill="#000000"] { fill: currentColor }`, as `book/theme/throughput.css` does.

use plotters::{
    coord::Shift,
    element::DashedPathElement,
    prelude::*,
    style::{
        RGBAColor,
        text_anchor::{HPos, Pos, VPos},
    },
};

/// Units of the sheet. With text 16 units high, a sheet of 520 is readable on a phone 360 pixels wide.
pub const WIDTH: f64 = 520.0;
/// The height of all text.
pub const TEXT: f64 = 16.0;
/// The height of a line of text.
pub const LINE: f64 = 1.15 * TEXT;
/// Plotters has whole-number coordinates; a unit is ten of them.
const FINE: f64 = 10.0;
/// The size that plotters is told for text: it writes this divided by 1.24, with which a line of text is that high.
const LINE_SIZE: i32 = 198;

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
pub struct Canvas<'s>(DrawingArea<SVGBackend<'s>, Shift>);

/// What is drawn on a sheet of this height, as SVG without a size of its own and without blank lines.
pub fn drawn(height: f64, draw: impl FnOnce(&Canvas)) -> String {
    let mut svg = String::new();
    let size = (fine(WIDTH) as u32, fine(height) as u32);
    let canvas = Canvas(SVGBackend::with_string(&mut svg, size).into_drawing_area());
    draw(&canvas);
    // Writing to a string does not fail.
    let _ = canvas.0.present();
    drop(canvas);
    // What all texts have alike is said once, by the root. Its own size is the first that occurs.
    let font = |size: f64| format!(" font-family=\"sans-serif\" font-size=\"{size}\"");
    let mut svg = svg.replace(&font(f64::from(LINE_SIZE) / 1.24), "").replace(" opacity=\"1\"", "");
    if let (Some(from), Some(to)) = (svg.find(" width="), svg.find(" viewBox=")) {
        svg.replace_range(from..to, &format!(" class=\"chart\"{}", font(TEXT * FINE)));
    }
    svg
}

impl Canvas<'_> {
    pub fn line(&self, points: &[(f64, f64)], ink: Ink, width: f64) {
        let style = ink.color().stroke_width(fine(width) as u32);
        let _ = self.0.draw(&PathElement::new(whole(points), style));
    }

    /// A limit: dashed, in the colour of text.
    pub fn dashed(&self, points: &[(f64, f64)], width: f64) {
        let style = BLACK.stroke_width(fine(width) as u32);
        let (dash, gap) = (fine(7.0), fine(5.0));
        let _ = self.0.draw(&DashedPathElement::new(whole(points), dash, gap, style));
    }

    pub fn fill(&self, points: &[(f64, f64)], ink: Ink) {
        let _ = self.0.draw(&Polygon::new(whole(points), ink.color().filled()));
    }

    pub fn rectangle(&self, [left, top, right, bottom]: Area, ink: Ink) {
        self.fill(&[(left, top), (right, top), (right, bottom), (left, bottom)], ink);
    }

    fn disc(&self, (x, y): (f64, f64), radius: f64, style: impl Into<ShapeStyle>) {
        let _ = self.0.draw(&Circle::new((fine(x), fine(y)), fine(radius), style));
    }

    /// One line of text whose middle is at the height of `at`.
    pub fn text(&self, (x, y): (f64, f64), hang: Hang, ink: Ink, text: &str) {
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        if text.is_empty() {
            return;
        }
        let hang = match hang {
            Hang::Start => HPos::Left,
            Hang::Middle => HPos::Center,
            Hang::End => HPos::Right,
        };
        let color = ink.color();
        let style = ("sans-serif", LINE_SIZE)
            .into_text_style(&self.0)
            .color(&color)
            .pos(Pos::new(hang, VPos::Center));
        let _ = self.0.draw(&Text::new(text, (fine(x), fine(y)), style));
    }

    /// The mark of a series: eight shapes, so that colour is never the only difference.
    pub fn marker(&self, series: usize, (x, y): (f64, f64)) {
        let ink = Ink::Series(series);
        let at = |dx: f64, dy: f64| (x + dx, y + dy);
        match series % 8 {
            0 => self.disc((x, y), 4.2, ink.color().filled()),
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
            _ => self.disc((x, y), 4.0, ink.color().stroke_width(fine(2.0) as u32)),
        }
    }
}

fn whole(points: &[(f64, f64)]) -> Vec<(i32, i32)> {
    points.iter().map(|&(x, y)| (fine(x), fine(y))).collect()
}

fn fine(value: f64) -> i32 {
    // `as` saturates: a point far outside the sheet stays far outside it.
    (value * FINE).round() as i32
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

    fn hex(RGBColor(r, g, b): RGBColor) -> String {
        format!("#{r:02X}{g:02X}{b:02X}")
    }

    #[test]
    fn every_colour_is_one_that_the_page_makes_its_own() {
        let svg = drawn(100.0, |canvas| {
            for ink in [Ink::Text, Ink::Faint, Ink::Grid] {
                canvas.line(&[(0.0, 0.0), (9.0, 9.0)], ink, 1.0);
            }
            for series in 0..8 {
                canvas.marker(series, (20.0, 20.0));
                canvas.fill(&[(0.0, 0.0), (9.0, 9.0), (0.0, 9.0)], Ink::Band(series));
            }
            canvas.text((5.0, 5.0), Hang::Middle, Ink::Text, "a < b\n\n & c");
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
        assert!(svg.contains("viewBox=\"0 0 5200 1000\""));
        assert!(!svg.lines().next().unwrap_or_default().contains(" width="));
        assert_eq!(svg.matches("font-size").count(), 1, "{svg}");
    }

    #[test]
    fn a_limit_is_dashed() {
        let svg = drawn(50.0, |canvas| canvas.dashed(&[(0.0, 9.0), (60.0, 9.0)], 1.6));
        // Dashes of 7 units and gaps of 5.
        assert_eq!(svg.matches("<polyline").count(), 5, "{svg}");
    }

    #[test]
    fn every_marker_differs_from_the_others() {
        let marker = |series: usize| {
            let svg = drawn(50.0, |canvas| canvas.marker(series, (20.0, 20.0)));
            svg.replace(&hex(PALETTE[series]), "")
        };
        let shapes: std::collections::HashSet<String> = (0..8).map(marker).collect();
        assert_eq!(shapes.len(), 8);
    }
}
