//! Numbers as figures: SVG with units, limits and spread, which takes the page's colours.
//!
//! Plotters draws them: text and axes black, each series in its colour, so that a figure stands alone. On a page, light or
//! dark, the style sheet makes these the page's own colours. Figures have a view box and no size.

mod canvas;
mod heat;
mod scale;

pub use heat::{Cell, HeatMap};
pub use scale::{Axis, Scale};

use crate::{Drawing, Error, Result, Unit, record::Value, units::plain};
use canvas::{Area, Canvas, Hang, Ink, LINE, WIDTH, drawn, text_width, wrapped};
use scale::{Ruler, fits};

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

fn at_in_words((x, y): (f64, f64)) -> String {
    format!("{} at {}", Unit::Number.format(y), plain(x))
}

/// Median, low and high, each put through `scale`.
fn scaled(value: &Value, scale: impl Fn(f64) -> f64) -> [f64; 3] {
    let [middle, one, two] = [value.median, value.low, value.high].map(scale);
    [middle, one.min(two), one.max(two)]
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
/// use lab::plot::{Axis, LinePlot, Scale, Series};
/// let loss = Series {
///     name: "training".to_owned(),
///     points: vec![(1.0, 0.41), (2.0, 0.19), (3.0, 0.12)],
///     band: vec![],
///     joined: true,
/// };
/// let plot = LinePlot {
///     x: Axis::new("epoch", Scale::Linear).ticks([1.0, 2.0, 3.0]),
///     y: Axis::new("loss", Scale::Linear),
///     series: vec![loss],
///     limits: vec![],
/// };
/// assert!(plot.svg().starts_with("<svg"));
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
        Drawing { svg: self.svg(), caption: caption.into(), alt }
    }

    /// The last point of the series with this name; not numbers without one.
    pub fn end(&self, name: &str) -> (f64, f64) {
        let named = self.series.iter().find(|series| series.name == name);
        named.and_then(|series| series.points.last()).copied().unwrap_or((f64::NAN, f64::NAN))
    }

    /// The figure, as SVG without blank lines. Points that have no position on an axis (not a number, or
    /// not positive on a logarithmic one) are left out.
    pub fn svg(&self) -> String {
        const HEIGHT: f64 = 360.0;
        drawn(HEIGHT, |canvas| self.draw(canvas, HEIGHT))
    }

    fn draw(&self, canvas: &Canvas, height: f64) {
        let shown = |&&(x, y): &&(f64, f64)| fits(self.x.scale, x) && fits(self.y.scale, y);
        let points = || {
            let series = self.series.iter().flat_map(|s| &s.points);
            series.chain(self.limits.iter().flat_map(|l| &l.points)).filter(shown)
        };
        let bands = || self.series.iter().flat_map(|s| &s.band).flat_map(|&(l, h)| [l, h]);

        // A joined series is named in the margin, at its end; single points are named where they are.
        let ends: Vec<(usize, Vec<String>)> = self
            .series
            .iter()
            .enumerate()
            .filter(|(_, s)| s.joined)
            .map(|(i, s)| (i, wrapped(&s.name, 0.27 * WIDTH)))
            .filter(|(_, lines)| !lines.is_empty())
            .collect();
        let widest = |lines: &[String]| lines.iter().map(|l| text_width(l)).fold(0.0, f64::max);
        let names = ends.iter().map(|(_, lines)| widest(lines)).fold(0.0, f64::max);
        let (top, bottom) = (2.2 * LINE, height - 2.7 * LINE);
        let y = Ruler::new(&self.y, points().map(|p| p.1).chain(bands()), bottom, top);
        let y_ticks: Vec<(f64, String)> =
            y.ticks(&self.y).into_iter().map(|t| (t, plain(t))).collect();
        let left = y_ticks.iter().map(|(_, text)| text_width(text)).fold(0.0, f64::max) + 12.0;
        let right = WIDTH - if names > 0.0 { names + 30.0 } else { 14.0 };
        let x = Ruler::new(&self.x, points().map(|p| p.0), left, right);
        let place = |&(a, b): &(f64, f64)| (x.at(a), y.at(b));

        let box_ = [left, top, right, bottom];
        for (tick, text) in &y_ticks {
            canvas.line(&[(left, y.at(*tick)), (right, y.at(*tick))], Ink::Grid, 1.0);
            canvas.text((left - 7.0, y.at(*tick)), Hang::End, Ink::Text, text);
        }
        canvas.text((0.0, 0.6 * LINE), Hang::Start, Ink::Text, &self.y.label);
        x_axis(canvas, &self.x, &x, box_);

        // What labels must keep off.
        let mut busy: Vec<(f64, f64)> = Vec::new();
        for limit in &self.limits {
            let line: Vec<_> = limit.points.iter().filter(shown).map(place).collect();
            for piece in clipped(&line, box_) {
                canvas.dashed(&piece, 1.6);
                busy.extend(sampled(&piece));
            }
        }
        for (i, series) in self.series.iter().enumerate() {
            if series.band.len() == series.points.len() {
                let edge: Vec<_> = series
                    .points
                    .iter()
                    .zip(&series.band)
                    .filter(|((a, _), (l, h))| {
                        fits(self.x.scale, *a) && fits(self.y.scale, *l) && fits(self.y.scale, *h)
                    })
                    .map(|((a, _), (l, h))| (x.at(*a), y.clamped(*l), y.clamped(*h)))
                    .collect();
                if series.joined {
                    let low = edge.iter().map(|&(a, l, _)| (a, l));
                    let high = edge.iter().rev().map(|&(a, _, h)| (a, h));
                    canvas.fill(&low.chain(high).collect::<Vec<_>>(), Ink::Band(i));
                } else {
                    for (a, l, h) in edge {
                        canvas.line(&[(a, l), (a, h)], Ink::Series(i), 1.6);
                    }
                }
            }
            let line: Vec<_> = series.points.iter().filter(shown).map(place).collect();
            if series.joined {
                for piece in clipped(&line, box_) {
                    canvas.line(&piece, Ink::Series(i), 2.2);
                    busy.extend(sampled(&piece));
                }
            }
            let inside: Vec<_> = line.into_iter().filter(|&p| within(p, box_)).collect();
            if inside.len() <= 25 || !series.joined {
                for &point in &inside {
                    canvas.marker(i, point);
                    busy.push(point);
                }
            }
        }

        let mut taken: Vec<Area> = Vec::new();
        for series in self.series.iter().filter(|s| !s.joined) {
            let last = series.points.iter().filter(shown).map(place).rfind(|&p| within(p, box_));
            if let Some(at) = last {
                let spot = quiet_spot(
                    &around(at, &series.name),
                    &busy,
                    &taken,
                    [left, top, WIDTH, bottom],
                );
                canvas.text(spot.start(), Hang::Start, Ink::Text, &series.name);
                taken.push(spot.area);
            }
        }
        for limit in &self.limits {
            let line: Vec<_> = limit.points.iter().filter(shown).map(place).collect();
            let pieces = clipped(&line, box_);
            let along: Vec<_> = pieces.iter().flat_map(|piece| sampled(piece)).collect();
            let spots: Vec<Spot> =
                along.iter().step_by(4).flat_map(|&at| beside(at, &limit.name)).collect();
            if !spots.is_empty() {
                let spot = quiet_spot(&spots, &busy, &taken, box_);
                canvas.text(spot.start(), Hang::Start, Ink::Text, &limit.name);
                taken.push(spot.area);
            }
        }
        self.name_ends(canvas, &ends, &x, &y, box_);
    }

    /// The names at the right, each at the height of its line's end, moved apart where they would overlap.
    fn name_ends(
        &self,
        canvas: &Canvas,
        ends: &[(usize, Vec<String>)],
        x: &Ruler,
        y: &Ruler,
        [_, top, right, bottom]: Area,
    ) {
        let mut labels: Vec<EndLabel> = ends
            .iter()
            .filter_map(|(i, lines)| {
                let &(a, b) =
                    self.series[*i].points.iter().rfind(|p| x.shows(p.0) && y.shows(p.1))?;
                Some(EndLabel { series: *i, lines, end: (x.at(a), y.at(b)) })
            })
            .collect();
        labels.sort_by(|a, b| a.end.1.total_cmp(&b.end.1));
        let heights: Vec<f64> = labels.iter().map(|l| l.lines.len() as f64 * LINE + 3.0).collect();
        let mut places: Vec<f64> = labels.iter().map(|l| l.end.1).collect();
        spread_apart(&mut places, &heights, top - 0.5 * LINE, bottom + 0.5 * LINE);
        for (EndLabel { series, lines, end }, middle) in labels.into_iter().zip(places) {
            let x = right + 12.0;
            if (middle - end.1).abs() > 3.0 || right - end.0 > 12.0 {
                canvas.line(&[(end.0 + 6.0, end.1), (x - 7.0, middle)], Ink::Faint, 0.8);
            }
            canvas.marker(series, (x, middle));
            let first = middle - 0.5 * LINE * (lines.len() as f64 - 1.0);
            for (k, line) in lines.iter().enumerate() {
                let at = (x + 9.0, first + LINE * k as f64);
                canvas.text(at, Hang::Start, Ink::Text, line);
            }
        }
    }
}

