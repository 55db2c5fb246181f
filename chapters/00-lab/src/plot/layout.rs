//! Where everything of a [`LinePlot`] is: axes, lines, and names that keep off the lines and off each other.

use super::{
    Axis, LinePlot, Series, Sheet,
    canvas::{Area, Canvas, HPos, Ink, LINE, drawn, escaped, text_width, wrapped},
    frame::{at, tenths, x_axis},
    scale::{Ruler, fits},
    spots::{self, Busy, Spot, around, beside, far_spot, quiet_spot, spread_apart, widest, within},
};
use crate::{Unit, units::plain};
use serde_json::{Value as Json, json};

/// A figure whose key has certain names.
struct Layout<'p> {
    plot: &'p LinePlot,
    /// The words above the vertical axis.
    title: Vec<String>,
    key: Key,
    x: Ruler,
    y: Ruler,
    y_ticks: Vec<(f64, String)>,
    /// Between the axes.
    area: Area,
    limits: Vec<Vec<Vec<(f64, f64)>>>,
    series: Vec<Laid>,
    /// Names in the margin.
    ends: Vec<EndLabel>,
    /// Names beside what they name.
    labels: Vec<Spot>,
    /// Those that found no room.
    homeless: Vec<Name>,
}

impl<'p> Layout<'p> {
    /// The figure for this width, with these names in its key.
    fn new(plot: &'p LinePlot, sheet: Sheet, keyed: &[Name]) -> Self {
        let width = sheet.width();
        let tall = if sheet.narrow() { 220.0 } else { 270.0 };
        // A joined series is named in the margin, at its end; single points are named where they are.
        let ends = plot.in_margin(sheet, tall);
        let key = Key::new(plot, &plot.in_key(ends.is_empty(), keyed), width);
        let title = wrapped(&plot.y.words(), width);
        let top = (title.len() as f64 + key.rows) * LINE + if key.rows > 0.0 { 16.0 } else { 12.0 };
        let bottom = top + tall;
        let bands = plot.series.iter().flat_map(|s| &s.band).flat_map(|&(low, high)| [low, high]);
        let y = Ruler::new(&plot.y, plot.shown().map(|p| p.1).chain(bands), bottom, top);
        let y_ticks = apart(&plot.y, &y);
        let left = y_ticks.iter().map(|(_, text)| text_width(text)).fold(0.0, f64::max) + 9.0;
        let names = ends.iter().map(|(_, lines)| widest(lines)).fold(0.0, f64::max);
        let right = width - if names > 0.0 { names + 24.0 } else { 10.0 };
        let x = Ruler::new(&plot.x, plot.shown().map(|p| p.0), left, right);
        let area = [left, top, right, bottom];
        let limits = plot.limits.iter().map(|limit| {
            let shown = limit.points.iter().filter(|point| plot.shows(point));
            let line: Vec<_> = shown.map(|&(a, b)| (x.at(a), y.at(b))).collect();
            clipped(&line, area)
        });
        let limits = limits.collect();
        let series = plot.series.iter().map(|s| plot.laid(s, &x, &y, area)).collect();
        let ends = plot.ends(ends, &x, &y, area);
        let (labels, homeless) = Default::default();
        let mut layout =
            Self { plot, title, key, x, y, y_ticks, area, limits, series, ends, labels, homeless };
        layout.name(keyed, width);
        layout
    }

    /// What labels must keep off.
    fn busy(&self) -> Busy {
        let mut busy = Busy::default();
        self.limits.iter().flatten().for_each(|piece| busy.line(piece));
        for laid in &self.series {
            laid.lines.iter().chain(&laid.whiskers).for_each(|line| busy.line(line));
            busy.marks(&laid.markers);
            busy.edge(&laid.band);
        }
        for end in &self.ends {
            busy.line(&end.leader);
            busy.label(&Spot::new(end.at.0 + 9.0, end.at.1, &end.lines, 0.0));
        }
        busy
    }

