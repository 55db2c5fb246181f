//! The chapter's figure with a geometry of its own; the pages declare the others.

use crate::measured::experiments::studies::{MAP, MAP_BATCHES, RATES};
use lab::{
    Drawing, Figure, Records, Result,
    key::Quantity,
    plot::{Cell, HeatMap},
    record::Value,
};

/// The figures that the page quotes.
pub fn figures() -> Vec<Figure> {
    vec![Figure { key: "training.map", draw: draw_map }]
}

fn cell(batch: usize, lr: f64) -> Quantity {
    MAP.at(&[("batch", &batch), ("lr", &lr)])
}

/// The best learning rate for a batch, and its value.
fn best(records: &Records, batch: usize) -> Option<(f64, &Value)> {
    let cells = RATES.into_iter().filter_map(|lr| Some((lr, records.get(cell(batch, lr)).ok()?)));
    cells.max_by(|a, b| a.1.median.total_cmp(&b.1.median))
}

fn draw_map(records: &Records) -> Result<Drawing> {
    let first = records.get(cell(MAP_BATCHES[0], RATES[0]))?;
    let row = |batch: usize| {
        let top = best(records, batch).map(|(lr, _)| lr);
        let cells = RATES.map(|lr| {
            let share = records.get(cell(batch, lr)).map_or(f64::NAN, |value| value.median);
            Cell {
                // Above 90%, where the differences are; NaN has no tint.
                tint: ((share - 0.9) / 0.08).max(0.0).powi(2),
                text: format!("{:.1}", 100.0 * share),
                framed: top.is_some_and(|top| top.total_cmp(&lr).is_eq()),
            }
        });
        (batch.to_string(), cells.into())
    };
    let ends = [MAP_BATCHES[0], MAP_BATCHES[MAP_BATCHES.len() - 1]]
        .map(|batch| best(records, batch).map_or(f64::NAN, |(lr, _)| lr));
    let caption = format!(
        "Test accuracy in percent after {} epochs of Adam, medians of {} seeds. The best of each row is \
         framed: for the smallest batch it is {}, for the largest {}.",
        first.param("epochs").unwrap_or_default(),
        first.count(),
        ends[0],
        ends[1]
    );
    let map = HeatMap {
        x: "learning rate".into(),
        y: "batch".into(),
        columns: RATES.map(|lr| lr.to_string()).into(),
        rows: MAP_BATCHES.map(row).into(),
    };
    Ok(map.drawing(caption))
}
