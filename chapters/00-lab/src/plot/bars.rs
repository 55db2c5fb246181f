//! Horizontal bars.

use super::{
    canvas::{Area, HPos, Ink, LINE, Sheet, drawn, text_width, wrapped},
    frame::{at, scaled, tenths, x_axis},
    scale::{Axis, Ruler, Scale, fits},
    spots::widest,
};
use crate::{Drawing, Error, Result, Unit, record::Value};
use serde_json::{Value as Json, json};

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
    /// A bar as long as the value, each number put through `scale`; an empty one that says why there is none.
    ///
    /// # Errors
    /// [`Error::NotMeasured`] and others of [`Records::find`](crate::Records::find): what the
    /// experiment did not even look for has no bar.
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
}

/// A bar without a spread.
pub fn bar(name: impl Into<String>, value: f64, text: impl Into<String>) -> Bar {
    Bar { name: name.into(), value: Some((value, value, value)), text: text.into() }
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
        let bars = self.bars.iter().map(|bar| format!("{}: {}", bar.name, bar.text));
        let limits = self
            .limits
            .iter()
            .map(|(name, at)| format!("; dashed, {name}: {}", Unit::Number.format(*at)));
        let alt = format!(
            "Bars{scale}, {}. {}{}.",
            self.axis.label,
            bars.collect::<Vec<_>>().join("; "),
            limits.collect::<String>()
        );
        let other = self.axis.toggled.then(|| {
            let other = Self { axis: self.axis.other(), ..self.clone() };
            Sheet::BOTH.map(|sheet| other.svg_on(sheet))
        });
        let [svg, narrow] = Sheet::BOTH.map(|sheet| self.svg_on(sheet));
        Drawing { svg, narrow, caption: caption.into(), alt, other }
    }

    /// The figure for this width, as SVG without blank lines. Bars start at the axis' base; without one at zero, and on a
    /// logarithmic axis at its lower end.
    pub fn svg_on(&self, sheet: Sheet) -> String {
        let frame = Frame::new(self, sheet);
        let Frame { axis, x, signs, area, .. } = &frame;
        let [_, top, _, bottom] = *area;
        let Marks { told, mut texts, shapes } = frame.marks();
        for Sign { text: (at, middle), hang, name, .. } in signs {
            texts.push(Text::new(*at, *middle, *hang, Ink::Text, name));
        }
        let below = wrapped(&axis.words(), sheet.width()).len() as f64;
        drawn(sheet, bottom + (1.9 + below) * LINE, &at(told), |canvas| {
            x_axis(canvas, axis, x, *area);
            for Shape { sides, spread, middle } in shapes {
                canvas.rectangle(sides, Ink::Series(0));
                if let Some((low, high)) = spread {
                    let caps = [low, high].map(|at| vec![(at, middle - 4.0), (at, middle + 4.0)]);
                    let [one, two] = caps;
                    canvas.lines(&[vec![(low, middle), (high, middle)], one, two], Ink::Text, 1.6);
                }
            }
            // A line runs behind no text.
            let areas: Vec<Area> = texts.iter().map(Text::area).collect();
            for sign in signs {
                canvas.dashed(&gapped(sign.at, sign.top, bottom, &areas), 1.6, "7 5");
            }
            canvas.lines(&gapped(frame.base, top, bottom, &areas), Ink::Faint, 1.2);
            for Text { at, hang, ink, words } in texts {
                canvas.text(at, hang, ink, words);
            }
        })
    }

    /// A bar's length and spread, if the axis has a place for it.
    fn value(&self, bar: &Bar) -> Option<(f64, f64, f64)> {
        bar.value.filter(|value| fits(self.axis.scale, value.0))
    }

    /// The axis with a range: from zero, from the base, or from a round power of ten below the shortest bar.
    fn bar_axis(&self, numbers: &[f64]) -> Axis {
        if self.axis.range.is_some() {
            return self.axis.clone();
        }
        let base = self.axis.base.filter(|base| fits(self.axis.scale, *base));
        let high = numbers.iter().copied().chain(base).fold(f64::NEG_INFINITY, f64::max);
        let low = numbers.iter().copied().chain(base).fold(f64::INFINITY, f64::min);
        let range = match self.axis.scale {
            Scale::Log if low.is_finite() => {
                let from = match base {
                    Some(base) if low < base => low / (high / low).powf(0.03),
                    Some(base) => base,
                    None => {
                        let from = 10_f64.powf(low.log10().floor());
                        // The shortest bar must also be visible.
                        if low / from < 1.5 { from / 2.0 } else { from }
                    }
                };
                (from, high * (high / from).powf(0.02))
            }
            Scale::Log => (0.1, 1.0),
            Scale::Linear if base.is_some() && high > low => (low, high),
            Scale::Linear if high > 0.0 => (low.min(0.0), high),
            Scale::Linear => (0.0, 1.0),
        };
        Axis {
            range: Some(range),
            base: base.or((range.0 < 0.0).then_some(0.0)),
            ..self.axis.clone()
        }
    }
}

