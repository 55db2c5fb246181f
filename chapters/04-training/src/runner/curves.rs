//! The curves of a run as a figure.

use crate::learning::metrics::Epoch;
use lab::plot::{Axis, LinePlot, Scale, Series, few};

/// Loss and accuracy over the epochs of one run, one above the other.
pub fn curves(history: &[Epoch]) -> String {
    let epochs: Vec<f64> = history.iter().map(|epoch| epoch.epoch as f64).collect();
    let plot = |label: &str, of: [fn(&Epoch) -> f64; 2]| {
        let series = |name: &str, of: fn(&Epoch) -> f64| Series {
            name: name.into(),
            points: history.iter().map(|epoch| (epoch.epoch as f64, of(epoch))).collect(),
            band: Vec::new(),
            joined: true,
        };
        LinePlot {
            x: Axis::new("epoch", Scale::Linear).ticks(few(&epochs)),
            y: Axis::new(label, Scale::Linear),
            series: vec![series("training", of[0]), series("test", of[1])],
            limits: Vec::new(),
        }
        .svg()
    };
    let loss = plot("loss", [|e| e.train_loss, |e| e.test_loss]);
    let accuracy =
        plot("accuracy (%)", [|e| 100.0 * e.train_accuracy, |e| 100.0 * e.test_accuracy]);
    above(&loss, &accuracy)
}

/// Two figures of equal size in one.
fn above(top: &str, bottom: &str) -> String {
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