    /// Finds room for the names that stand beside what they name.
    fn name(&mut self, keyed: &[Name], width: f64) {
        let [left, top, right, bottom] = self.area;
        let most = 0.5 * (right - left);
        let mut busy = self.busy();
        let (labels, homeless) = (&mut self.labels, &mut self.homeless);
        let mut named = |name: Name, near: &[Spot], far: &[(f64, f64)], text: &str, area: Area| {
            let lines = wrapped(text, most);
            let found = quiet_spot(near, &busy, area);
            match found.or_else(|| far_spot(far, &lines, &busy, area)) {
                Some(spot) => {
                    busy.label(&spot);
                    labels.push(spot);
                }
                None => homeless.push(name),
            }
        };
        for (i, one) in self.plot.series.iter().enumerate() {
            let (name, inside) = (Name::Series(i), &self.series[i].markers);
            let elsewhere = one.joined || keyed.contains(&name);
            if elsewhere || one.name.trim().is_empty() || inside.is_empty() {
                continue;
            }
            let lines = [one.name.clone()];
            let spots: Vec<Spot> = inside.iter().rev().flat_map(|&at| around(at, &lines)).collect();
            named(name, &spots, inside, &one.name, [left + 2.0, top - 4.0, width, bottom - 2.0]);
        }
        for (i, limit) in self.plot.limits.iter().enumerate() {
            let name = Name::Limit(i);
            let along: Vec<_> =
                self.limits[i].iter().flat_map(|piece| spots::sampled(piece)).collect();
            if along.is_empty() || limit.name.trim().is_empty() || keyed.contains(&name) {
                continue;
            }
            let (whole, broken) = (vec![limit.name.clone()], wrapped(&limit.name, most));
            let places = along.iter().step_by(2);
            let spots: Vec<Spot> =
                places.flat_map(|&at| [beside(at, &whole), beside(at, &broken)].concat()).collect();
            named(name, &spots, &along, &limit.name, [left + 2.0, top - 4.0, right, bottom - 2.0]);
        }
    }

    /// The figure as SVG.
    fn draw(&self, sheet: Sheet) -> String {
        let Self { plot, area, .. } = self;
        let told =
            plot.series.iter().zip(&self.series).map(|(one, laid)| laid.told(&one.name)).collect();
        let (x, y) = (escaped(&plot.x.label), escaped(&plot.y.label));
        let attributes = format!("{} data-x=\"{x}\" data-y=\"{y}\"", at(told));
        let below = wrapped(&plot.x.words(), sheet.width()).len() as f64;
        drawn(sheet, area[3] + (1.9 + below) * LINE, &attributes, |canvas| {
            self.draw_axes(canvas);
            for (i, pieces) in self.limits.iter().enumerate() {
                canvas.dashed(pieces, 1.6, self.key.dash(Name::Limit(i)));
            }
            for (i, laid) in self.series.iter().enumerate() {
                laid.draw(canvas, i);
            }
            for spot in &self.labels {
                if !spot.leader.is_empty() {
                    canvas.line(&spot.leader, Ink::Faint, 0.8);
                }
                let [left, top, ..] = spot.area;
                canvas.lines_of_text((left, top + 0.5 * LINE), &spot.lines);
            }
            self.ends.iter().for_each(|end| end.draw(canvas));
        })
    }

    fn draw_axes(&self, canvas: &Canvas) {
        let [left, _, right, _] = self.area;
        canvas.lines_of_text((0.0, 0.5 * LINE), &self.title);
        self.key.draw(canvas, self.title.len() as f64 * LINE + 4.0);
        let across = |tick: &f64| vec![(left, self.y.at(*tick)), (right, self.y.at(*tick))];
        let grid: Vec<_> = self.y_ticks.iter().map(|(tick, _)| across(tick)).collect();
        canvas.lines(&grid, Ink::Grid, 1.0);
        for (tick, text) in &self.y_ticks {
            canvas.text((left - 7.0, self.y.at(*tick)), HPos::Right, Ink::Text, text);
        }
        x_axis(canvas, &self.plot.x, &self.x, self.area);
    }
}

/// The ticks of the vertical axis, without those whose text would touch the one before.
fn apart(axis: &Axis, ruler: &Ruler) -> Vec<(f64, String)> {
    let mut last = f64::INFINITY;
    let mut ticks = ruler.ticks(axis);
    ticks.retain(|tick| {
        let free = (ruler.at(*tick) - last).abs() >= LINE;
        last = if free { ruler.at(*tick) } else { last };
        free
    });
    ticks.into_iter().map(|tick| (tick, plain(tick))).collect()
}

