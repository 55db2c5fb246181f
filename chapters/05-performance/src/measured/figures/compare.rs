//! Models, convolutions and batches as pictures and tables.

use crate::measured::experiments::compare::{BATCH, BATCHES, LAYERS, LONG, MODELS, TARGETS, WAYS};
use lab::{
    Drawing, Error, Figure, Records, Result, Table, TableData, Unit,
    plot::{Axis, Bar, BarPlot, LimitLine, LinePlot, Scale, Series},
    record::ParamList,
    units::plain,
};

/// This part's figures.
pub fn figures() -> Vec<Figure> {
    vec![
        Figure { key: "performance.convolution", draw: draw_convolutions },
        Figure { key: "performance.time_to", draw: draw_budgets },
        Figure { key: "performance.batch", draw: draw_batches },
    ]
}

/// This part's tables.
pub fn tables() -> Vec<Table> {
    vec![
        Table { key: "performance.time_to", make: table_targets },
        Table { key: "performance.batch", make: table_batches },
    ]
}

fn draw_convolutions(records: &Records) -> Result<Drawing> {
    let (mut bars, mut limits, mut best) = (Vec::new(), Vec::new(), Vec::new());
    for layer in LAYERS {
        let mut fastest = (f64::NEG_INFINITY, "");
        for (way, name) in WAYS {
            let list: ParamList = &[("layer", &layer.name), ("way", &way)];
            let value = records.find("performance.convolution", list)?;
            if value.median > fastest.0 {
                fastest = (value.median, name);
            }
            bars.push(Bar::of(&format!("{}: {name}", layer.name), Ok(value), 1e9)?);
            if let (true, Some(limit)) = (limits.is_empty(), &value.limit) {
                limits.push((limit.name.clone(), limit.value / 1e9));
            }
        }
        best.push(format!("{} for {}", fastest.1, layer.name));
    }
    let axis = Axis::new("GFLOP/s", Scale::Linear);
    Ok(BarPlot { axis, bars, limits }.drawing(format!(
        "Convolutions forward, {BATCH} pictures at once, on all cores. Fastest: {}.",
        best.join(", ")
    )))
}