/// The name of a line, and where the line ends.
struct EndLabel<'a> {
    series: usize,
    lines: &'a [String],
    end: (f64, f64),
}

/// The horizontal axis below the box: grid, ticks, label. A tick's text that would run into the last one
/// is left out.
fn x_axis(canvas: &Canvas, axis: &Axis, x: &Ruler, [left, top, right, bottom]: Area) {
    let mut free_from = f64::NEG_INFINITY;
    for tick in x.ticks(axis) {
        let (at, text) = (x.at(tick), plain(tick));
        canvas.line(&[(at, top), (at, bottom)], Ink::Grid, 1.0);
        let half = 0.5 * text_width(&text);
        let middle = at.clamp(half, WIDTH - half);
        if middle - half >= free_from {
            canvas.text((middle, bottom + 0.7 * LINE), Hang::Middle, Ink::Text, &text);
            free_from = middle + half + 7.0;
        }
    }
    canvas.line(&[(left, bottom), (right, bottom)], Ink::Faint, 1.2);
    let half = 0.5 * text_width(&axis.label);
    let middle = (0.5 * (left + right)).max(half).min((WIDTH - half).max(half));
    canvas.text((middle, bottom + 2.0 * LINE), Hang::Middle, Ink::Text, &axis.label);
}

fn within((x, y): (f64, f64), [left, top, right, bottom]: Area) -> bool {
    x >= left - 0.5 && x <= right + 0.5 && y >= top - 0.5 && y <= bottom + 0.5
}

