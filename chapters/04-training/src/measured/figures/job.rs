//! The chapter's pictures and tables, made from one machine's records.

use crate::runner::curves::few;
use lab::{
    Drawing, Error, Figure, Records, Result, Table, TableData, Unit,
    plot::{Axis, Bar, BarPlot, LinePlot, Scale, Series},
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

/// The epochs' values of one set (`train` or `test`), in their order: epoch, median, low, high.
fn by_epoch(records: &Records, key: &str, set: &str) -> Vec<(f64, [f64; 3])> {
    let mut points: Vec<(f64, [f64; 3])> = records
        .all(key, &[("set", &set)])
        .into_iter()
        .filter_map(|value| {
            let epoch = value.params.get("epoch")?.parse().ok()?;
            Some((epoch, [value.median, value.low, value.high]))
        })
        .collect();
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    points
}

fn curves(records: &Records, key: &str, label: &str, scale: f64) -> Result<(LinePlot, String)> {
    records.find("training.mlp", &[])?; // not measured is said once, by the experiment's own key
    let mut words = Vec::new();
    let mut series = Vec::new();
    let mut epochs = Vec::new();
    for (set, name) in [("train", "training"), ("test", "test")] {
        let points = by_epoch(records, key, set);
        let (Some(first), Some(last)) = (points.first(), points.last()) else {
            return Err(Error::NotMeasured { what: key.into(), chapter: "training".into() });
        };
        words.push(format!(
            "{name}: from {} in epoch {} to {} in epoch {}",
            Unit::Number.format(scale * first.1[0]),
            first.0,
            Unit::Number.format(scale * last.1[0]),
            last.0
        ));
        epochs = points.iter().map(|point| point.0).collect();
        series.push(Series {
            name: name.into(),
            points: points.iter().map(|(epoch, v)| (*epoch, scale * v[0])).collect(),
            band: points.iter().map(|(_, v)| (scale * v[1], scale * v[2])).collect(),
            joined: true,
        });
    }
    let plot = LinePlot {
        x: Axis::new("epoch", Scale::Linear).ticks(few(&epochs)),
        y: Axis::new(label, Scale::Linear),
        series,
        limits: Vec::new(),
    };
    Ok((plot, words.join("; ")))
}

/// `5 seeds`, or `one seed`.
fn seeds(value: &Value) -> String {
    match value.samples.0.len() {
        1 => "one seed".into(),
        n => format!("the median of {n} seeds"),
    }
}

/// What a run of the records learned from.
fn data(value: &Value) -> &'static str {
    match value.params.get("data").map(String::as_str) {
        Some("mnist") => "MNIST",
        Some("drawn") => "drawn digits, not MNIST",
        _ => "the reader's own files",
    }
}

fn draw_accuracy(records: &Records) -> Result<Drawing> {
    let (plot, words) = curves(records, "training.mlp.accuracy", "right answers (%)", 100.0)?;
    let value = records.find("training.mlp", &[])?;
    let epochs = value.params.get("epochs").map_or("", String::as_str);
    Ok(Drawing {
        svg: plot.svg(),
        caption: format!(
            "After {epochs} epochs the network reads {} of the test pictures correctly ({}, {}). \
             Training answers are counted with dropout, while the weights still move, so they start lower.",
            value.text(),
            seeds(value),
            data(value)
        ),
        alt: format!("Share of right answers in percent over the epochs. {words}."),
    })
}

fn draw_loss(records: &Records) -> Result<Drawing> {
    let (plot, words) = curves(records, "training.mlp.loss", "loss", 1.0)?;
    let value = records.find("training.mlp", &[])?;
    let end = |set| {
        by_epoch(records, "training.mlp.loss", set).last().map_or(f64::NAN, |point| point.1[0])
    };
    Ok(Drawing {
        svg: plot.svg(),
        caption: format!(
            "The loss falls fast, then slowly: in the last epoch it is {} on the training pictures and {} \
             on the test pictures ({}, {}).",
            Unit::Number.format(end("train")),
            Unit::Number.format(end("test")),
            seeds(value),
            data(value)
        ),
        alt: format!("Loss over the epochs. {words}."),
    })
}

