//! Figures of a data set's images, as SVG that takes the page's colours.

use super::{drawn::drawn as drawn_set, set::Split};
use crate::Drawing;
use std::fmt::Write as _;

/// Grey levels in the drawing: enough to see the soft edges, few enough for a small file.
const LEVELS: u8 = 4;

/// The images of `split` with these numbers, in rows of `columns`, as an SVG without blank lines.
/// Numbers that `split` does not have leave a gap.
///
/// Ink is the text's colour, so the digits are dark on a light page and light on a dark one.
pub fn grid(split: &Split, numbers: &[usize], columns: usize) -> String {
    let (columns, gap) = (columns.max(1), 4);
    let (wide, high) = (split.cols + gap, split.rows + gap);
    let rows = numbers.len().div_ceil(columns);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {} {}\" shape-rendering=\"crispEdges\" fill=\"currentColor\">",
        columns * wide,
        rows * high
    );
    for level in 1..=LEVELS {
        let mut path = String::new();
        for (place, &number) in numbers.iter().enumerate().filter(|(_, n)| **n < split.len()) {
            let (left, top) = (place % columns * wide + gap / 2, place / columns * high + gap / 2);
            for (row, greys) in split.image(number).chunks(split.cols.max(1)).enumerate() {
                for run in runs(greys, level) {
                    let (from, length) = (left + run.0, run.1);
                    let _ = write!(path, "M{from} {}h{length}v1h-{length}z", top + row);
                }
            }
        }
        if !path.is_empty() {
            let opacity = f32::from(level) / f32::from(LEVELS);
            let _ = write!(svg, "<path fill-opacity=\"{opacity}\" d=\"{path}\"/>");
        }
    }
    svg + "</svg>\n"
}

/// The pixels of a row that have this level of grey, as starts and lengths.
fn runs(greys: &[u8], level: u8) -> Vec<(usize, usize)> {
    let of = |grey: u8| (u16::from(grey) * u16::from(LEVELS) + 127) / 255;
    let mut runs: Vec<(usize, usize)> = Vec::new();
    for (at, _) in greys.iter().enumerate().filter(|(_, grey)| of(**grey) == u16::from(level)) {
        match runs.last_mut() {
            Some((from, length)) if *from + *length == at => *length += 1,
            _ => runs.push((at, 1)),
        }
    }
    runs
}

/// The numbers of the first `rows` images of each digit, a row of ten at a time: for [`grid`] with ten
/// columns. A digit that is rarer leaves gaps (indices that `split` does not have).
pub fn of_each_digit(split: &Split, rows: usize) -> Vec<usize> {
    let mut numbers = vec![usize::MAX; 10 * rows];
    let mut found = [0; 10];
    for (number, &label) in split.labels.iter().enumerate() {
        let digit = usize::from(label);
        if digit < 10 && found[digit] < rows {
            numbers[10 * found[digit] + digit] = number;
            found[digit] += 1;
        }
    }
    numbers
}

/// Four drawn digits of each kind: what this program draws instead of MNIST.
pub fn drawn() -> Drawing {
    let set = drawn_set(200, 0, 0);
    Drawing {
        svg: grid(&set.train, &of_each_digit(&set.train, 4), 10),
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
    fn a_grid_has_each_image_at_its_position() {
        let split = Split {
            images: vec![0, 255, 255, 0, 60, 0, 0, 0],
            labels: vec![1, 2],
            rows: 2,
            cols: 2,
        };
        let svg = grid(&split, &[0, 9, 1], 2);
        assert!(svg.contains("viewBox=\"0 0 12 12\""), "{svg}");
        // The first image: right above, left below, in full; the second one's pixel is light.
        assert!(svg.contains("<path fill-opacity=\"1\" d=\"M3 2h1v1h-1zM2 3h1v1h-1z\"/>"), "{svg}");
        assert!(svg.contains("<path fill-opacity=\"0.25\" d=\"M2 8h1v1h-1z\"/>"), "{svg}");
        assert!(!svg.contains("\n\n"));
        assert!(grid(&split, &[], 0).contains("viewBox=\"0 0 6 0\""));
    }

    #[test]
    fn a_row_is_drawn_in_runs() {
        assert_eq!(runs(&[255, 255, 0, 255, 128], 4), [(0, 2), (3, 1)]);
        assert_eq!(runs(&[255, 255, 0, 255, 128], 2), [(4, 1)]);
    }

    #[test]
    fn each_digit_has_its_column() {
        let labels = vec![3, 3, 0, 3, 9];
        let split = Split { images: vec![0; 5], labels, rows: 1, cols: 1 };
        let numbers = of_each_digit(&split, 2);
        assert_eq!((numbers[0], numbers[3], numbers[9], numbers[13]), (2, 0, 4, 1));
        assert_eq!(numbers.iter().filter(|number| **number == usize::MAX).count(), 16);
    }

    #[test]
    fn the_figure_shows_all_digits_and_is_small() {
        let drawing = drawn();
        assert!(drawing.svg.len() < 80_000, "{}", drawing.svg.len());
        assert!(drawing.svg.contains("viewBox=\"0 0 320 128\""));
        let set = crate::data::drawn(200, 0, 0);
        assert!(of_each_digit(&set.train, 4).iter().all(|number| *number < 200));
    }
}