/// The pieces of a line that lie in the box (Liang and Barsky 1984).
fn clipped(line: &[(f64, f64)], [left, top, right, bottom]: Area) -> Vec<Vec<(f64, f64)>> {
    let mut pieces: Vec<Vec<(f64, f64)>> = Vec::new();
    for pair in line.windows(2) {
        let ((x0, y0), (x1, y1)) = (pair[0], pair[1]);
        let (dx, dy) = (x1 - x0, y1 - y0);
        let (mut from, mut to) = (0.0_f64, 1.0_f64);
        for (step, room) in [(-dx, x0 - left), (dx, right - x0), (-dy, y0 - top), (dy, bottom - y0)]
        {
            if step == 0.0 && room < 0.0 {
                to = -1.0;
            } else if step < 0.0 {
                from = from.max(room / step);
            } else if step > 0.0 {
                to = to.min(room / step);
            }
        }
        if from > to {
            continue;
        }
        let start = (x0 + from * dx, y0 + from * dy);
        let end = (x0 + to * dx, y0 + to * dy);
        match pieces.last_mut() {
            Some(piece) if from == 0.0 && piece.last() == Some(&start) => piece.push(end),
            _ => pieces.push(vec![start, end]),
        }
    }
    pieces
}

/// Points along a line, some five units apart.
fn sampled(line: &[(f64, f64)]) -> Vec<(f64, f64)> {
    line.windows(2)
        .flat_map(|pair| {
            let ((x0, y0), (x1, y1)) = (pair[0], pair[1]);
            let steps = ((x1 - x0).hypot(y1 - y0) / 5.0).ceil().max(1.0);
            (0..=steps as usize).map(move |i| {
                let t = i as f64 / steps;
                (x0 + t * (x1 - x0), y0 + t * (y1 - y0))
            })
        })
        .collect()
}

