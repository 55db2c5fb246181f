//! The main job, seed by seed.

use crate::measured::experiments::job::{ACCURACY, LOSSES, SECONDS};
use lab::{Records, Result, Table, TableData, Unit, record::Value};

/// The table that the page quotes.
pub fn tables() -> Vec<Table> {
    vec![Table { key: "training.seeds", make: table_seeds }]
}

/// What a run of the records was trained on.
fn data(value: &Value) -> &'static str {
    match value.param("data") {
        Some("mnist") => "MNIST",
        Some("drawn") => "drawn digits, not MNIST",
        _ => "the reader's own files",
    }
}

fn table_seeds(records: &Records) -> Result<TableData> {
    let accuracy = records.get(ACCURACY.at(&[]))?;
    let seconds = records.get(SECONDS.at(&[]))?;
    let epochs = accuracy.param("epochs").unwrap_or_default();
    let loss = records.get(LOSSES.at(&[("set", &"test"), ("epoch", &epochs)]))?;
    let runs = accuracy.samples.0.iter().zip(&loss.samples.0).zip(&seconds.samples.0);
    let rows = runs.enumerate().map(|(seed, ((accuracy, loss), seconds))| {
        vec![
            seed.to_string(),
            Unit::Share.format(*accuracy),
            Unit::Number.format(*loss),
            Unit::Seconds.format(*seconds),
        ]
    });
    let (low, high) = ends(accuracy);
    Ok(TableData {
        caption: format!(
            "The same program with different seeds: the test accuracy lies between {low} and {high} ({}).",
            data(accuracy)
        ),
        head: ["seed", "test accuracy", "test loss", "time"].map(String::from).into(),
        rows: rows.collect(),
    })
}

/// The lowest and the highest of a value's samples, as text.
fn ends(value: &Value) -> (String, String) {
    let end = |of: fn(f64, f64) -> f64, start| value.samples.0.iter().copied().fold(start, of);
    let text = |sample| value.unit.format(sample);
    (text(end(f64::min, f64::MAX)), text(end(f64::max, f64::MIN)))
}