fn draw_cost(records: &Records) -> Result<Drawing> {
    const KEY: &str = "training.cost";
    records.find(KEY, &[("stage", &"preprocess")])?;
    let name = |value: &Value| {
        let param = |name: &str| value.params.get(name).map(String::as_str);
        match (param("stage")?, param("epochs"), param("images")) {
            ("preprocess", ..) => Some("prepare the data set".to_owned()),
            ("train", Some("1"), _) => Some("train, 1 epoch".to_owned()),
            ("train", Some(epochs), _) => Some(format!("train, {epochs} epochs")),
            ("store", ..) => Some("store the model".to_owned()),
            ("load", ..) => Some("load the model".to_owned()),
            ("serve", _, Some("1")) => Some("read 1 picture".to_owned()),
            ("serve", _, Some(images)) => Some(format!("read {images} pictures")),
            _ => None,
        }
    };
    let all = records.all(KEY, &[]);
    let bars: Vec<Bar> = all
        .iter()
        .filter_map(|value| {
            Some(Bar {
                name: name(value)?,
                value: Some((value.median, value.low, value.high)),
                text: value.text(),
            })
        })
        .collect();
    let stage = |stage: &str| {
        let of = all.iter().filter(|v| v.params.get("stage").is_some_and(|s| s == stage));
        of.map(|value| value.median).fold(0.0, f64::max)
    };
    let (train, prepare) = (stage("train"), stage("preprocess"));
    let alt: Vec<String> = bars.iter().map(|bar| format!("{}: {}", bar.name, bar.text)).collect();
    let svg = BarPlot { axis: Axis::new("seconds", Scale::Log), bars, limits: Vec::new() }.svg();
    Ok(Drawing {
        svg,
        caption: format!(
            "The longest training here takes {} as long as preparing the data, and {} as long as storing the \
             model. The axis is logarithmic: equal distances are equal ratios.",
            Unit::Ratio.format(train / prepare),
            Unit::Ratio.format(train / stage("store"))
        ),
        alt: format!("{}.", alt.join("; ")),
    })
}

fn table_seeds(records: &Records) -> Result<TableData> {
    let accuracy = records.find("training.mlp", &[])?;
    let seconds = records.find("training.mlp.seconds", &[])?;
    let epochs = accuracy.params.get("epochs").map_or("", String::as_str);
    let loss = records.find("training.mlp.loss", &[("set", &"test"), ("epoch", &epochs)])?;
    let columns = accuracy.samples.0.iter().zip(&loss.samples.0).zip(&seconds.samples.0);
    let rows: Vec<Vec<String>> = columns
        .enumerate()
        .map(|(seed, ((accuracy, loss), seconds))| {
            vec![
                seed.to_string(),
                Unit::Share.format(*accuracy),
                Unit::Number.format(*loss),
                Unit::Seconds.format(*seconds),
            ]
        })
        .collect();
    let (low, high) = accuracy
        .samples
        .0
        .iter()
        .fold((f64::MAX, f64::MIN), |(low, high), a| (low.min(*a), high.max(*a)));
    Ok(TableData {
        caption: format!(
            "The same program from other random numbers: the test accuracy lies between {} and {} ({}).",
            Unit::Share.format(low),
            Unit::Share.format(high),
            data(accuracy)
        ),
        head: ["seed", "test accuracy", "test loss", "time"].map(String::from).into(),
        rows,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use lab::Samples;

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
        assert!(accuracy.alt.contains("from 91.0 in epoch 1"), "{}", accuracy.alt);
        let loss = draw_loss(&records).unwrap();
        assert!(loss.caption.contains("0.350 on the training"), "{}", loss.caption);
        let cost = draw_cost(&records).unwrap();
        assert!(
            cost.caption.contains("16.0×") && cost.caption.contains("2,000×"),
            "{}",
            cost.caption
        );
        assert!(cost.alt.contains("read 1 picture: 20.0 µs"), "{}", cost.alt);
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
    fn without_records_they_say_so() {
        let none = records(&[]);
        for figure in figures() {
            let error = (figure.draw)(&none).unwrap_err();
            assert!(matches!(error, Error::NotMeasured { .. }), "{}: {error}", figure.key);
        }
        assert!(matches!(table_seeds(&none), Err(Error::NotMeasured { .. })));
    }
}
