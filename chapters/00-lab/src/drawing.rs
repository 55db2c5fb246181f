//! Figures as data: which quantities are bars or lines, and on which axes. The drawing, its limits and its text for those
//! who don't see it follow from the records.
//!
//! ```
//! # use lab::{Key, Unit, drawing::Bars, plot::{Axis, Scale}};
//! # const RATE: Key = Key::measured("demo.rate", Unit::FlopsPerSecond, &["who"]);
//! # fn draw(records: &lab::Records) -> lab::Result<lab::Drawing> {
//! Bars {
//!     axis: Axis::new("rate (GFLOP/s)", Scale::Log),
//!     scale: |rate| rate / 1e9,
//!     bars: ["ours", "theirs"].map(|who| (who.to_owned(), RATE.at(&[("who", &who)]))).into(),
//!     ..Bars::default()
//! }
//! .draw(records, format!("Ours reaches {}.", records.text(RATE.at(&[("who", &"ours")]))?))
//! # }
//! ```

use crate::{
    Drawing, Error, Records, Result,
    key::{Kind, Quantity},
    plot::{Axis, Bar, BarPlot, LimitLine, LinePlot, Scale, Series, few},
    record::Value,
    units::apart,
};

/// What a figure's values are compared with.
#[derive(Clone, Debug, Default)]
pub enum Limits {
    /// Nothing.
    #[default]
    None,
    /// The limits that the records name next to the values, each once.
    OfValues,
    /// These, by name, in the values' unit.
    These(Vec<(String, f64)>),
    /// What would be as much as there is on the other axis of lines, up to a most.
    Diagonal(String, Option<f64>),
}

impl Limits {
    fn of<'r>(&self, values: impl Iterator<Item = &'r Value>) -> Vec<(String, f64)> {
        match self {
            Self::None | Self::Diagonal(..) => Vec::new(),
            Self::These(limits) => limits.clone(),
            Self::OfValues => {
                let mut found: Vec<(String, f64)> = Vec::new();
                for limit in values.filter_map(|value| value.limit.as_ref()) {
                    if found.iter().all(|(name, _)| *name != limit.name) {
                        found.push((limit.name.clone(), limit.value));
                    }
                }
                found
            }
        }
    }
}

/// Bars, from top to bottom. One that was left out says why; one that its experiment does not have here is not drawn.
#[derive(Clone, Debug)]
pub struct Bars {
    /// The axis of the lengths.
    pub axis: Axis,
    /// From a value in its unit to the number on the axis.
    pub scale: fn(f64) -> f64,
    /// Label and quantity.
    pub bars: Vec<(String, Quantity)>,
    /// Dashed lines.
    pub limits: Limits,
}

impl Default for Bars {
    fn default() -> Self {
        let axis = Axis::new("", Scale::Linear);
        Self { axis, scale: |value| value, bars: Vec::new(), limits: Limits::None }
    }
}

impl Bars {
    /// The figure with this caption.
    ///
    /// # Errors
    /// If there is no bar: that of the first one, as [`Records::find`].
    pub fn draw(&self, records: &Records, caption: impl Into<String>) -> Result<Drawing> {
        self.draw_as(records, caption, false)
    }

    /// The same; with `differences` they are written as [`apart`] has it, and one of nothing has no length.
    pub(crate) fn draw_as(
        &self,
        records: &Records,
        caption: impl Into<String>,
        differences: bool,
    ) -> Result<Drawing> {
        let scale = self.scale;
        let mut bars = Vec::new();
        let mut values: Vec<&Value> = Vec::new();
        for (name, quantity) in &self.bars {
            let found = records.get(quantity);
            values.extend(found.as_ref().ok().copied());
            match found {
                Err(Error::Key(_)) => {}
                Ok(value) if differences => {
                    let bar = Bar::scaled(name, Ok(value), scale)?;
                    let length = bar.value.filter(|length| length.0 > 0.0);
                    bars.push(Bar { value: length, text: apart(value.median), ..bar });
                }
                found => bars.push(Bar::scaled(name, found, scale)?),
            }
        }
        if let ([], Some((_, first))) = (&values[..], self.bars.first()) {
            records.get(first)?;
        }
        let limits = self.limits.of(values.into_iter());
        let limits = limits.into_iter().map(|(name, value)| (name, scale(value))).collect();
        let drawing = BarPlot { axis: self.axis.clone(), bars, limits }.drawing(caption);
        Ok(said(drawing, self.bars.iter().map(|(_, quantity)| quantity)))
    }
}

