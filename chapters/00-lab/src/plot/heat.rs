//! A map of cells: two choices, and what came of each pair of them.

use super::canvas::{HPos, Ink, LINE, Sheet, drawn, text_width};
use crate::Drawing;

/// Rows and columns of cells. Each cell has its number written in it, and a tint that shows it at a glance.
#[derive(Clone, Debug)]
pub struct HeatMap {
    /// What the columns are: `learning rate`.
    pub x: String,
    /// What the rows are: `batch`.
    pub y: String,
    /// The names of the columns, from left to right.
    pub columns: Vec<String>,
    /// The names of the rows, from top to bottom, each with its cells from left to right.
    pub rows: Vec<(String, Vec<Cell>)>,
}

/// What came of a pair of choices.
#[derive(Clone, Debug, Default)]
pub struct Cell {
    /// How strongly it is tinted, from 0 (not at all) to 1.
    pub tint: f64,
    /// What is written in it.
    pub text: String,
    /// Whether it is marked by a frame.
    pub framed: bool,
}

impl HeatMap {
    /// The figure with this caption, and its cells in words.
    pub fn drawing(&self, caption: impl Into<String>) -> Drawing {
        let row = |(name, cells): &(String, Vec<Cell>)| {
            let cells = self.columns.iter().zip(cells);
            let cells = cells.map(|(column, cell)| format!("{} at {column}", cell.text));
            format!("{} {name}: {}", self.y, cells.collect::<Vec<_>>().join(", "))
        };
        let rows: Vec<String> = self.rows.iter().map(row).collect();
        let alt = format!("A map over {}. {}.", self.x, rows.join("; "));
        let [svg, narrow] = Sheet::BOTH.map(|sheet| self.svg_on(sheet));
        Drawing { svg, narrow, caption: caption.into(), alt, other: None }
    }

    /// The figure for this width, as SVG without blank lines.
    pub fn svg_on(&self, sheet: Sheet) -> String {
        const HIGH: f64 = 34.0;
        let names = self.rows.iter().map(|(name, _)| text_width(name)).fold(0.0, f64::max);
        let left = names.max(text_width(&self.y)) + 12.0;
        let wide = (sheet.width() - left - 2.0) / self.columns.len().max(1) as f64;
        let top = LINE + 6.0;
        let bottom = top + HIGH * self.rows.len() as f64;
        // Names wider than their columns take turns in two rows.
        let widest = self.columns.iter().map(|name| text_width(name)).fold(0.0, f64::max);
        let turns = if widest + 4.0 > wide { 1.0 } else { 0.0 };
        drawn(sheet, bottom + (2.0 + turns) * LINE + 10.0, "", |canvas| {
            canvas.text((left - 10.0, 0.5 * LINE), HPos::Right, Ink::Text, &self.y);
            for (row, (name, cells)) in self.rows.iter().enumerate() {
                let up = top + HIGH * row as f64;
                canvas.text((left - 10.0, up + 0.5 * HIGH), HPos::Right, Ink::Text, name);
                for (column, cell) in cells.iter().enumerate() {
                    let from = left + wide * column as f64;
                    let area = [from + 1.5, up + 1.5, from + wide - 1.5, up + HIGH - 1.5];
                    canvas.rectangle(area, Ink::Tint(0, (60.0 * cell.tint.clamp(0.0, 1.0)) as u8));
                    if cell.framed {
                        let [l, t, r, b] = area;
                        canvas.line(&[(l, t), (r, t), (r, b), (l, b), (l, t)], Ink::Text, 2.0);
                    }
                    let middle = (from + 0.5 * wide, up + 0.5 * HIGH);
                    canvas.text(middle, HPos::Center, Ink::Text, &cell.text);
                }
            }
            for (column, name) in self.columns.iter().enumerate() {
                let row = 0.6 + turns * (column % 2) as f64;
                let at = (left + wide * (column as f64 + 0.5), bottom + row * LINE);
                canvas.text(at, HPos::Center, Ink::Text, name);
            }
            canvas.text((left, bottom + (1.7 + turns) * LINE), HPos::Left, Ink::Text, &self.x);
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(rows: usize, columns: usize) -> HeatMap {
        let cell = |at: usize| Cell { tint: at as f64, text: format!("{at}%"), framed: at == 1 };
        HeatMap {
            x: "learning rate".into(),
            y: "batch".into(),
            columns: (0..columns).map(|c| format!("c{c}")).collect(),
            rows: (0..rows)
                .map(|r| (format!("r{r}"), (0..columns).map(|c| cell(r * columns + c)).collect()))
                .collect(),
        }
    }

    #[test]
    fn every_cell_row_and_column_is_written() {
        let svg = map(2, 3).svg_on(Sheet::Wide);
        for word in ["learning rate", "batch", "c0", "c2", "r0", "r1", "0%", "5%"] {
            assert!(svg.contains(&format!("{word}\n")) || svg.contains(word), "{word}");
        }
        assert!(!svg.contains("\n\n"));
        assert_eq!(svg.matches('%').count(), 6, "{svg}");
        assert!(
            map(0, 0).svg_on(Sheet::Wide).starts_with("<svg"),
            "nothing to show is still a figure"
        );
    }
}
