//! Records as pictures: SVG that takes the page's colours, with units, limits and spread.

/// How an axis is divided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// Equal steps are equal differences.
    Linear,
    /// Equal steps are equal ratios.
    Log,
}

/// One axis: its label, its unit and its scale.
#[derive(Clone, Debug)]
pub struct Axis {
    /// What it shows, with the unit: `rate (GFLOP/s)`.
    pub label: String,
    /// How it is divided.
    pub scale: Scale,
    /// The range, if the data should not choose it.
    pub range: Option<(f64, f64)>,
    /// Where the ticks are, if not chosen by the scale (sizes such as 512, 1024, 2048).
    pub ticks: Option<Vec<f64>>,
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

/// A limit that the data is held against: a dashed line with its name.
#[derive(Clone, Debug)]
pub struct LimitLine {
    /// The label.
    pub name: String,
    /// The points of the line; two for a straight one, three for a roofline.
    pub points: Vec<(f64, f64)>,
}

/// Lines over two axes.
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
    /// The picture, as SVG without blank lines.
    pub fn svg(&self) -> String {
        todo!()
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
    /// The picture, as SVG without blank lines.
    pub fn svg(&self) -> String {
        todo!()
    }
}
