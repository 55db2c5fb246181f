//! Numbers as figures: SVG with units, limits and spread, which takes the page's colours.
//!
//! Plotters draws them: text and axes black, each series in its colour, so that a figure stands alone. On a page, light or
//! dark, the style sheet makes these the page's own colours. A figure is drawn for a desktop and for a phone, each at its
//! own size, so that text is as large as the page's; its points are told in `data-at`, for what shows values on hover.

mod bars;
mod canvas;
mod frame;
mod heat;
mod scale;
mod spots;

pub use bars::{Bar, BarPlot};
pub(crate) use canvas::escaped;
pub use canvas::{Sheet, text_width};
pub use heat::{Cell, HeatMap};
pub use scale::{Axis, Scale};

use crate::{Drawing, Unit, record::Value, units::plain};
use canvas::{Area, Canvas, Hang, Ink, LINE, drawn, wrapped};
use frame::{at, scaled, tenths, x_axis};
use scale::{Ruler, fits};
use serde_json::{Value as Json, json};
use spots::{Busy, Spot, around, beside, far_spot, quiet_spot, spread_apart, widest, within};

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
        let other = self.y.toggled.then(|| {
            let other = Self { y: self.y.other(), ..self.clone() };
            [Sheet::Wide, Sheet::Narrow].map(|sheet| other.svg_on(sheet))
        });
        let narrow = self.svg_on(Sheet::Narrow);
        Drawing { svg: self.svg(), narrow, caption: caption.into(), alt, other }
    }

    /// The last point of the series with this name; not numbers without one.
    pub fn end(&self, name: &str) -> (f64, f64) {
        let named = self.series.iter().find(|series| series.name == name);
        named.and_then(|series| series.points.last()).copied().unwrap_or((f64::NAN, f64::NAN))
    }

    /// The figure, as SVG without blank lines. Points that have no position on an axis (not a number, or
    /// not positive on a logarithmic one) are left out.
    pub fn svg(&self) -> String {
        self.svg_on(Sheet::Wide)
    }

    /// The figure for this width.
    pub fn svg_on(&self, sheet: Sheet) -> String {
        // A name for which there is no room beside what it names goes to the key, which changes the layout.
        let mut keyed = Vec::new();
        for _ in 0..4 {
            let (svg, homeless) = self.attempt(sheet, &keyed);
            if homeless.is_empty() {
                return svg;
            }
            keyed.extend(homeless);
        }
        self.attempt(sheet, &keyed).0
    }

    /// The names of the joined series in the margin, in lines; nothing if they don't fit there.
    fn in_margin(&self, sheet: Sheet, height: f64) -> Vec<(usize, Vec<String>)> {
        let most = if sheet.narrow() { 80.0 } else { 180.0 };
        let joined = self.series.iter().enumerate().filter(|(_, series)| series.joined);
        let names = joined.map(|(i, series)| (i, wrapped(&series.name, most)));
        let names: Vec<_> = names.filter(|(_, lines)| !lines.is_empty()).collect();
        let tall: f64 = names.iter().map(|(_, lines)| lines.len() as f64 * LINE + 3.0).sum();
        let fit = names.iter().all(|(_, lines)| widest(lines) <= most && lines.len() <= 3);
        if fit && tall <= height { names } else { Vec::new() }
    }

    /// The figure whose key has these names, and the names that found no room.
    fn attempt(&self, sheet: Sheet, keyed: &[Name]) -> (String, Vec<Name>) {
        let width = sheet.width();
        let tall = if sheet.narrow() { 220.0 } else { 270.0 };
        let shown = |&&(x, y): &&(f64, f64)| fits(self.x.scale, x) && fits(self.y.scale, y);
        let points = || {
            let series = self.series.iter().flat_map(|s| &s.points);
            series.chain(self.limits.iter().flat_map(|l| &l.points)).filter(shown)
        };
        let bands = || self.series.iter().flat_map(|s| &s.band).flat_map(|&(l, h)| [l, h]);

        // A joined series is named in the margin, at its end; single points are named where they are.
        let ends = self.in_margin(sheet, tall);
        let crowded = |(_, s): &(usize, &Series)| s.joined && ends.is_empty() && !s.name.is_empty();
        let lines = self.series.iter().enumerate().filter(crowded).map(|(i, _)| Name::Series(i));
        let mut key: Vec<Name> = lines.chain(keyed.iter().copied()).collect();
        key.sort();
        key.dedup();
        let key = Key::new(self, &key, width);

        let title = wrapped(&self.y.words(), width);
        let top = (title.len() as f64 + key.rows) * LINE + if key.rows > 0.0 { 16.0 } else { 12.0 };
        let bottom = top + tall;
        let y = Ruler::new(&self.y, points().map(|p| p.1).chain(bands()), bottom, top);
        let mut y_ticks: Vec<(f64, String)> =
            y.ticks(&self.y).into_iter().map(|t| (t, plain(t))).collect();
        let mut last = f64::INFINITY;
        y_ticks.retain(|(tick, _)| {
            let free = (y.at(*tick) - last).abs() >= LINE;
            last = if free { y.at(*tick) } else { last };
            free
        });
        let left = y_ticks.iter().map(|(_, text)| text_width(text)).fold(0.0, f64::max) + 9.0;
        let names = ends.iter().map(|(_, lines)| widest(lines)).fold(0.0, f64::max);
        let right = width - if names > 0.0 { names + 24.0 } else { 10.0 };
        let x = Ruler::new(&self.x, points().map(|p| p.0), left, right);
        let place = |&(a, b): &(f64, f64)| (x.at(a), y.at(b));
        let box_ = [left, top, right, bottom];
        let beyond = [left + 2.0, top - 4.0, width, bottom - 2.0];

        // What labels must keep off.
        let mut busy = Busy::default();
        let limits: Vec<Vec<Vec<(f64, f64)>>> = self
            .limits
            .iter()
            .map(|limit| {
                let line: Vec<_> = limit.points.iter().filter(shown).map(place).collect();
                clipped(&line, box_)
            })
            .collect();
        limits.iter().flatten().for_each(|piece| busy.line(piece));
        let series: Vec<Laid> = self.series.iter().map(|s| self.laid(s, &x, &y, box_)).collect();
        for laid in &series {
            laid.lines.iter().chain(&laid.whiskers).for_each(|line| busy.line(line));
            busy.marks(&laid.markers);
            busy.edge(&laid.band);
        }
        let ends = self.ends(&ends, &x, &y, box_);
        for end in &ends {
            busy.line(&end.leader);
        }

        let mut homeless = Vec::new();
        let mut labels: Vec<Spot> = Vec::new();
        let mut named = |name: Name, near: &[Spot], far: &[(f64, f64)], text: &str, box_: Area| {
            let lines = wrapped(text, 0.5 * (right - left));
            let found = quiet_spot(near, &busy, box_);
            match found.or_else(|| far_spot(far, &lines, &busy, box_)) {
                Some(spot) => {
                    busy.label(&spot);
                    labels.push(spot);
                }
                None => homeless.push(name),
            }
        };
        for (i, one) in self.series.iter().enumerate() {
            let name = Name::Series(i);
            if one.joined || one.name.trim().is_empty() || keyed.contains(&name) {
                continue;
            }
            let inside = &series[i].markers;
            let lines = [one.name.clone()];
            let spots: Vec<Spot> = inside.iter().rev().flat_map(|&at| around(at, &lines)).collect();
            if !inside.is_empty() {
                named(name, &spots, inside, &one.name, beyond);
            }
        }
        for (i, limit) in self.limits.iter().enumerate() {
            let name = Name::Limit(i);
            let along: Vec<_> = limits[i].iter().flat_map(|piece| spots::sampled(piece)).collect();
            if along.is_empty() || limit.name.trim().is_empty() || keyed.contains(&name) {
                continue;
            }
            let whole = vec![limit.name.clone()];
            let broken = wrapped(&limit.name, 0.5 * (right - left));
            let spots: Vec<Spot> = along
                .iter()
                .step_by(2)
                .flat_map(|&at| [beside(at, &whole), beside(at, &broken)].concat())
                .collect();
            named(name, &spots, &along, &limit.name, [left + 2.0, top - 4.0, right, bottom - 2.0]);
        }

        let told =
            self.series.iter().zip(&series).map(|(one, laid)| laid.told(&one.name)).collect();
        let attributes = format!(
            "{} data-x=\"{}\" data-y=\"{}\"",
            at(told),
            escaped(&self.x.label),
            escaped(&self.y.label)
        );
        let below = wrapped(&self.x.words(), width).len() as f64;
        let svg = drawn(sheet, bottom + (1.9 + below) * LINE, &attributes, |canvas| {
            for (k, line) in title.iter().enumerate() {
                canvas.text((0.0, (k as f64 + 0.5) * LINE), Hang::Start, Ink::Text, line);
            }
            key.draw(canvas, title.len() as f64 * LINE + 4.0);
            let across = |tick: &f64| vec![(left, y.at(*tick)), (right, y.at(*tick))];
            let grid: Vec<_> = y_ticks.iter().map(|(tick, _)| across(tick)).collect();
            canvas.lines(&grid, Ink::Grid, 1.0);
            for (tick, text) in &y_ticks {
                canvas.text((left - 7.0, y.at(*tick)), Hang::End, Ink::Text, text);
            }
            x_axis(canvas, &self.x, &x, box_);
            for (i, pieces) in limits.iter().enumerate() {
                canvas.dashed(pieces, 1.6, key.dash(Name::Limit(i)));
            }
            for (i, laid) in series.iter().enumerate() {
                canvas.fill(&laid.band, Ink::Band(i));
                canvas.lines(&laid.whiskers, Ink::Series(i), 1.6);
                for line in &laid.lines {
                    canvas.line(line, Ink::Series(i), 2.2);
                }
                canvas.markers(i, &laid.markers);
            }
            for spot in &labels {
                if !spot.leader.is_empty() {
                    canvas.line(&spot.leader, Ink::Faint, 0.8);
                }
                for (at, text) in spot.texts() {
                    canvas.text(at, Hang::Start, Ink::Text, text);
                }
            }
            for EndLabel { series, lines, leader, at: (x, y), .. } in &ends {
                if !leader.is_empty() {
                    canvas.line(leader, Ink::Faint, 0.8);
                }
                canvas.markers(*series, &[(*x, *y)]);
                let first = y - 0.5 * LINE * (lines.len() as f64 - 1.0);
                for (k, line) in lines.iter().enumerate() {
                    let at = (x + 9.0, first + LINE * k as f64);
                    canvas.text(at, Hang::Start, Ink::Text, line);
                }
            }
        });
        (svg, homeless)
    }

    /// A series where it is drawn.
    fn laid(&self, series: &Series, x: &Ruler, y: &Ruler, box_: Area) -> Laid {
        let shown = |&&(a, b): &&(f64, f64)| fits(self.x.scale, a) && fits(self.y.scale, b);
        let place = |&(a, b): &(f64, f64)| (x.at(a), y.at(b));
        let mut laid = Laid::default();
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
                laid.band = low.chain(edge.iter().rev().map(|&(a, _, h)| (a, h))).collect();
            } else {
                laid.whiskers = edge.iter().map(|&(a, l, h)| vec![(a, l), (a, h)]).collect();
            }
        }
        let line: Vec<_> = series.points.iter().filter(shown).map(place).collect();
        if series.joined {
            laid.lines = clipped(&line, box_);
        }
        let inside = series.points.iter().filter(shown).filter(|point| within(place(point), box_));
        laid.inside = inside.map(|point| (place(point), *point)).collect();
        if laid.inside.len() <= 25 || !series.joined {
            laid.markers = laid.inside.iter().map(|(at, _)| *at).collect();
        }
        laid
    }

    /// The names at the right, each at the height of its line's end, moved apart where they would overlap.
    fn ends<'a>(
        &self,
        names: &'a [(usize, Vec<String>)],
        x: &Ruler,
        y: &Ruler,
        [_, top, right, bottom]: Area,
    ) -> Vec<EndLabel<'a>> {
        let mut labels: Vec<EndLabel> = names
            .iter()
            .filter_map(|(i, lines)| {
                let &(a, b) =
                    self.series[*i].points.iter().rfind(|p| x.shows(p.0) && y.shows(p.1))?;
                let end = (x.at(a), y.at(b));
                Some(EndLabel { series: *i, lines, end, at: end, leader: Vec::new() })
            })
            .collect();
        labels.sort_by(|a, b| a.end.1.total_cmp(&b.end.1));
        let heights: Vec<f64> = labels.iter().map(|l| l.lines.len() as f64 * LINE + 3.0).collect();
        let mut places: Vec<f64> = labels.iter().map(|l| l.end.1).collect();
        spread_apart(&mut places, &heights, top - 8.0, bottom + 4.0);
        for (label, middle) in labels.iter_mut().zip(places) {
            label.at = (right + 12.0, middle);
            let end = label.end;
            if (middle - end.1).abs() > 3.0 || right - end.0 > 12.0 {
                label.leader = vec![(end.0 + 6.0, end.1), (right + 5.0, middle)];
            }
        }
        labels
    }
}