/// A position for a label, and how little it is liked where all else is equal.
#[derive(Clone, Copy, Debug)]
struct Spot {
    area: Area,
    dislike: f64,
}

impl Spot {
    fn new(left: f64, middle: f64, text: &str, dislike: f64) -> Self {
        let half = 0.5 * LINE;
        let area = [left, middle - half, left + text_width(text), middle + half];
        Self { area, dislike }
    }

    /// Where the text begins.
    fn start(&self) -> (f64, f64) {
        (self.area[0], 0.5 * (self.area[1] + self.area[3]))
    }
}

/// Positions around a point.
fn around((x, y): (f64, f64), text: &str) -> Vec<Spot> {
    let wide = text_width(text);
    let up = 0.8 * LINE;
    vec![
        Spot::new(x + 9.0, y, text, 0.0),
        Spot::new(x - 9.0 - wide, y, text, 0.2),
        Spot::new(x - 0.5 * wide, y - up, text, 0.1),
        Spot::new(x - 0.5 * wide, y + up, text, 0.1),
        Spot::new(x + 5.0, y - up, text, 0.3),
        Spot::new(x + 5.0, y + up, text, 0.3),
        Spot::new(x - 5.0 - wide, y - up, text, 0.4),
        Spot::new(x - 5.0 - wide, y + up, text, 0.4),
    ]
}

/// Positions next to a point of a line: above and below it, to either side.
fn beside((x, y): (f64, f64), text: &str) -> [Spot; 4] {
    let wide = text_width(text);
    let up = 0.62 * LINE;
    [
        Spot::new(x, y - up, text, 0.0),
        Spot::new(x - wide, y - up, text, 0.0),
        Spot::new(x, y + up, text, 0.3),
        Spot::new(x - wide, y + up, text, 0.3),
    ]
}

/// The position that covers the fewest points and labels and sticks out the least.
fn quiet_spot(spots: &[Spot], busy: &[(f64, f64)], taken: &[Area], box_: Area) -> Spot {
    let cost = |spot: &Spot| {
        let [left, top, right, bottom] = spot.area;
        let outside = (box_[0] - left).max(0.0)
            + (box_[1] - top).max(0.0)
            + (right - box_[2]).max(0.0)
            + (bottom - box_[3]).max(0.0);
        let covered = busy.iter().filter(|&&p| within(p, [left, top, right, bottom])).count();
        let overlap: f64 = taken
            .iter()
            .map(|t| {
                let wide = (right.min(t[2]) - left.max(t[0])).max(0.0);
                wide * (bottom.min(t[3]) - top.max(t[1])).max(0.0)
            })
            .sum();
        spot.dislike + 20.0 * outside + covered as f64 + overlap
    };
    let mut best = spots[0];
    let mut least = cost(&best);
    for spot in &spots[1..] {
        let this = cost(spot);
        if this < least {
            (best, least) = (*spot, this);
        }
    }
    best
}

/// Moves sorted middles apart by as little as keeps labels of these heights from overlapping, between
/// `top` and `bottom`.
fn spread_apart(middles: &mut [f64], heights: &[f64], top: f64, bottom: f64) {
    // Relaxation: a few rounds of pushing both neighbours, then two passes that hold for certain.
    for _ in 0..50 {
        for i in 1..middles.len() {
            let lack = 0.5 * (heights[i - 1] + heights[i]) - (middles[i] - middles[i - 1]);
            if lack > 0.0 {
                middles[i - 1] -= 0.5 * lack;
                middles[i] += 0.5 * lack;
            }
        }
    }
    let mut ceiling = top;
    for (middle, height) in middles.iter_mut().zip(heights) {
        *middle = middle.max(ceiling + 0.5 * height);
        ceiling = *middle + 0.5 * height;
    }
    let mut floor = bottom;
    for (middle, height) in middles.iter_mut().zip(heights).rev() {
        *middle = middle.min(floor - 0.5 * height);
        floor = *middle - 0.5 * height;
    }
}

/// One horizontal bar.
#[derive(Clone, Debug)]
pub struct Bar {
    /// The label at its left.
    pub name: String,
    /// Its length, with low and high of the spread; `None` where it was not measured.
    pub value: Option<(f64, f64, f64)>,
    /// What is written at its end: `160 GFLOP/s`, or why it was not measured.
    pub text: String,
}