/// A model's budgets: seconds, wrong answers in percent (median, low, high), epochs.
fn points(records: &Records, at: usize) -> Result<Vec<(f64, [f64; 3], usize)>> {
    let (model, budgets) = MODELS[at];
    let point = |key: &str, epochs: usize| {
        let list: ParamList = &[("model", &model), ("epochs", &epochs)];
        let share = records.find(key, list)?;
        let seconds = records.find(&format!("{key}.seconds"), list)?.median;
        let wrong = [share.median, share.high, share.low].map(|share| 100.0 * (1.0 - share));
        Ok((seconds, wrong, epochs))
    };
    let mut points: Vec<_> =
        budgets.iter().map(|n| point("performance.time_to", *n)).collect::<Result<_>>()?;
    for epochs in LONG.iter().filter(|(of, _)| *of == model).flat_map(|(_, budgets)| *budgets) {
        match point("performance.time_long", *epochs) {
            Ok(point) => points.push(point),
            // A machine that has not taken these minutes yet shows the others.
            Err(Error::NotMeasured { .. } | Error::Skipped { .. }) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(points)
}

fn draw_budgets(records: &Records) -> Result<Drawing> {
    let mut series = Vec::new();
    for (at, (model, _)) in MODELS.iter().enumerate() {
        let points = points(records, at)?;
        series.push(Series {
            name: model.to_string(),
            points: points.iter().map(|(seconds, wrong, _)| (*seconds, wrong[0])).collect(),
            band: points.iter().map(|(_, wrong, _)| (wrong[1], wrong[2])).collect(),
            joined: true,
        });
    }
    let ends = series.iter().flat_map(|s| &s.points).map(|point| point.0);
    let (low, high) = (ends.clone().fold(f64::MAX, f64::min), ends.fold(0.0, f64::max));
    let limits = TARGETS.iter().map(|share| {
        let wrong = 100.0 * (1.0 - share);
        let name = format!("{:.0}% right", 100.0 * share);
        LimitLine { name, points: vec![(low, wrong), (high, wrong)] }
    });
    let fastest = first(records, TARGETS[1])?;
    let caption = format!(
        "Wrong answers on the test pictures against seconds of training. Each point is a training of its own, with a \
         schedule that ends there; medians and quartiles of five seeds. {}",
        fastest.map_or_else(String::new, |(model, seconds, epochs)| format!(
            "The first to read 98% is {model}, after {} ({epochs} epochs).",
            Unit::Seconds.format(seconds)
        ))
    );
    let limits = limits.collect();
    let plot = LinePlot {
        x: Axis::new("seconds of training", Scale::Log),
        y: Axis::new("wrong answers (%)", Scale::Log),
        series,
        limits,
    };
    Ok(plot.drawing(caption))
}

/// Which model reaches a share first, and after how many seconds and epochs.
fn first(records: &Records, share: f64) -> Result<Option<(String, f64, usize)>> {
    let mut fastest: Option<(String, f64, usize)> = None;
    for (at, (model, _)) in MODELS.iter().enumerate() {
        if let Some((seconds, epochs)) = reaches(records, at, share)?
            && fastest.as_ref().is_none_or(|(_, best, _)| seconds < *best)
        {
            fastest = Some((model.to_string(), seconds, epochs));
        }
    }
    Ok(fastest)
}

/// The least seconds, with their epochs, after which the median of the seeds is as good as `share`.
fn reaches(records: &Records, at: usize, share: f64) -> Result<Option<(f64, usize)>> {
    let points = points(records, at)?.into_iter();
    let enough = points.filter(|(_, wrong, _)| wrong[0] <= 100.0 * (1.0 - share) + 1e-9);
    Ok(enough.map(|(seconds, _, epochs)| (seconds, epochs)).min_by(|a, b| a.0.total_cmp(&b.0)))
}

fn table_targets(records: &Records) -> Result<TableData> {
    let mut rows = Vec::new();
    for (at, (model, _)) in MODELS.iter().enumerate() {
        let mut row = vec![model.to_string()];
        for share in TARGETS {
            row.push(reaches(records, at, share)?.map_or_else(
                || "–".to_owned(),
                |(seconds, epochs)| format!("{} ({epochs})", Unit::Seconds.format(seconds)),
            ));
        }
        rows.push(row);
    }
    Ok(TableData {
        caption: "Seconds of training until the median of five seeds reads so many of the test pictures, and the \
                  epochs of that training in brackets."
            .into(),
        head: ["model", "97%", "98%", "99%"].map(String::from).into(),
        rows,
    })
}

fn draw_batches(records: &Records) -> Result<Drawing> {
    let mut lines = [("pictures a second", Vec::new()), ("speed to 97%", Vec::new())];
    let mut best = (f64::MAX, 0);
    for batch in BATCHES {
        let rate = records.find("performance.batch.rate", &[("batch", &batch)])?;
        lines[0].1.push((batch as f64, [rate.median, rate.low, rate.high]));
        match records.find("performance.batch", &[("batch", &batch)]) {
            Ok(seconds) => {
                if seconds.median < best.0 {
                    best = (seconds.median, batch);
                }
                let points = [seconds.median, seconds.high, seconds.low].map(|s| 1.0 / s);
                lines[1].1.push((batch as f64, points));
            }
            Err(Error::Skipped { .. }) => {}
            Err(error) => return Err(error),
        }
    }
    // Both over their value for the smallest batch.
    let series: Vec<Series> = lines
        .into_iter()
        .map(|(name, points)| {
            let one = points.first().map_or(1.0, |point: &(f64, [f64; 3])| point.1[0]);
            Series {
                name: name.to_owned(),
                points: points.iter().map(|(batch, v)| (*batch, v[0] / one)).collect(),
                band: points.iter().map(|(_, v)| (v[1] / one, v[2] / one)).collect(),
                joined: true,
            }
        })
        .collect();
    let plot = LinePlot {
        x: Axis::new("pictures of a batch", Scale::Log)
            .ticks(BATCHES.map(|batch| batch as f64).to_vec()),
        y: Axis::new(format!("over batch {}", BATCHES[0]), Scale::Log),
        series,
        limits: Vec::new(),
    };
    let caption = format!(
        "Throughput and what it is for, both over their value at the smallest batch: pictures a second, and one over the \
         seconds until 97% are read. The latter is best with {} pictures a batch.",
        best.1
    );
    Ok(plot.drawing(caption))
}

fn table_batches(records: &Records) -> Result<TableData> {
    let mut rows = Vec::new();
    for batch in BATCHES {
        let list: ParamList = &[("batch", &batch)];
        let rate = records.find("performance.batch.rate", list)?;
        let text = |key: &str| match records.find(key, list) {
            Ok(value) => Ok(value.text()),
            Err(Error::Skipped { .. }) => Ok("not reached".to_owned()),
            Err(error) => Err(error),
        };
        rows.push(vec![
            batch.to_string(),
            rate.params
                .get("lr")
                .and_then(|lr| lr.parse().ok())
                .map_or_else(|| "–".to_owned(), plain),
            rate.text(),
            text("performance.batch.epochs")?,
            text("performance.batch")?,
        ]);
    }
    Ok(TableData {
        caption: "The small perceptron in batches of several sizes, until it reads 97%; medians of five seeds."
            .into(),
        head: ["batch", "learning rate", "pictures a second", "epochs", "time to 97%"]
            .map(String::from)
            .into(),
        rows,
    })
}
