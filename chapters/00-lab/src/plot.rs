//! Numbers as figures: SVG with units, limits and spread, which takes the page's colours.
//!
//! Plotters draws them: text and axes black, each series in its colour, so that a figure stands alone. On a page, light or
//! dark, the style sheet makes these the page's own colours. A figure is drawn for a desktop and for a phone, each at its
//! own size, so that text is as large as the page's; its points are told in `data-at`, for what shows values on hover.

mod bars;
mod canvas;
mod frame;
mod heat;
mod layout;
mod scale;
mod spots;

pub use bars::{Bar, BarPlot, bar};
pub(crate) use canvas::broken;
pub use canvas::{Sheet, escaped, text_width};
pub use heat::{Cell, HeatMap};
pub use scale::{Axis, Scale};

use crate::{Drawing, Unit, record::Value, units::plain};
use frame::scaled;

/// At most about ten of the values, evenly spaced, for the ticks of an axis.
pub fn few(places: &[f64]) -> Vec<f64> {
    places.iter().copied().step_by(places.len().div_ceil(10).max(1)).collect()
}

/// A line through points, with a band for the spread. Labelled directly, at its end.
#[derive(Clone, Debug)]
pub struct Series {
    /// The label.
    pub name: String,
    /// The points (x, y), in order.
    pub points: Vec<(f64, f64)>,
    /// Low and high at each point, or empty.
    pub band: Vec<(f64, f64)>,
    /// Whether the points are joined.
    pub joined: bool,
}

impl Series {
    /// Medians joined by a line, with the quartiles as its band, each put through `scale`.
    pub fn of(name: &str, points: &[(f64, &Value)], scale: impl Fn(f64) -> f64) -> Self {
        let (mut line, mut band) = (Vec::new(), Vec::new());
        for (x, value) in points {
            let [middle, low, high] = scaled(value, &scale);
            line.push((*x, middle));
            band.push((low, high));
        }
        Self { name: name.to_owned(), points: line, band, joined: true }
    }

    /// Points that no line joins.
    pub fn dots(name: impl Into<String>, points: Vec<(f64, f64)>) -> Self {
        Self { name: name.into(), points, band: Vec::new(), joined: false }
    }

    /// Its points in words: all of a few; of many the ends, the lowest and the highest.
    fn in_words(&self) -> String {
        let points = &self.points;
        let by_height = |a: &&(f64, f64), b: &&(f64, f64)| a.1.total_cmp(&b.1);
        let told = |point: &&(f64, f64)| {
            let among = [points.iter().min_by(by_height), points.iter().max_by(by_height)];
            among.into_iter().chain([points.first(), points.last()]).flatten().any(|p| p == *point)
        };
        let points = points.iter().filter(|point| points.len() <= 6 || told(point));
        let words: Vec<String> = points.map(|&point| at_in_words(point)).collect();
        format!("{}: {}", self.name, words.join(", "))
    }
}

/// A line through points, without a band.
pub fn line(name: impl Into<String>, points: Vec<(f64, f64)>) -> Series {
    Series { joined: true, ..Series::dots(name, points) }
}

fn at_in_words((x, y): (f64, f64)) -> String {
    format!("{} at {}", Unit::Number.format(y), plain(x))
}

/// A limit that the data is compared with: a dashed line with its name.
#[derive(Clone, Debug)]
pub struct LimitLine {
    /// The label.
    pub name: String,
    /// The points of the line; two for a straight one, three for a roofline.
    pub points: Vec<(f64, f64)>,
}

/// Lines over two axes.
///
/// ```
/// use lab::plot::{Axis, LinePlot, Scale, Sheet, line};
/// let loss = line("training", vec![(1.0, 0.41), (2.0, 0.19), (3.0, 0.12)]);
/// let plot = LinePlot {
///     x: Axis::new("epoch", Scale::Linear).ticks([1.0, 2.0, 3.0]),
///     y: Axis::new("loss", Scale::Linear),
///     series: vec![loss],
///     limits: vec![],
/// };
/// assert!(plot.svg_on(Sheet::Wide).starts_with("<svg"));
/// ```
#[derive(Clone, Debug)]
pub struct LinePlot {
    /// The horizontal axis.
    pub x: Axis,
    /// The vertical axis.
    pub y: Axis,
    /// At most eight, in the order of the palette.
    pub series: Vec<Series>,
    /// Limits.
    pub limits: Vec<LimitLine>,
}

impl LinePlot {
    /// The figure with this caption, and its lines in words.
    pub fn drawing(&self, caption: impl Into<String>) -> Drawing {
        let scale = |axis: &Axis| match axis.scale {
            Scale::Linear => "",
            Scale::Log => " (logarithmic)",
        };
        let series = self.series.iter().map(Series::in_words);
        let limits = self.limits.iter().filter_map(|limit| {
            let (first, last) = (*limit.points.first()?, *limit.points.last()?);
            let flat = first.1.total_cmp(&last.1).is_eq();
            let first = if flat { Unit::Number.format(first.1) } else { at_in_words(first) };
            let last = if flat { String::new() } else { format!(" to {}", at_in_words(last)) };
            Some(format!("dashed, {}: {first}{last}", limit.name))
        });
        let alt = format!(
            "{}{} over {}{}. {}.",
            self.y.label,
            scale(&self.y),
            self.x.label,
            scale(&self.x),
            series.chain(limits).collect::<Vec<_>>().join("; ")
        );
        let other = self.y.toggled.then(|| {
            let other = Self { y: self.y.other(), ..self.clone() };
            Sheet::BOTH.map(|sheet| other.svg_on(sheet))
        });
        let [svg, narrow] = Sheet::BOTH.map(|sheet| self.svg_on(sheet));
        Drawing { svg, narrow, caption: caption.into(), alt, other }
    }
}

#[cfg(test)]
mod tests;
