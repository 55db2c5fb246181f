//! The studies' figures and tables, made from one machine's records.

use crate::{
    config::{Model, Rule, Settings},
    measured::experiments::studies::{MAP, MAP_BATCHES, OPTIMIZERS, RATES, SPEED},
};
use lab::{
    Drawing, Error, Figure, Records, Result, Table, TableData, Unit,
    drawing::Lines,
    key::Quantity,
    plot::{Axis, Cell, HeatMap, Scale},
    record::Value,
    table::Grid,
};

/// The figures that the page quotes.
pub fn figures() -> Vec<Figure> {
    vec![
        Figure { key: "training.map", draw: draw_map },
        Figure { key: "training.speed", draw: draw_speed },
    ]
}

/// The tables that the page quotes.
pub fn tables() -> Vec<Table> {
    vec![
        Table { key: "training.optimizers", make: table_optimizers },
        Table { key: "training.batches", make: table_batches },
        Table { key: "training.devices", make: table_devices },
    ]
}

fn table_optimizers(records: &Records) -> Result<TableData> {
    let share = |rule: &Rule| OPTIMIZERS.at(&[("optimizer", rule)]);
    let rate = |rule: &Rule| {
        let value = records.get(share(rule)).ok();
        value.and_then(|value| value.param("lr")).unwrap_or_default().to_owned()
    };
    Grid::new(Rule::ALL)
        .column("optimizer", |rule| rule.name())
        .column("learning rate", rate)
        .column("values per parameter", |rule| rule.memory().to_string())
        .column("test accuracy", share)
        .table(
            records,
            "Ten epochs with each optimizer: what it stores per parameter, and the resulting accuracy.",
        )
}

/// A cell of the map.
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
        "The best learning rate is {} for the smallest batch and {} for the largest. Test accuracy in percent after {} \
         epochs of Adam, medians of {} seeds; the best of each row is framed.",
        ends[0],
        ends[1],
        first.param("epochs").unwrap_or_default(),
        first.samples.0.len()
    );
    let map = HeatMap {
        x: "learning rate".into(),
        y: "batch".into(),
        columns: RATES.map(|lr| lr.to_string()).into(),
        rows: MAP_BATCHES.map(row).into(),
    };
    Ok(map.drawing(caption))
}

fn table_batches(records: &Records) -> Result<TableData> {
    let usual = Settings::default().lr;
    let tuned = |batch| best(records, batch).map(|(lr, value)| (batch, lr, value));
    records.get(cell(MAP_BATCHES[0], usual))?;
    Grid::new(MAP_BATCHES.into_iter().filter_map(tuned))
        .column("batch", |(batch, ..)| batch.to_string())
        .column("steps", |(batch, _, value)| {
            let epochs = value.number("epochs").unwrap_or(f64::NAN);
            Unit::Count.format(epochs * (60_000.0 / *batch as f64).ceil())
        })
        .column("at the same rate", |(batch, ..)| cell(*batch, usual))
        .column("at the best rate", |(batch, lr, _)| cell(*batch, *lr))
        .column("best learning rate", |(_, lr, _)| lr.to_string())
        .table(
            records,
            format!(
                "Test accuracy after the same number of epochs in larger and larger batches: with the learning rate {usual} \
                 for all, and with the best one of each row of the map."
            ),
        )
}

/// The devices with a speed.
fn devices(records: &Records) -> Result<Vec<String>> {
    let all = records.every(SPEED.at(&[]))?;
    let mut names: Vec<String> =
        all.iter().filter_map(|value| value.param("device").map(String::from)).collect();
    names.sort();
    names.dedup();
    Ok(names)
}

fn draw_speed(records: &Records) -> Result<Drawing> {
    let devices = devices(records)?;
    // Where there is a GPU, its table has the CPU's part.
    let device = devices.iter().find(|device| *device != "cpu").map_or("cpu", String::as_str);
    let line =
        |model: Model| (model.to_string(), SPEED.at(&[("model", &model), ("device", &device)]));
    let lines = Lines {
        over: "batch",
        x: Axis::new("images per batch", Scale::Log),
        y: Axis::new("images/s", Scale::Log),
        lines: Model::ALL.map(line).into(),
        ..Lines::default()
    };
    let plot = lines.plot(records)?;
    let gain = |name: &str| {
        let points = &plot.series.iter().find(|line| line.name == name)?.points;
        Some(points.iter().map(|p| p.1).fold(0.0, f64::max) / points.first()?.1)
    };
    let caption = format!(
        "From the smallest batch to the best the perceptron gains {}, the residual network {}. Images per second in \
         training on {}, by batch size.",
        Unit::Ratio.format(gain("mlp").unwrap_or(f64::NAN)),
        Unit::Ratio.format(gain("resnet").unwrap_or(f64::NAN)),
        if device == "cpu" { "the CPU" } else { "the GPU" }
    );
    Ok(plot.drawing(caption))
}

/// What was found, and nothing where the run was cut off before.
fn measured<T>(found: Result<T>) -> Result<Option<T>> {
    match found {
        Ok(found) => Ok(Some(found)),
        Err(Error::NotMeasured { .. }) => Ok(None),
        Err(other) => Err(other),
    }
}

/// The smallest batch in which a GPU trains on more images per second than the CPU.
fn table_devices(records: &Records) -> Result<TableData> {
    let none = || Error::NotMeasured {
        what: "training.speed on a GPU".into(),
        chapter: "training".into(),
    };
    let gpu = devices(records).unwrap_or_default().into_iter().find(|device| device != "cpu");
    let gpu = gpu.ok_or_else(none)?;
    let rates = |model: Model, device: &str| {
        records.over("batch", SPEED.at(&[("model", &model), ("device", &device)]))
    };
    let mut rows = Vec::new();
    for model in Model::ALL {
        let both = rates(model, "cpu").and_then(|cpu| Ok((cpu, rates(model, &gpu)?)));
        // Of a run that was cut off, the models that both have trained.
        let Some((cpu, gpu)) = measured(both)? else { continue };
        let ratio = |(batch, slow): &(f64, &Value)| {
            let (_, fast) = gpu.iter().find(|(other, _)| other.total_cmp(batch).is_eq())?;
            Some((*batch, fast.median / slow.median, fast.low > slow.high))
        };
        let pairs: Vec<(f64, f64, bool)> = cpu.iter().filter_map(ratio).collect();
        let pays = pairs.iter().find(|(_, _, clear)| *clear);
        let most = pairs.iter().map(|(_, ratio, _)| *ratio).fold(f64::NAN, f64::max);
        rows.push(vec![
            model.to_string(),
            pays.map_or_else(|| "none of these".into(), |(batch, ..)| format!("{batch}")),
            Unit::Ratio.format(most),
        ]);
    }
    if rows.is_empty() {
        return Err(none());
    }
    Ok(TableData {
        caption: "The smallest batch for which the GPU is faster by more than the spread, and its largest gain.".into(),
        head: ["model", "smallest batch", "largest gain"].map(String::from).into(),
        rows,
    })
}