/// Lines through values over one parameter that is a number.
#[derive(Clone, Debug)]
pub struct Lines {
    /// The parameter.
    pub over: &'static str,
    /// Its axis. Without ticks of its own it has them at the points, or at some of many.
    pub x: Axis,
    /// The axis of the values.
    pub y: Axis,
    /// From a value in its unit to the number on the axis.
    pub scale: fn(f64) -> f64,
    /// Label and quantity: all values of it. Several of one label, one after the other, are one line; the first of two values
    /// at the same place counts. One that was not measured has no line.
    pub lines: Vec<(String, Quantity)>,
    /// Dashed lines across.
    pub limits: Limits,
}

impl Default for Lines {
    fn default() -> Self {
        let axis = || Axis::new("", Scale::Linear);
        let (x, y) = (axis(), axis());
        Self { over: "", x, y, scale: |value| value, lines: Vec::new(), limits: Limits::None }
    }
}

impl Lines {
    /// The plot, for one that needs more than this declares.
    ///
    /// # Errors
    /// If there is no line: that of the first one, as [`Records::find`].
    pub fn plot(&self, records: &Records) -> Result<LinePlot> {
        let scale = self.scale;
        let mut series = Vec::new();
        let mut values: Vec<&Value> = Vec::new();
        let mut places: Vec<f64> = Vec::new();
        for parts in self.lines.chunk_by(|a, b| a.0 == b.0) {
            let mut points: Vec<(f64, &Value)> = Vec::new();
            for (_, quantity) in parts {
                match records.over(self.over, quantity) {
                    Err(Error::Key(_) | Error::Skipped { .. }) => {}
                    found => points.extend(found?),
                }
            }
            if points.is_empty() {
                continue;
            }
            if parts.len() > 1 {
                points.sort_by(|a, b| a.0.total_cmp(&b.0));
                points.dedup_by_key(|point| point.0);
            }
            places.extend(points.iter().map(|(x, _)| *x));
            values.extend(points.iter().map(|(_, value)| *value));
            series.push(Series::of(&parts[0].0, &points, scale));
        }
        if let ([], Some((_, first))) = (&series[..], self.lines.first()) {
            records.every(first)?;
        }
        places.sort_by(f64::total_cmp);
        places.dedup();
        let (first, last) = (places.first().copied(), places.last().copied());
        let across =
            |value| first.zip(last).map(|(a, b)| vec![(a, scale(value)), (b, scale(value))]);
        let limits = self.limits.of(values.into_iter());
        let mut limits: Vec<LimitLine> = limits
            .into_iter()
            .filter_map(|(name, value)| Some(LimitLine { name, points: across(value)? }))
            .collect();
        if let Limits::Diagonal(name, most) = &self.limits {
            let most = most.unwrap_or(f64::INFINITY);
            // It bends at the most.
            let bend = Some(most).filter(|most| first < Some(*most) && Some(*most) < last);
            let along = [first, bend, last].into_iter().flatten();
            let points = along.map(|x| (x, x.min(most))).collect();
            limits.push(LimitLine { name: name.clone(), points });
        }
        let mut x = self.x.clone();
        x.ticks = x.ticks.or_else(|| Some(few(&places)));
        Ok(LinePlot { x, y: self.y.clone(), series, limits })
    }

    /// The figure with this caption.
    ///
    /// # Errors
    /// As [`Lines::plot`].
    pub fn draw(&self, records: &Records, caption: impl Into<String>) -> Result<Drawing> {
        let drawing = self.plot(records)?.drawing(caption);
        Ok(said(drawing, self.lines.iter().map(|(_, quantity)| quantity)))
    }
}

/// The same, whose words say how its numbers come about, if not by measuring.
fn said<'q>(drawing: Drawing, quantities: impl Iterator<Item = &'q Quantity>) -> Drawing {
    let mut kinds: Vec<Kind> = Vec::new();
    for kind in quantities.map(|quantity| quantity.key().kind) {
        if kind != Kind::Measured && !kinds.contains(&kind) {
            kinds.push(kind);
        }
    }
    let kinds: Vec<String> = kinds.iter().map(Kind::to_string).collect();
    if kinds.is_empty() {
        return drawing;
    }
    Drawing { alt: format!("{} Numbers: {}.", drawing.alt, kinds.join(", ")), ..drawing }
}
