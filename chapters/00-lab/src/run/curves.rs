//! The curves of a run as a figure.

use crate::plot::{Axis, LinePlot, Scale, Series, Sheet};

/// Two curves of a run.
pub fn lines(x: Axis, label: &str, curves: [(&str, Vec<(f64, f64)>); 2]) -> String {
    let series = curves.map(|(name, points)| Series { joined: true, ..Series::dots(name, points) });
    let y = Axis::new(label, Scale::Linear);
    LinePlot { x, y, series: series.into(), limits: Vec::new() }.svg_on(Sheet::Wide)
}

/// Two figures of equal size in one, one above the other.
pub fn above(top: &str, bottom: &str) -> String {
    let (width, height) = size(top).unwrap_or((720.0, 440.0));
    let full = 2.0 * height;
    let inner = |svg: &str, y: f64| svg.replacen("<svg", &format!("<svg y=\"{y}\""), 1);
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {full}\" width=\"{width}\" height=\"{full}\">\n{}\n{}\n</svg>\n",
        inner(top.trim(), 0.0),
        inner(bottom.trim(), height)
    )
}

/// Width and height from a figure's `viewBox`.
fn size(svg: &str) -> Option<(f64, f64)> {
    let (_, rest) = svg.split_once("viewBox=\"")?;
    let (numbers, _) = rest.split_once('"')?;
    let mut numbers = numbers.split_whitespace().skip(2).map(str::parse);
    Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_figures_become_one() {
        let one = "<svg viewBox=\"0 0 300 200\">a</svg>";
        let both = above(one, one);
        assert_eq!(size(&both), Some((300.0, 400.0)));
        for y in [0, 200] {
            assert!(both.contains(&format!("<svg y=\"{y}\" viewBox")), "{both}");
        }
    }
}