impl Bar {
    /// A bar as long as the value, in units of `scale`; an empty one that says why there is none.
    ///
    /// # Errors
    /// [`Error::NotMeasured`] and others of [`Records::find`](crate::Records::find): what the
    /// experiment did not even look for has no bar.
    pub fn of(name: &str, found: Result<&Value>, scale: f64) -> Result<Self> {
        Self::scaled(name, found, |value| value / scale)
    }

    /// [`Bar::of`], each number put through `scale`.
    ///
    /// # Errors
    /// As [`Bar::of`].
    pub fn scaled(name: &str, found: Result<&Value>, scale: impl Fn(f64) -> f64) -> Result<Self> {
        let name = name.to_owned();
        match found {
            Ok(value) => {
                let [middle, low, high] = scaled(value, scale);
                Ok(Self { name, value: Some((middle, low, high)), text: value.text() })
            }
            Err(Error::Skipped { why, .. }) => Ok(Self { name, value: None, text: why }),
            Err(error) => Err(error),
        }
    }

    /// Each bar in words, for those who do not see it.
    pub fn in_words(bars: &[Self]) -> String {
        let words: Vec<String> =
            bars.iter().map(|bar| format!("{}: {}", bar.name, bar.text)).collect();
        words.join("; ")
    }
}

/// Horizontal bars, for a ladder of versions.
#[derive(Clone, Debug)]
pub struct BarPlot {
    /// The axis of the bars' lengths.
    pub axis: Axis,
    /// From top to bottom.
    pub bars: Vec<Bar>,
    /// Limits, drawn as vertical lines.
    pub limits: Vec<(String, f64)>,
}

impl BarPlot {
    /// The figure with this caption, and its bars in words.
    pub fn drawing(&self, caption: impl Into<String>) -> Drawing {
        let scale = match self.axis.scale {
            Scale::Linear => "",
            Scale::Log => " on a logarithmic scale",
        };
        let limits = self
            .limits
            .iter()
            .map(|(name, at)| format!("; dashed, {name}: {}", Unit::Number.format(*at)));
        let alt = format!(
            "Bars{scale}, {}. {}{}.",
            self.axis.label,
            Bar::in_words(&self.bars),
            limits.collect::<String>()
        );
        Drawing { svg: self.svg(), caption: caption.into(), alt }
    }

