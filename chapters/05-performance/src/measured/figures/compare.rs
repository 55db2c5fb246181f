//! Models and batches as figures and tables.

use crate::measured::experiments::compare::{
    BATCH_RATE, BATCH_SECONDS, BATCHES, LONG_RIGHT, LONG_SECONDS, MODELS, RIGHT, SECONDS, TARGETS,
};
use lab::{
    Drawing, Error, Figure, Key, Records, Result, Table, TableData, Unit,
    plot::{Axis, LimitLine, LinePlot, Scale, Series},
    record::Value,
};
use training::Model;

/// This part's figures.
pub fn figures() -> Vec<Figure> {
    vec![
        Figure { key: RIGHT.name, draw: draw_budgets },
        Figure { key: BATCH_SECONDS.name, draw: draw_batches },
    ]
}

/// This part's tables.
pub fn tables() -> Vec<Table> {
    vec![Table { key: RIGHT.name, make: table_targets }]
}

/// From an accuracy to an error rate in percent.
fn wrong(share: f64) -> f64 {
    100.0 * (1.0 - share)
}

/// A model's training runs: their seconds and their accuracy.
fn points(records: &Records, model: Model) -> Result<Vec<(f64, &Value)>> {
    let of = |right: Key, seconds: Key| -> Result<Vec<_>> {
        let all = records.every(right.at(&[("model", &model)]))?.into_iter();
        all.map(|share| Ok((records.get(seconds.beside(share))?.median, share))).collect()
    };
    let mut points = of(RIGHT, SECONDS)?;
    match of(LONG_RIGHT, LONG_SECONDS) {
        Ok(long) => points.extend(long),
        // A machine that has not spent these minutes yet shows the others, and most models have no long run.
        Err(Error::NotMeasured { .. } | Error::Skipped { .. } | Error::Key(_)) => {}
        Err(error) => return Err(error),
    }
    Ok(points)
}

fn draw_budgets(records: &Records) -> Result<Drawing> {
    let mut series = Vec::new();
    for (model, _) in MODELS {
        series.push(Series::of(model.name(), &points(records, model)?, wrong));
    }
    let ends = series.iter().flat_map(|s| &s.points).map(|point| point.0);
    let (low, high) = (ends.clone().fold(f64::MAX, f64::min), ends.fold(0.0, f64::max));
    let limits = TARGETS.map(|share| LimitLine {
        name: format!("{:.0}% accuracy", 100.0 * share),
        points: [low, high].map(|seconds| (seconds, wrong(share))).into(),
    });
    let mut first: Option<(Model, f64, &str)> = None;
    for (model, _) in MODELS {
        let reached = reaches(records, model, TARGETS[1])?.map(|(s, epochs)| (model, s, epochs));
        first = first.into_iter().chain(reached).min_by(|a, b| a.1.total_cmp(&b.1));
    }
    let caption = format!(
        "{}Test error against seconds of training: each point is a separate training run, with a \
         schedule that ends there; medians and quartiles of five seeds.",
        first.map_or_else(String::new, |(model, seconds, epochs)| format!(
            "The first to reach 98% accuracy is {model}, after {} ({epochs} epochs). ",
            Unit::Seconds.format(seconds)
        ))
    );
    let plot = LinePlot {
        x: Axis::new("seconds of training", Scale::Log),
        y: Axis::new("test error (%)", Scale::Log),
        series,
        limits: limits.into(),
    };
    Ok(plot.drawing(caption))
}

/// The least seconds, with their epochs, after which the median of the seeds reaches `share`.
fn reaches(records: &Records, model: Model, share: f64) -> Result<Option<(f64, &str)>> {
    let points = points(records, model)?.into_iter();
    let enough = points.filter(|(_, right)| right.median >= share - 1e-11);
    let fastest = enough.min_by(|a, b| a.0.total_cmp(&b.0));
    Ok(fastest.map(|(seconds, right)| (seconds, right.param("epochs").unwrap_or_default())))
}

fn table_targets(records: &Records) -> Result<TableData> {
    let mut rows = Vec::new();
    for (model, _) in MODELS {
        let mut row = vec![model.to_string()];
        for share in TARGETS {
            row.push(reaches(records, model, share)?.map_or_else(
                || "–".to_owned(),
                |(seconds, epochs)| format!("{} ({epochs})", Unit::Seconds.format(seconds)),
            ));
        }
        rows.push(row);
    }
    Ok(TableData {
        caption: "Seconds of training until the median of five seeds reaches this test accuracy, and the \
                  epochs of that run in brackets."
            .into(),
        head: ["model", "97%", "98%", "99%"].map(String::from).into(),
        rows,
    })
}

fn draw_batches(records: &Records) -> Result<Drawing> {
    let rates = records.over("batch", BATCH_RATE.at(&[]))?;
    let times = match records.over("batch", BATCH_SECONDS.at(&[])) {
        Err(Error::Skipped { .. }) => Vec::new(),
        found => found?,
    };
    let best = times.iter().min_by(|a, b| a.1.median.total_cmp(&b.1.median));
    let caption = format!(
        "97% accuracy is reached first in batches of {}. Both lines over their value at the smallest batch: images a \
         second, and one over the seconds to 97% accuracy.",
        best.map_or(0.0, |(batch, _)| *batch)
    );
    // Both over their value for the smallest batch.
    let first = |points: &[(f64, &Value)]| points.first().map_or(1.0, |(_, value)| value.median);
    let (rate, time) = (first(&rates), first(&times));
    let plot = LinePlot {
        x: Axis::new("images of a batch", Scale::Log).ticks(BATCHES.map(|batch| batch as f64)),
        y: Axis::new(format!("over batch {}", BATCHES[0]), Scale::Log),
        series: vec![
            Series::of("images a second", &rates, |value| value / rate),
            Series::of("speed to 97%", &times, |seconds| time / seconds),
        ],
        limits: Vec::new(),
    };
    Ok(plot.drawing(caption))
}