impl LinePlot {
    /// The figure for this width, as SVG without blank lines. Points that have no position on an axis (not a number, or
    /// not positive on a logarithmic one) are left out.
    pub fn svg_on(&self, sheet: Sheet) -> String {
        // A name for which there is no room beside what it names goes to the key, which changes the layout.
        let mut keyed = Vec::new();
        for _ in 0..4 {
            let layout = Layout::new(self, sheet, &keyed);
            if layout.homeless.is_empty() {
                return layout.draw(sheet);
            }
            keyed.extend(layout.homeless);
        }
        Layout::new(self, sheet, &keyed).draw(sheet)
    }

    /// Whether a point has a place on both axes.
    fn shows(&self, (x, y): &(f64, f64)) -> bool {
        fits(self.x.scale, *x) && fits(self.y.scale, *y)
    }

    /// All points that have a place.
    fn shown(&self) -> impl Iterator<Item = &(f64, f64)> {
        let series = self.series.iter().flat_map(|series| &series.points);
        series
            .chain(self.limits.iter().flat_map(|limit| &limit.points))
            .filter(|point| self.shows(point))
    }

    /// What the key names: these, and the joined series if they don't stand in the margin.
    fn in_key(&self, no_margin: bool, keyed: &[Name]) -> Vec<Name> {
        let crowded = |series: &Series| series.joined && no_margin && !series.name.is_empty();
        let series = self.series.iter().enumerate().filter(|(_, series)| crowded(series));
        let mut names: Vec<Name> = series.map(|(i, _)| Name::Series(i)).collect();
        names.extend(keyed);
        names.sort();
        names.dedup();
        names
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

    /// A series where it is drawn.
    fn laid(&self, series: &Series, x: &Ruler, y: &Ruler, area: Area) -> Laid {
        let shown = |point: &&(f64, f64)| self.shows(point);
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
            laid.lines = clipped(&line, area);
        }
        let inside = series.points.iter().filter(shown).filter(|point| within(place(point), area));
        laid.inside = inside.map(|point| (place(point), *point)).collect();
        if laid.inside.len() <= 25 || !series.joined {
            laid.markers = laid.inside.iter().map(|(at, _)| *at).collect();
        }
        laid
    }

    /// The names at the right, each at the height of its line's end, moved apart where they would overlap.
    fn ends(
        &self,
        names: Vec<(usize, Vec<String>)>,
        x: &Ruler,
        y: &Ruler,
        [_, top, right, bottom]: Area,
    ) -> Vec<EndLabel> {
        let mut labels: Vec<EndLabel> = names
            .into_iter()
            .filter_map(|(series, lines)| {
                let &(a, b) =
                    self.series[series].points.iter().rfind(|p| x.shows(p.0) && y.shows(p.1))?;
                let end = (x.at(a), y.at(b));
                Some(EndLabel { series, lines, end, at: end, leader: Vec::new() })
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
            let middle = top + (row + 0.5) * LINE;
            match *name {
                Name::Series(i) => canvas.markers(i, &[(left + 7.0, middle)]),
                limit @ Name::Limit(_) => {
                    let line = vec![(*left, middle), (left + 15.0, middle)];
                    canvas.dashed(&[line], 1.6, self.dash(limit));
                }
            }
            canvas.lines_of_text((left + Self::MARK, middle), lines);
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
    fn draw(&self, canvas: &Canvas, series: usize) {
        canvas.fill(&self.band, Ink::Band(series));
        canvas.lines(&self.whiskers, Ink::Series(series), 1.6);
        for line in &self.lines {
            canvas.line(line, Ink::Series(series), 2.2);
        }
        canvas.markers(series, &self.markers);
    }

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
struct EndLabel {
    series: usize,
    lines: Vec<String>,
    end: (f64, f64),
    /// Where its marker is.
    at: (f64, f64),
    leader: Vec<(f64, f64)>,
}

impl EndLabel {
    fn draw(&self, canvas: &Canvas) {
        let Self { series, lines, leader, at: (x, y), .. } = self;
        if !leader.is_empty() {
            canvas.line(leader, Ink::Faint, 0.8);
        }
        canvas.markers(*series, &[(*x, *y)]);
        let first = y - 0.5 * LINE * (lines.len() as f64 - 1.0);
        canvas.lines_of_text((x + 9.0, first), lines);
    }
}

/// The pieces of a line that lie in the box (Liang and Barsky 1984).
pub(super) fn clipped(
    line: &[(f64, f64)],
    [left, top, right, bottom]: Area,
) -> Vec<Vec<(f64, f64)>> {
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
