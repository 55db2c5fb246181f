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

#[cfg(test)]
mod tests {
    use super::*;
    use lab::{Error, Samples};

    fn records(values: &[Value]) -> Records {
        lab::testing::records(&crate::chapter(), values, &[])
    }

    fn measured() -> Records {
        let mut values = Vec::new();
        let mut add = |key: &str, list: lab::record::ParamList, unit, samples: &[f64]| {
            values.push(Value::new(key, list, unit, Samples(samples.to_vec())));
        };
        let mnist: (&str, &dyn std::fmt::Display) = ("data", &"mnist");
        add("training.mlp", &[mnist, ("epochs", &2)], Unit::Share, &[0.975, 0.981, 0.978]);
        add("training.mlp.seconds", &[("epochs", &2)], Unit::Seconds, &[7.0, 8.0, 7.5]);
        for epoch in [2, 1] {
            let list: lab::record::ParamList = &[("epoch", &epoch), ("set", &"test")];
            let loss = 0.5 / f64::from(epoch);
            add("training.mlp.loss", list, Unit::Number, &[loss, loss + 0.1, loss + 0.2]);
        }
        records(&values)
    }

    #[test]
    fn the_table_has_a_row_for_each_seed() {
        let table = table_seeds(&measured()).unwrap();
        assert_eq!(table.rows.len(), 3);
        assert_eq!(table.rows[1], ["1", "98.10%", "0.350", "8.00 s"]);
        assert!(table.caption.contains("97.50%") && table.caption.contains("98.10%"));
        assert!(tables().iter().all(|table| (table.make)(&measured()).is_ok()));
    }

    #[test]
    fn without_records_it_reports_it() {
        assert!(matches!(table_seeds(&records(&[])), Err(Error::NotMeasured { .. })));
    }
}
