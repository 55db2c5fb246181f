//! Memory as figures and tables: predictions are lines, measurements are points.

use crate::measured::experiments::memory::{
    MEMORY, PART, PIECES, PIECES_PREDICTED, PREDICTED, SEGMENTS, SEGMENTS_PREDICTED,
};
use lab::{
    Drawing, Error, Figure, Records, Result, Table, TableData, Unit,
    key::Quantity,
    plot::{Axis, LimitLine, LinePlot, Scale, Series},
    record::Value,
    table::Grid,
};

/// This part's figures.
pub fn figures() -> Vec<Figure> {
    vec![
        Figure { key: "performance.memory", draw: draw_memory },
        Figure { key: "performance.accumulate", draw: draw_accumulate },
        Figure { key: "performance.recompute", draw: draw_recompute },
    ]
}

/// This part's tables.
pub fn tables() -> Vec<Table> {
    vec![Table { key: "performance.memory.parts", make: table_parts }]
}

/// Mebibytes over a parameter.
fn mebibytes(records: &Records, quantity: Quantity, over: &str) -> Result<Vec<(f64, f64)>> {
    let points = records.over(over, quantity)?.into_iter();
    Ok(points.map(|(x, bytes)| (x, bytes.median / f64::from(1 << 20))).collect())
}

/// The largest distance of a measurement from its prediction, as a fraction of it.
fn farthest(measured: &[(f64, f64)], predicted: &[(f64, f64)]) -> f64 {
    let off = measured.iter().zip(predicted).map(|((_, m), (_, p))| (m / p - 1.0).abs());
    off.fold(0.0, f64::max)
}

fn ticks(points: &[(f64, f64)]) -> Vec<f64> {
    points.iter().map(|(x, _)| *x).collect()
}

fn draw_memory(records: &Records) -> Result<Drawing> {
    let (mut series, mut limits, mut off) = (vec![], vec![], 0.0_f64);
    let mut batches: Vec<f64> = Vec::new();
    for (model, name) in [("cnn", "CNN"), ("mlp", "MLP")] {
        let of = |key: lab::Key| mebibytes(records, key.at(&[("model", &model)]), "batch");
        let (found, predicted) = (of(MEMORY)?, of(PREDICTED)?);
        off = off.max(farthest(&found, &predicted));
        batches.extend(ticks(&found));
        series.push(Series::dots(format!("{name}, measured"), found));
        limits.push(LimitLine { name: format!("{name}, predicted"), points: predicted });
    }
    batches.sort_by(f64::total_cmp);
    batches.dedup();
    let plot = LinePlot {
        x: Axis::new("batch (images)", Scale::Log).ticks(batches),
        y: Axis::new("peak memory of a step (MiB)", Scale::Log),
        series,
        limits,
    };
    Ok(plot.drawing(format!(
        "No measured point is farther than {} from its predicted line. On the left the weights with their gradients \
         and Adam's means dominate; on the right the batch does.",
        Unit::Share.format(off)
    )))
}

fn draw_accumulate(records: &Records) -> Result<Drawing> {
    let of = |key: lab::Key| mebibytes(records, key.at(&[("model", &"mlp")]), "piece");
    let (found, predicted) = (of(PIECES)?, of(PIECES_PREDICTED)?);
    let (Some(small), Some(whole)) = (found.first().copied(), found.last().copied()) else {
        return Err(Error::message("there are no pieces"));
    };
    let plot = LinePlot {
        x: Axis::new("piece (images)", Scale::Log).ticks(ticks(&found)),
        y: Axis::new("peak memory of a step (MiB)", Scale::Log),
        series: vec![Series::dots("measured", found)],
        limits: vec![LimitLine { name: "predicted".into(), points: predicted }],
    };
    Ok(plot.drawing(format!(
        "The same {} images in pieces: {:.1} MiB at once, {:.1} MiB in pieces of {}. Below some size the weights \
         dominate.",
        whole.0, whole.1, small.1, small.0
    )))
}

fn draw_recompute(records: &Records) -> Result<Drawing> {
    let cut = |points: Vec<(f64, f64)>| -> (Vec<(f64, f64)>, f64) {
        let whole = points.iter().find(|p| p.0 < 0.5).map_or(f64::NAN, |p| p.1);
        (points.into_iter().filter(|p| p.0 > 0.5).collect(), whole)
    };
    let (found, whole) = cut(mebibytes(records, SEGMENTS.at(&[]), "segments")?);
    let (predicted, _) = cut(mebibytes(records, SEGMENTS_PREDICTED.at(&[]), "segments")?);
    let layers = records.every(SEGMENTS.at(&[]))?[0].number("layers").unwrap_or(f64::NAN);
    let Some(&least) = found.iter().min_by(|a, b| a.1.total_cmp(&b.1)) else {
        return Err(Error::message("there are no segments"));
    };
    let ends = [found[0].0, found[found.len() - 1].0];
    let plot = LinePlot {
        x: Axis::new("segments", Scale::Log).ticks(ticks(&found)),
        y: Axis::new("peak memory of a step (MiB)", Scale::Linear).range(0.0, 1.1 * whole),
        series: vec![Series::dots("measured", found.clone())],
        limits: vec![
            LimitLine { name: "predicted".into(), points: predicted.clone() },
            LimitLine {
                name: "everything kept (measured)".into(),
                points: ends.iter().map(|x| (*x, whole)).collect(),
            },
        ],
    };
    Ok(plot.drawing(format!(
        "The least memory, {:.0} MiB of {whole:.0}, is at {} segments; √{layers} = {:.0}. {layers} layers in segments that \
         are run again: no point is farther than {} from its predicted line.",
        least.1,
        least.0,
        layers.sqrt(),
        Unit::Share.format(farthest(&found, &predicted))
    )))
}

/// Model and batch of a value.
fn case(value: &Value) -> String {
    ["model", "batch"].map(|name| value.param(name).unwrap_or_default()).join(", ")
}

fn table_parts(records: &Records) -> Result<TableData> {
    let parts = [
        ("weights", "weights"),
        ("gradients", "gradients"),
        ("optimizer", "Adam"),
        ("activations", "kept for the backward pass"),
        ("backward", "in the backward pass"),
    ];
    let of = |value: &Value, part: &str| PART.beside(value).with("part", part);
    let median = |quantity| records.get(quantity).map_or(f64::NAN, |bytes| bytes.median);
    let mut grid = Grid::new(records.every(MEMORY.at(&[("batch", &128)]))?)
        .column("model, batch", |value| case(value));
    for (part, head) in parts {
        grid = grid.column(head, move |value| of(value, part));
    }
    grid.column("the engine", |value| {
        let sum: f64 = parts.iter().map(|(part, _)| median(of(value, part))).sum();
        let beyond = median(PREDICTED.beside(value)) - sum;
        let sign = if beyond < 0.0 { "−" } else { "+" };
        format!("{sign}{}", Unit::Bytes.format(beyond.abs()))
    })
    .table(
        records,
        "What a step must keep in memory, part by part, and what the engine takes beyond or below it.",
    )
}