/// How thick a bar is.
const THICK: f64 = 14.0;
/// Between two bars.
const GAP: f64 = 10.0;

/// Where everything of bars is, before it is drawn.
struct Frame<'p> {
    plot: &'p BarPlot,
    axis: Axis,
    x: Ruler,
    names: Vec<Vec<String>>,
    /// Whether names are above their bars and not at their left.
    above: bool,
    /// Where bars begin.
    base: f64,
    /// Why a bar is missing, which may take several lines.
    reasons: Vec<Vec<String>>,
    signs: Vec<Sign>,
    area: Area,
}

impl<'p> Frame<'p> {
    fn new(plot: &'p BarPlot, sheet: Sheet) -> Self {
        let width = sheet.width();
        let scale = plot.axis.scale;
        // Long names are above their bars: next to them they would leave no room.
        let (most, lines) = if sheet.narrow() { (84.0, 1) } else { (200.0, 2) };
        let names = |most: f64| plot.bars.iter().map(move |bar| wrapped(&bar.name, most));
        let longest = names(most).map(|lines| widest(&lines)).fold(0.0, f64::max);
        let above = longest > most || names(most).any(|name| name.len() > lines);
        let names = names(if above { width } else { most }).collect();
        let left = if above { 1.0 } else { longest + 9.0 };
        let limits: Vec<&(String, f64)> =
            plot.limits.iter().filter(|(_, at)| fits(scale, *at)).collect();

        let values = plot.bars.iter().filter_map(|bar| plot.value(bar));
        let measured = values.flat_map(|(middle, low, high)| [middle, low, high]);
        let numbers = measured.chain(limits.iter().map(|l| l.1)).filter(|v| fits(scale, *v));
        let axis = plot.bar_axis(&numbers.collect::<Vec<_>>());
        // As long as the text behind each bar allows.
        let unit = Ruler::new(&axis, std::iter::empty(), 0.0, 1.0);
        let base = axis.base.map_or(0.0, |base| unit.clamped(base));
        let ends = plot.bars.iter().filter_map(|bar| {
            let (middle, _, high) = plot.value(bar)?;
            let end = unit.clamped(middle).max(unit.clamped(high)).max(base).max(0.01);
            Some(left + (width - 9.0 - text_width(&bar.text) - left) / end)
        });
        let right = ends.fold(width - 10.0, f64::min).max(left + 0.3 * width);
        let x = Ruler::new(&axis, std::iter::empty(), left, right);
        let base = left + base * (right - left);
        let reason = |bar| match plot.value(bar) {
            Some(_) => Vec::new(),
            None => wrapped(&bar.text, width - left - 8.0),
        };
        let reasons = plot.bars.iter().map(reason).collect();
        let signs = signs(&limits, &x, width);
        let top = signs.len() as f64 * LINE + 6.0;
        let area = [left, top, right, top];
        let mut frame = Self { plot, axis, x, names, above, base, reasons, signs, area };
        frame.area[3] = top + (0..plot.bars.len()).map(|i| frame.height(i)).sum::<f64>() + 4.0;
        frame
    }

    fn name_height(&self, i: usize) -> f64 {
        self.names[i].len() as f64 * LINE
    }

    /// The height of a bar, or of what is said in its place.
    fn body(&self, i: usize) -> f64 {
        (self.reasons[i].len() as f64 * LINE).max(THICK)
    }

    fn height(&self, i: usize) -> f64 {
        let (name, body) = (self.name_height(i), self.body(i));
        GAP + if self.above { name + body } else { name.max(body) }
    }

    /// The middles of a name's first line and of a bar, where both begin at `y`.
    fn middles(&self, i: usize, y: f64) -> (f64, f64) {
        let name = self.name_height(i);
        if self.above {
            return (y + 0.5 * LINE, y + name + 0.5 * THICK);
        }
        let half = 0.5 * name.max(self.body(i));
        let reasons = (self.reasons[i].len() as f64 - 1.0).max(0.0) * LINE;
        (y + half - 0.5 * (name - LINE), y + half - 0.5 * reasons)
    }

