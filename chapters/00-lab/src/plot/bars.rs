//! Horizontal bars.

use super::{
    canvas::{Area, Hang, Ink, LINE, Sheet, drawn, text_width, wrapped},
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
        let other = self.axis.toggled.then(|| {
            let other = Self { axis: self.axis.other(), ..self.clone() };
            [Sheet::Wide, Sheet::Narrow].map(|sheet| other.svg_on(sheet))
        });
        let narrow = self.svg_on(Sheet::Narrow);
        Drawing { svg: self.svg(), narrow, caption: caption.into(), alt, other }
    }

    /// The figure, as SVG without blank lines. Bars start at the axis' base; without one at zero, and on a logarithmic
    /// axis at its lower end.
    pub fn svg(&self) -> String {
        self.svg_on(Sheet::Wide)
    }

    /// The figure for this width.
    pub fn svg_on(&self, sheet: Sheet) -> String {
        const THICK: f64 = 14.0;
        const GAP: f64 = 10.0;
        let width = sheet.width();
        let scale = self.axis.scale;
        let value = |bar: &Bar| bar.value.filter(|v| fits(scale, v.0));
        // Long names are above their bars: next to them they would leave no room.
        let most = if sheet.narrow() { 84.0 } else { 200.0 };
        let names: Vec<Vec<String>> = self.bars.iter().map(|b| wrapped(&b.name, most)).collect();
        let longest = names.iter().map(|lines| widest(lines)).fold(0.0, f64::max);
        let above =
            longest > most || names.iter().any(|n| n.len() > if sheet.narrow() { 1 } else { 2 });
        let names =
            if above { self.bars.iter().map(|b| wrapped(&b.name, width)).collect() } else { names };
        let left = if above { 1.0 } else { longest + 9.0 };
        let limits: Vec<&(String, f64)> =
            self.limits.iter().filter(|(_, at)| fits(scale, *at)).collect();

        let measured = self.bars.iter().filter_map(value).flat_map(|(m, l, h)| [m, l, h]);
        let numbers = measured.chain(limits.iter().map(|l| l.1)).filter(|v| fits(scale, *v));
        let axis = self.bar_axis(&numbers.collect::<Vec<_>>());
        // As long as the text behind each bar allows.
        let unit = Ruler::new(&axis, std::iter::empty(), 0.0, 1.0);
        let base = axis.base.map_or(0.0, |base| unit.clamped(base));
        let right = self
            .bars
            .iter()
            .filter_map(|bar| {
                let (middle, _, high) = value(bar)?;
                let end = unit.clamped(middle).max(unit.clamped(high)).max(base).max(0.01);
                Some(left + (width - 9.0 - text_width(&bar.text) - left) / end)
            })
            .fold(width - 10.0, f64::min)
            .max(left + 0.3 * width);
        let x = Ruler::new(&axis, std::iter::empty(), left, right);
        let base = left + base * (right - left);

        // Why a bar is missing may take several lines.
        let reasons: Vec<Vec<String>> = self
            .bars
            .iter()
            .map(|bar| match value(bar) {
                Some(_) => Vec::new(),
                None => wrapped(&bar.text, width - left - 8.0),
            })
            .collect();
        let body = |i: usize| (reasons[i].len() as f64 * LINE).max(THICK);
        let height_of = |i: usize| {
            let name = names[i].len() as f64 * LINE;
            GAP + if above { name + body(i) } else { name.max(body(i)) }
        };
        let signs = Signs::new(&limits, &x, width);
        let top = signs.rows() * LINE + 6.0;
        let bottom = top + (0..self.bars.len()).map(height_of).sum::<f64>() + 4.0;

        let mut told: Vec<Json> = Vec::new();
        let mut texts: Vec<(Area, Hang, Ink, &str)> = Vec::new();
        let mut shapes = Vec::new();
        let mut y = top + 0.5 * GAP + 2.0;
        for (i, bar) in self.bars.iter().enumerate() {
            let name = names[i].len() as f64 * LINE;
            let (first, middle) = if above {
                (y + 0.5 * LINE, y + name + 0.5 * THICK)
            } else {
                let half = 0.5 * name.max(body(i));
                let reasons = (reasons[i].len() as f64 - 1.0).max(0.0) * LINE;
                (y + half - 0.5 * (name - LINE), y + half - 0.5 * reasons)
            };
            for (k, line) in names[i].iter().enumerate() {
                let (at, hang) = if above { (0.0, Hang::Start) } else { (left - 8.0, Hang::End) };
                texts.push((
                    text_area(at, first + LINE * k as f64, hang, line),
                    hang,
                    Ink::Text,
                    line,
                ));
            }
            if let Some((length, low, high)) = value(bar) {
                let end = x.clamped(length);
                let (from, to) = (end.min(base), end.max(base).max(end.min(base) + 1.0));
                let (low_at, high_at) = (x.clamped(low), x.clamped(high));
                // A spread narrower than the whisker's own line would look like an error.
                let spread = (high_at - low_at > 2.0).then_some((low_at, high_at));
                let clear = to.max(spread.map_or(to, |spread| spread.1)) + 7.0;
                shapes.push((
                    [from, middle - 0.5 * THICK, to, middle + 0.5 * THICK],
                    spread,
                    middle,
                ));
                texts.push((
                    text_area(clear, middle, Hang::Start, &bar.text),
                    Hang::Start,
                    Ink::Text,
                    &bar.text,
                ));
                let number = |value: f64| Unit::Number.format(value);
                let quartiles = if low < high {
                    format!("quartiles {} to {}", number(low), number(high))
                } else {
                    String::new()
                };
                told.push(json!([bar.name, [tenths(end), tenths(middle), bar.text, quartiles]]));
            }
            for (k, line) in reasons[i].iter().enumerate() {
                let area = text_area(left + 6.0, middle + LINE * k as f64, Hang::Start, line);
                texts.push((area, Hang::Start, Ink::Faint, line));
            }
            y += height_of(i);
        }

        let below = wrapped(&axis.words(), width).len() as f64;
        drawn(sheet, bottom + (1.9 + below) * LINE, &at(told), |canvas| {
            x_axis(canvas, &axis, &x, [left, top, right, bottom]);
            for sign in &signs.0 {
                let area = text_area(sign.text.0, sign.text.1, sign.hang, &sign.name);
                texts.push((area, sign.hang, Ink::Text, &sign.name));
            }
            for (sides, spread, middle) in shapes {
                canvas.rectangle(sides, Ink::Series(0));
                if let Some((low, high)) = spread {
                    let caps = [low, high].map(|at| vec![(at, middle - 4.0), (at, middle + 4.0)]);
                    let [one, two] = caps;
                    canvas.lines(&[vec![(low, middle), (high, middle)], one, two], Ink::Text, 1.6);
                }
            }
            // A line runs behind no text.
            let areas: Vec<Area> = texts.iter().map(|text| text.0).collect();
            for sign in &signs.0 {
                canvas.dashed(&gapped(sign.at, sign.top, bottom, &areas), 1.6, "7 5");
            }
            canvas.lines(&gapped(base, top, bottom, &areas), Ink::Faint, 1.2);
            for (area, hang, ink, text) in &texts {
                let start = match hang {
                    Hang::Start => area[0],
                    Hang::Middle => 0.5 * (area[0] + area[2]),
                    Hang::End => area[2],
                };
                canvas.text((start, 0.5 * (area[1] + area[3])), *hang, *ink, text);
            }
        })
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

fn text_area(at: f64, middle: f64, hang: Hang, text: &str) -> Area {
    let wide = text_width(text);
    let left = match hang {
        Hang::Start => at,
        Hang::Middle => at - 0.5 * wide,
        Hang::End => at - wide,
    };
    [left, middle - 0.5 * LINE, left + wide, middle + 0.5 * LINE]
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
    hang: Hang,
}

/// The names of the limits: a row for each, next to its line on the side that no other line comes down.
struct Signs(Vec<Sign>);

impl Signs {
    fn new(limits: &[&(String, f64)], x: &Ruler, width: f64) -> Self {
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
                ((at + 5.0, middle), Hang::Start, middle - 0.4 * LINE)
            } else if lefts {
                ((at - 5.0, middle), Hang::End, middle - 0.4 * LINE)
            } else {
                // It stands over its line.
                let start = (at - 0.5 * wide).min(width - wide).max(0.0);
                ((start, middle), Hang::Start, middle + 0.5 * LINE)
            };
            Sign { name: name.to_owned(), at, top, text, hang }
        });
        Self(signs.collect())
    }

    fn rows(&self) -> f64 {
        self.0.len() as f64
    }
}
