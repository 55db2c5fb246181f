//! What figures have in common: the horizontal axis, and the values that they tell.

use super::{
    canvas::{Area, Canvas, HPos, Ink, LINE, escaped, text_width, wrapped},
    scale::{Axis, Ruler},
};
use crate::{record::Value, units::plain};
use serde_json::Value as Json;

/// Median, low and high, each put through `scale`.
pub fn scaled(value: &Value, scale: impl Fn(f64) -> f64) -> [f64; 3] {
    let [middle, one, two] = [value.median, value.low, value.high].map(scale);
    [middle, one.min(two), one.max(two)]
}

/// The horizontal axis below the box: grid, ticks, label. A tick's text that would run into the last one
/// is left out.
pub fn x_axis(canvas: &Canvas, axis: &Axis, x: &Ruler, [left, top, right, bottom]: Area) {
    let width = canvas.sheet.width();
    let mut free_from = f64::NEG_INFINITY;
    let mut grid = Vec::new();
    for tick in x.ticks(axis) {
        let (at, text) = (x.at(tick), plain(tick));
        let half = 0.5 * text_width(&text);
        let middle = at.clamp(half, (width - half).max(half));
        if middle - half >= free_from {
            grid.push(vec![(at, top), (at, bottom)]);
            canvas.text((middle, bottom + 1.05 * LINE), HPos::Center, Ink::Text, &text);
            free_from = middle + half + 8.0;
        }
    }
    canvas.lines(&grid, Ink::Grid, 1.0);
    canvas.line(&[(left, bottom), (right, bottom)], Ink::Faint, 1.2);
    for (k, line) in wrapped(&axis.words(), width).iter().enumerate() {
        let half = 0.5 * text_width(line);
        let middle = (0.5 * (left + right)).max(half).min((width - half).max(half));
        let at = (middle, bottom + (2.25 + k as f64) * LINE);
        canvas.text(at, HPos::Center, Ink::Text, line);
    }
}

pub fn tenths(value: f64) -> f64 {
    (10.0 * value).round() / 10.0
}

/// The attribute that tells values: for each series its name, and each point's position and value.
pub fn at(series: Vec<Json>) -> String {
    format!(" data-at=\"{}\"", escaped(&Json::Array(series).to_string()))
}