    /// The bars with what is written at them.
    fn marks(&self) -> Marks<'_> {
        let [left, top, ..] = self.area;
        let mut marks = Marks::default();
        let mut y = top + 0.5 * GAP + 2.0;
        for (i, bar) in self.plot.bars.iter().enumerate() {
            let (first, middle) = self.middles(i, y);
            let (at, hang) = if self.above { (0.0, HPos::Left) } else { (left - 8.0, HPos::Right) };
            for (k, line) in self.names[i].iter().enumerate() {
                let middle = first + LINE * k as f64;
                marks.texts.push(Text::new(at, middle, hang, Ink::Text, line));
            }
            if let Some(value) = self.plot.value(bar) {
                self.mark(&mut marks, bar, value, middle);
            }
            for (k, line) in self.reasons[i].iter().enumerate() {
                let middle = middle + LINE * k as f64;
                marks.texts.push(Text::new(left + 6.0, middle, HPos::Left, Ink::Faint, line));
            }
            y += self.height(i);
        }
        marks
    }

    /// One bar, with its spread, its text and what it tells.
    fn mark<'a>(
        &self,
        marks: &mut Marks<'a>,
        bar: &'a Bar,
        (length, low, high): (f64, f64, f64),
        middle: f64,
    ) {
        let end = self.x.clamped(length);
        let (from, to) = (end.min(self.base), end.max(self.base).max(end.min(self.base) + 1.0));
        let (low_at, high_at) = (self.x.clamped(low), self.x.clamped(high));
        // A spread narrower than the whisker's own line would look like an error.
        let spread = (high_at - low_at > 2.0).then_some((low_at, high_at));
        let clear = to.max(spread.map_or(to, |spread| spread.1)) + 7.0;
        let sides = [from, middle - 0.5 * THICK, to, middle + 0.5 * THICK];
        marks.shapes.push(Shape { sides, spread, middle });
        marks.texts.push(Text::new(clear, middle, HPos::Left, Ink::Text, &bar.text));
        let number = |value: f64| Unit::Number.format(value);
        let quartiles = if low < high {
            format!("quartiles {} to {}", number(low), number(high))
        } else {
            String::new()
        };
        let told = json!([bar.name, [tenths(end), tenths(middle), bar.text, quartiles]]);
        marks.told.push(told);
    }
}

/// What is drawn of the bars.
#[derive(Default)]
struct Marks<'a> {
    told: Vec<Json>,
    texts: Vec<Text<'a>>,
    shapes: Vec<Shape>,
}

/// A bar.
struct Shape {
    sides: Area,
    spread: Option<(f64, f64)>,
    middle: f64,
}

/// A line of text.
struct Text<'a> {
    at: (f64, f64),
    hang: HPos,
    ink: Ink,
    words: &'a str,
}

impl<'a> Text<'a> {
    fn new(at: f64, middle: f64, hang: HPos, ink: Ink, words: &'a str) -> Self {
        Self { at: (at, middle), hang, ink, words }
    }

    /// What it covers.
    fn area(&self) -> Area {
        let (wide, (at, middle)) = (text_width(self.words), self.at);
        let left = match self.hang {
            HPos::Left => at,
            HPos::Center => at - 0.5 * wide,
            HPos::Right => at - wide,
        };
        [left, middle - 0.5 * LINE, left + wide, middle + 0.5 * LINE]
    }
}

/// The pieces of an upright line that lie on none of the areas.
fn gapped(at: f64, top: f64, bottom: f64, areas: &[Area]) -> Vec<Vec<(f64, f64)>> {
    let mut crossed: Vec<(f64, f64)> = areas
        .iter()
        .filter(|area| area[0] - 4.0 < at && at < area[2] + 4.0)
        .map(|area| (area[1] + 1.0, area[3] - 1.0))
        .collect();
    crossed.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut pieces = Vec::new();
    let mut from = top;
    for (start, end) in crossed.into_iter().chain([(bottom, bottom)]) {
        if start - from > 3.0 {
            pieces.push(vec![(at, from), (at, start.min(bottom))]);
        }
        from = from.max(end);
    }
    pieces
}

/// The name of a limit above the bars.
struct Sign {
    name: String,
    /// Where its line is, and where that begins.
    at: f64,
    top: f64,
    text: (f64, f64),
    hang: HPos,
}

/// The names of the limits: a row for each, next to its line on the side that no other line comes down.
fn signs(limits: &[&(String, f64)], x: &Ruler, width: f64) -> Vec<Sign> {
    let mut rows: Vec<(f64, &str)> =
        limits.iter().map(|limit| (x.clamped(limit.1), limit.0.as_str())).collect();
    rows.sort_by(|a, b| a.0.total_cmp(&b.0));
    let lefts = rows.iter().all(|(at, name)| text_width(name) + 5.0 <= *at);
    let rights = rows.iter().all(|(at, name)| at + 5.0 + text_width(name) <= width);
    if lefts && !rights {
        rows.reverse();
    }
    let signs = rows.into_iter().enumerate().map(|(row, (at, name))| {
        let middle = (row as f64 + 0.5) * LINE;
        let wide = text_width(name);
        let (text, hang, top) = if rights {
            ((at + 5.0, middle), HPos::Left, middle - 0.4 * LINE)
        } else if lefts {
            ((at - 5.0, middle), HPos::Right, middle - 0.4 * LINE)
        } else {
            // It stands over its line.
            let start = (at - 0.5 * wide).min(width - wide).max(0.0);
            ((start, middle), HPos::Left, middle + 0.5 * LINE)
        };
        Sign { name: name.to_owned(), at, top, text, hang }
    });
    signs.collect()
}
