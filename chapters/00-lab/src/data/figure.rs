//! A figure of drawn digits, as SVG that takes the page's colours.

use super::drawn::{SIDE, drawn as drawn_set};
use crate::Drawing;
use std::fmt::Write as _;

/// Grey levels in the drawing: enough to see the soft edges, few enough for a small file.
const LEVELS: usize = 4;
/// Images of each digit, one below the other.
const ROWS: usize = 4;

/// Four drawn digits of each kind: what this program draws instead of MNIST.
///
/// Ink is the text's colour, so the digits are dark on a light page and light on a dark one.
pub fn drawn() -> Drawing {
    let set = drawn_set(200, 0, 0).train;
    let wide = SIDE + 4;
    let mut paths: [String; LEVELS] = Default::default();
    let of = |grey: u8| (usize::from(grey) * LEVELS + 127) / 255;
    for place in 0..10 * ROWS {
        let (above, digit) = (place / 10, place % 10);
        let mut alike = (0..set.len()).filter(|i| usize::from(set.labels[*i]) == digit);
        let Some(number) = alike.nth(above) else { continue };
        for (row, greys) in set.image(number).chunks(SIDE).enumerate() {
            let (mut from, top) = (digit * wide + 2, above * wide + 2 + row);
            for run in greys.chunk_by(|a, b| of(*a) == of(*b)) {
                let long = run.len();
                if let Some(path) = of(run[0]).checked_sub(1).map(|level| &mut paths[level]) {
                    let _ = write!(path, "M{from} {top}h{long}v1h-{long}z");
                }
                from += long;
            }
        }
    }
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {} {}\" shape-rendering=\"crispEdges\" fill=\"currentColor\">",
        10 * wide,
        ROWS * wide
    );
    for (level, path) in paths.iter().enumerate().filter(|(_, path)| !path.is_empty()) {
        let opacity = (level + 1) as f32 / LEVELS as f32;
        let _ = write!(svg, "<path fill-opacity=\"{opacity}\" d=\"{path}\"/>");
    }
    Drawing {
        svg: svg + "</svg>\n",
        caption: "Drawn digits: each has its own variant, slant, bend and pen.".to_owned(),
        alt:
            "Four rows of the digits 0 to 9, as if written by different people with different pens."
                .to_owned(),
        ..Drawing::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_figure_shows_all_digits_and_is_small() {
        let svg = drawn().svg;
        assert!(svg.len() < 80_000 && !svg.contains("\n\n"), "{}", svg.len());
        assert!(svg.contains("viewBox=\"0 0 320 128\""));
        // Every digit has ink in its column, in every row.
        let starts = svg.split('M').skip(1).map(|part| {
            let (x, y) = part.split_once('h').unwrap().0.split_once(' ').unwrap();
            (x.parse::<usize>().unwrap() / 32, y.parse::<usize>().unwrap() / 32)
        });
        assert_eq!(starts.collect::<std::collections::BTreeSet<_>>().len(), 40);
    }
}