/// What has a name in a figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Name {
    Series(usize),
    Limit(usize),
}

/// The names for which there is no room beside what they name, above the figure, each with its mark.
struct Key {
    /// Name, lines, left, and the row of its first line.
    entries: Vec<(Name, Vec<String>, f64, f64)>,
    rows: f64,
}

impl Key {
    const MARK: f64 = 20.0;

    fn new(plot: &LinePlot, names: &[Name], width: f64) -> Self {
        let mut entries = Vec::new();
        let (mut left, mut row) = (0.0, 0.0);
        for &name in names {
            let text = match name {
                Name::Series(i) => &plot.series[i].name,
                Name::Limit(i) => &plot.limits[i].name,
            };
            let lines = wrapped(text, width - Self::MARK);
            let wide = Self::MARK + widest(&lines);
            if left > 0.0 && left + wide > width {
                (left, row) = (0.0, row + 1.0);
            }
            let more = lines.len() as f64 - 1.0;
            entries.push((name, lines, left, row));
            (left, row) = (left + wide + 14.0, row + more);
        }
        let rows = if entries.is_empty() { 0.0 } else { row + 1.0 };
        Self { entries, rows }
    }

    /// The dashes of a limit: those that the key names are told apart by them.
    fn dash(&self, name: Name) -> &'static str {
        let limits = self.entries.iter().filter(|(name, ..)| matches!(name, Name::Limit(_)));
        let at = limits.clone().position(|(other, ..)| *other == name).unwrap_or(0);
        ["7 5", "2 4", "12 4 2 4"][at % 3]
    }

    fn draw(&self, canvas: &Canvas, top: f64) {
        for (name, lines, left, row) in &self.entries {
            let middle = |k: usize| top + (row + k as f64 + 0.5) * LINE;
            match *name {
                Name::Series(i) => canvas.markers(i, &[(left + 7.0, middle(0))]),
                limit @ Name::Limit(_) => {
                    let line = vec![(*left, middle(0)), (left + 15.0, middle(0))];
                    canvas.dashed(&[line], 1.6, self.dash(limit));
                }
            }
            for (k, line) in lines.iter().enumerate() {
                canvas.text((left + Self::MARK, middle(k)), Hang::Start, Ink::Text, line);
            }
        }
    }
}

/// A series where it is drawn.
#[derive(Default)]
struct Laid {
    band: Vec<(f64, f64)>,
    whiskers: Vec<Vec<(f64, f64)>>,
    lines: Vec<Vec<(f64, f64)>>,
    markers: Vec<(f64, f64)>,
    /// The points in the box: position and value.
    inside: Vec<((f64, f64), (f64, f64))>,
}

impl Laid {
    /// Its points for those who ask for their values: at most some fifty.
    fn told(&self, name: &str) -> Json {
        let every = self.inside.len().div_ceil(50).max(1);
        let points = self.inside.iter().step_by(every).map(|&((x, y), (a, b))| {
            json!([tenths(x), tenths(y), Unit::Number.format(b), plain(a)])
        });
        Json::Array(std::iter::once(json!(name)).chain(points).collect())
    }
}

/// The name of a line, and where the line ends.
struct EndLabel<'a> {
    series: usize,
    lines: &'a [String],
    end: (f64, f64),
    /// Where its marker is.
    at: (f64, f64),
    leader: Vec<(f64, f64)>,
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

#[cfg(test)]
mod tests;
