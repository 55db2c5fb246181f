//! The main job's figures and tables: how it learns, and what each part of the work costs.

use crate::measured::experiments::job::{ACCURACIES, ACCURACY, COST, LOSSES, SECONDS};
use lab::{
    Drawing, Figure, Key, Records, Result, Table, TableData, Unit,
    drawing::{Limits, Lines},
    key::Quantity,
    plot::{Axis, Bar, BarPlot, Scale},
    record::Value,
};

/// The figures that the page quotes.
pub fn figures() -> Vec<Figure> {
    vec![
        Figure { key: "training.curves", draw: draw_accuracy },
        Figure { key: "training.loss", draw: draw_loss },
        Figure { key: "training.cost", draw: draw_cost },
    ]
}

/// The tables that the page quotes.
pub fn tables() -> Vec<Table> {
    vec![Table { key: "training.seeds", make: table_seeds }]
}

/// The run that the figures are about: its accuracy at the end.
fn job(records: &Records) -> Result<&Value> {
    records.get(ACCURACY.at(&[]))
}

fn of(key: Key, set: &str) -> Quantity {
    key.at(&[("set", &set)])
}

/// The curves of both sets over the epochs.
fn curves(key: Key, label: &str, scale: fn(f64) -> f64) -> Lines {
    Lines {
        over: "epoch",
        x: Axis::new("epoch", Scale::Linear),
        y: Axis::new(label, Scale::Linear),
        scale,
        lines: [("train", "training"), ("test", "test")]
            .map(|(set, name)| (name.to_owned(), of(key, set)))
            .into(),
        limits: Limits::None,
    }
}

/// `5 seeds`, or `one seed`.
fn seeds(value: &Value) -> String {
    match value.samples.0.len() {
        1 => "one seed".into(),
        n => format!("the median of {n} seeds"),
    }
}

/// What a run of the records was trained on.
fn data(value: &Value) -> &'static str {
    match value.param("data") {
        Some("mnist") => "MNIST",
        Some("drawn") => "drawn digits, not MNIST",
        _ => "the reader's own files",
    }
}

fn draw_accuracy(records: &Records) -> Result<Drawing> {
    let value = job(records)?; // the experiment's own key reports what is not measured
    let caption = format!(
        "After {} epochs the network classifies {} of the test images correctly ({}, {}). \
         Training accuracy is counted with dropout, while the weights still change, so it starts lower.",
        value.param("epochs").unwrap_or_default(),
        value.text(),
        seeds(value),
        data(value)
    );
    curves(ACCURACIES, "accuracy (%)", |share| 100.0 * share).draw(records, caption)
}

fn draw_loss(records: &Records) -> Result<Drawing> {
    let value = job(records)?;
    let end = |set| -> Result<f64> {
        let points = records.over("epoch", of(LOSSES, set))?;
        Ok(points.last().map_or(f64::NAN, |(_, value)| value.median))
    };
    let caption = format!(
        "The loss falls fast, then slowly: in the last epoch it is {} on the training images and {} \
         on the test images ({}, {}).",
        Unit::Number.format(end("train")?),
        Unit::Number.format(end("test")?),
        seeds(value),
        data(value)
    );
    curves(LOSSES, "loss", |loss| loss).draw(records, caption)
}

fn draw_cost(records: &Records) -> Result<Drawing> {
    let name =
        |value: &Value| match (value.param("stage")?, value.param("epochs"), value.param("images"))
        {
            ("preprocess", ..) => Some("prepare the data set".to_owned()),
            ("train", Some("1"), _) => Some("train, 1 epoch".to_owned()),
            ("train", Some(epochs), _) => Some(format!("train, {epochs} epochs")),
            ("store", ..) => Some("store the model".to_owned()),
            ("load", ..) => Some("load the model".to_owned()),
            ("serve", _, Some("1")) => Some("classify 1 image".to_owned()),
            ("serve", _, Some(images)) => Some(format!("classify {images} images")),
            _ => None,
        };
    let all = records.every(COST.at(&[]))?;
    let bars = all.iter().filter_map(|value| Some(Bar::scaled(&name(value)?, Ok(value), |s| s)));
    let bars = bars.collect::<Result<Vec<Bar>>>()?;
    let stage = |stage: &str| {
        let of = all.iter().filter(|value| value.param("stage") == Some(stage));
        of.map(|value| value.median).fold(0.0, f64::max)
    };
    let caption = format!(
        "The longest training here takes {} as long as preparing the data, and {} as long as storing the \
         model. The axis is logarithmic: equal distances are equal ratios.",
        Unit::Ratio.format(stage("train") / stage("preprocess")),
        Unit::Ratio.format(stage("train") / stage("store"))
    );
    let axis = Axis::new("seconds", Scale::Log);
    Ok(BarPlot { axis, bars, limits: Vec::new() }.drawing(caption))
}

fn table_seeds(records: &Records) -> Result<TableData> {
    let accuracy = job(records)?;
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
pub(super) fn ends(value: &Value) -> (String, String) {
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
            for set in ["train", "test"] {
                let list: lab::record::ParamList = &[("epoch", &epoch), ("set", &set)];
                let loss = 0.5 / f64::from(epoch);
                add("training.mlp.loss", list, Unit::Number, &[loss, loss + 0.1, loss + 0.2]);
                add("training.mlp.accuracy", list, Unit::Share, &[0.9, 0.91, 0.92]);
            }
        }
        add("training.cost", &[("stage", &"preprocess")], Unit::Seconds, &[0.5]);
        add("training.cost", &[("stage", &"train"), ("epochs", &10)], Unit::Seconds, &[8.0]);
        add("training.cost", &[("stage", &"store")], Unit::Seconds, &[0.004]);
        add("training.cost", &[("stage", &"serve"), ("images", &1)], Unit::Seconds, &[2e-5]);
        records(&values)
    }

    #[test]
    fn every_figure_is_drawn_from_records() {
        let records = measured();
        for figure in figures() {
            let drawing = (figure.draw)(&records).unwrap();
            assert!(drawing.svg.starts_with("<svg"), "{}", figure.key);
            assert!(!drawing.caption.contains("NaN") && !drawing.alt.is_empty(), "{drawing:?}");
        }
        let accuracy = draw_accuracy(&records).unwrap();
        assert!(accuracy.caption.contains("97.80%") && accuracy.caption.contains("MNIST"));
        assert!(accuracy.alt.contains("training: 91.0 at 1"), "{}", accuracy.alt);
        let loss = draw_loss(&records).unwrap();
        assert!(loss.caption.contains("0.350 on the training"), "{}", loss.caption);
        let cost = draw_cost(&records).unwrap();
        assert!(
            cost.caption.contains("16.0×") && cost.caption.contains("2,000×"),
            "{}",
            cost.caption
        );
        assert!(cost.alt.contains("classify 1 image: 20.0 µs"), "{}", cost.alt);
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
    fn without_records_they_report_it() {
        let none = records(&[]);
        for figure in figures() {
            let error = (figure.draw)(&none).unwrap_err();
            assert!(matches!(error, Error::NotMeasured { .. }), "{}: {error}", figure.key);
        }
        assert!(matches!(table_seeds(&none), Err(Error::NotMeasured { .. })));
    }
}
