//! A step from left to right: a bar for each thing that took time, in lanes.

use lab::plot::{escaped, text_width};
use std::fmt::Write as _;

/// One thing that took time.
pub struct Bar {
    /// Its lane, from 0.
    pub lane: usize,
    /// Seconds from the step's start.
    pub start: f64,
    /// Seconds that it took.
    pub seconds: f64,
    /// Its colour: a variable of the theme.
    pub color: &'static str,
    /// Its name, below it if it is long enough to see and there is room.
    pub name: String,
}

impl Bar {
    /// Whether it is long enough in a step of so many seconds to be seen and told.
    pub fn is_long(&self, whole: f64) -> bool {
        self.seconds / whole > 0.03
    }
}

/// The picture of a step of `whole` seconds, with a title above each lane.
pub fn svg(titles: &[String], bars: &[Bar], whole: f64) -> String {
    const WIDTH: f64 = 520.0;
    const LEFT: f64 = 4.0;
    const TOP: f64 = 28.0;
    const LANE: f64 = 30.0;
    let scale = (WIDTH - 2.0 * LEFT) / whole;
    let y = |lane: usize| TOP + lane as f64 * (LANE + 46.0);
    let mut body = String::new();
    for (lane, title) in titles.iter().enumerate() {
        let _ = writeln!(
            body,
            "<text x=\"{LEFT}\" y=\"{:.1}\" fill=\"currentColor\">{title}</text>",
            y(lane) - 8.0
        );
    }
    let mut free = vec![LEFT; titles.len()];
    for bar in bars {
        let Bar { lane, color, name, .. } = bar;
        let (x, width, y) = (LEFT + bar.start * scale, bar.seconds * scale, y(*lane));
        let _ = writeln!(
            body,
            "<rect x=\"{x:.2}\" y=\"{y:.1}\" width=\"{:.2}\" height=\"{LANE}\" fill=\"{color}\"/>",
            (width - 0.4).max(0.2)
        );
        let text = text_width(name);
        let start = (x + 0.5 * width - 0.5 * text).clamp(LEFT, WIDTH - LEFT - text);
        if bar.is_long(whole) && start >= free[*lane] {
            let _ = writeln!(
                body,
                "<text x=\"{start:.1}\" y=\"{:.1}\" fill=\"currentColor\">{}</text>",
                y + LANE + 16.0,
                escaped(name)
            );
            free[*lane] = start + text + 8.0;
        }
    }
    let height = y(titles.len()) - 18.0;
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" font-family=\"inherit\" font-size=\"13\">\n{body}</svg>\n"
    )
}