    /// The figure, as SVG without blank lines. On a logarithmic axis bars start at its lower end, on a
    /// linear one at zero.
    pub fn svg(&self) -> String {
        const THICK: f64 = 17.0;
        let scale = self.axis.scale;
        let value = |bar: &Bar| bar.value.filter(|v| fits(scale, v.0));
        // Long names are above their bars: next to them they would leave no room on a phone.
        let longest = self.bars.iter().map(|b| text_width(&b.name)).fold(0.0, f64::max);
        let above = longest > 0.24 * WIDTH;
        // A font may run wider than the estimate.
        let left = if above { 0.0 } else { 1.08 * longest + 8.0 };
        let texts = self
            .bars
            .iter()
            .filter(|b| value(b).is_some())
            .map(|b| text_width(&b.text))
            .fold(0.0, f64::max);
        let right = (WIDTH - texts - 14.0).max(left + 0.3 * WIDTH).min(WIDTH - 14.0);
        let limits: Vec<&(String, f64)> =
            self.limits.iter().filter(|(_, at)| fits(scale, *at)).collect();

        // Why a bar is missing may take several lines.
        let reasons: Vec<Vec<String>> = self
            .bars
            .iter()
            .map(|bar| match value(bar) {
                Some(_) => vec![bar.text.clone()],
                None => wrapped(&bar.text, WIDTH - left - 8.0),
            })
            .collect();
        let height_of = |i: usize| {
            let body = (reasons[i].len() as f64 * LINE).max(THICK);
            body + if above { LINE + 9.0 } else { 9.0 }
        };
        let top = limits.len() as f64 * LINE + 8.0;
        let bottom = top + (0..self.bars.len()).map(height_of).sum::<f64>() + 4.0;

        let measured = self.bars.iter().filter_map(value).flat_map(|(m, l, h)| [m, l, h]);
        let numbers = measured.chain(limits.iter().map(|l| l.1)).filter(|v| fits(scale, *v));
        let axis = self.bar_axis(&numbers.collect::<Vec<_>>());
        let x = Ruler::new(&axis, std::iter::empty(), left, right);

        drawn(bottom + 2.7 * LINE, |canvas| {
            x_axis(canvas, &axis, &x, [left, top, right, bottom]);
            // A row of its own for each name, next to its line on the side that no other line comes down.
            let place = |limit: &&(String, f64)| x.clamped(limit.1);
            let fits_left = limits.iter().all(|limit| text_width(&limit.0) + 5.0 <= place(limit));
            let mut rows = limits.clone();
            rows.sort_by(|a, b| a.1.total_cmp(&b.1));
            if fits_left {
                rows.reverse();
            }
            let mut lines = Vec::new();
            for (row, limit) in rows.iter().enumerate() {
                let (at, name) = (place(limit), &limit.0);
                let middle = (row as f64 + 0.5) * LINE;
                lines.push([(at, middle - 0.4 * LINE), (at, bottom)]);
                if fits_left {
                    canvas.text((at - 5.0, middle), Hang::End, Ink::Text, name);
                } else {
                    let start = (at + 5.0).min(WIDTH - text_width(name)).max(0.0);
                    canvas.text((start, middle), Hang::Start, Ink::Text, name);
                }
            }
            let mut y = top;
            // Texts go over the limits' lines, those over the bars.
            let mut texts = Vec::new();
            for (i, bar) in self.bars.iter().enumerate() {
                let mut middle = y + 0.5 * THICK + 4.0;
                if above {
                    texts.push((
                        (0.0, y + 0.5 * LINE + 3.0),
                        Hang::Start,
                        Ink::Text,
                        bar.name.as_str(),
                    ));
                    middle += LINE;
                } else {
                    texts.push(((left - 8.0, middle), Hang::End, Ink::Text, bar.name.as_str()));
                }
                if let Some((length, low, high)) = value(bar) {
                    let end = x.clamped(length);
                    let sides =
                        [left, middle - 0.5 * THICK, end.max(left + 1.0), middle + 0.5 * THICK];
                    canvas.rectangle(sides, Ink::Series(0));
                    let (low, high) = (x.clamped(low), x.clamped(high));
                    let mut clear = end;
                    // A spread narrower than the whisker's own line would look like an error.
                    if high - low > 2.0 {
                        canvas.line(&[(low, middle), (high, middle)], Ink::Text, 1.6);
                        for at in [low, high] {
                            canvas.line(&[(at, middle - 4.0), (at, middle + 4.0)], Ink::Text, 1.6);
                        }
                        clear = clear.max(high);
                    }
                    texts.push(((clear + 7.0, middle), Hang::Start, Ink::Text, bar.text.as_str()));
                } else {
                    for (k, line) in reasons[i].iter().enumerate() {
                        let at = (left + 6.0, middle + LINE * k as f64);
                        texts.push((at, Hang::Start, Ink::Faint, line.as_str()));
                    }
                }
                y += height_of(i);
            }
            for line in lines {
                canvas.dashed(&line, 1.6);
            }
            for (at, hang, ink, text) in texts {
                canvas.text(at, hang, ink, text);
            }
            canvas.line(&[(left, top), (left, bottom)], Ink::Faint, 1.2);
        })
    }

    /// The axis with a range: from zero, or from a round power of ten below the shortest bar.
    fn bar_axis(&self, numbers: &[f64]) -> Axis {
        if self.axis.range.is_some() {
            return self.axis.clone();
        }
        let high = numbers.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let low = numbers.iter().copied().fold(f64::INFINITY, f64::min);
        let range = match self.axis.scale {
            Scale::Log if low.is_finite() => {
                let mut from = 10_f64.powf(low.log10().floor());
                // The shortest bar must also be visible.
                if low / from < 1.5 {
                    from /= 2.0;
                }
                (from, high * (high / from).powf(0.02))
            }
            Scale::Log => (0.1, 1.0),
            Scale::Linear if high > 0.0 => (low.min(0.0), high),
            Scale::Linear => (0.0, 1.0),
        };
        Axis { range: Some(range), ..self.axis.clone() }
    }
}

#[cfg(test)]
mod tests;
