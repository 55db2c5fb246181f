//! Feeding the trainer as figures and tables.

use crate::measured::experiments::input::{COMPUTE, PIECES, RATE, SOURCE};
use lab::{
    Drawing, Error, Figure, Records, Result, Samples, Table, TableData, Unit,
    drawing::Lines,
    plot::{Axis, LimitLine, LinePlot, Scale, Series},
    record::Value,
    table::Grid,
};

/// This part's figures.
pub fn figures() -> Vec<Figure> {
    vec![
        Figure { key: "performance.input", draw: draw_input },
        Figure { key: "performance.input.queue", draw: draw_queue },
        Figure { key: "performance.pieces", draw: draw_pieces },
    ]
}

/// This part's tables.
pub fn tables() -> Vec<Table> {
    vec![Table { key: "performance.input", make: table_input }]
}

/// Sources as they are recorded, and for people.
const SOURCES: [(&str, &str); 5] = [
    ("numbers", "memory, decoded once"),
    ("bytes", "memory, decoded per batch"),
    ("disk", "disk"),
    ("packed", "disk, packed"),
    ("warped", "disk, packed, and warped"),
];
const MODELS: [&str; 2] = ["linear", "mlp"];

/// The times of one model with one source, in seconds of a batch.
struct Times {
    compute: f64,
    source: f64,
    alone: f64,
    prefetched: f64,
}

/// Images of a batch, by which rates become times.
const BATCH: f64 = 128.0;

fn times(records: &Records, model: &str, source: &str) -> Result<Times> {
    let rates = RATE.at(&[("model", &model), ("source", &source)]);
    let alone = records.get(rates.clone().with("queue", "none"))?;
    let queued = records.over("queue", rates)?;
    let best = queued.into_iter().map(|(_, rate)| rate.median).fold(0.0, f64::max);
    Ok(Times {
        compute: records.get(COMPUTE.at(&[("model", &model)]))?.median,
        source: records.get(SOURCE.at(&[("source", &source)]))?.median,
        alone: BATCH / alone.median,
        prefetched: BATCH / best,
    })
}

/// Each model with each source, and what that is called.
fn cases() -> impl Iterator<Item = (&'static str, &'static str, &'static str)> {
    MODELS.into_iter().flat_map(|model| SOURCES.map(|(source, name)| (model, source, name)))
}

fn draw_input(records: &Records) -> Result<Drawing> {
    let (mut alone, mut prefetched, mut gains) = (vec![], vec![], vec![]);
    let (mut of_sum, mut of_larger) = (Samples::default(), Samples::default());
    for (model, source, name) in cases() {
        let t = times(records, model, source)?;
        let x = t.source / t.compute;
        alone.push((x, t.alone / t.compute));
        prefetched.push((x, t.prefetched / t.compute));
        of_sum.0.push(t.alone / (t.compute + t.source));
        of_larger.0.push(t.prefetched / t.compute.max(t.source));
        gains.push((t.alone / t.prefetched, model, name));
    }
    let best = gains.iter().max_by(|a, b| a.0.total_cmp(&b.0));
    let best = best.ok_or_else(|| Error::message("there are no sources"))?;
    for points in [&mut alone, &mut prefetched] {
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
    }
    let low = alone.iter().map(|p| p.0).fold(f64::MAX, f64::min);
    let high = alone.iter().map(|p| p.0).fold(f64::MIN, f64::max);
    let grid: Vec<f64> = (0..=40).map(|i| low * (high / low).powf(f64::from(i) / 40.0)).collect();
    let line = |name: &str, of: fn(f64) -> f64| LimitLine {
        name: name.to_owned(),
        points: grid.iter().map(|x| (*x, of(*x))).collect(),
    };
    let plot = LinePlot {
        x: Axis::new("time to make a batch ÷ time to train on it", Scale::Log),
        y: Axis::new("time of a step ÷ time to train", Scale::Log),
        series: vec![
            Series::dots("one after the other", alone),
            Series::dots("prefetched", prefetched),
        ],
        limits: vec![
            line("sum: 1 + x", |x| 1.0 + x),
            line("larger one: max(1, x)", |x| x.max(1.0)),
        ],
    };
    Ok(plot.drawing(format!(
        "With prefetch a step takes {} times the larger of both times, in turn {} times the sum. Medians of {} cases. \
         Prefetch gains most for {} from {}: {}. It can never gain more than 2×.",
        Unit::Number.format(of_larger.median()),
        Unit::Number.format(of_sum.median()),
        gains.len(),
        best.1,
        best.2,
        Unit::Ratio.format(best.0)
    )))
}

fn draw_queue(records: &Records) -> Result<Drawing> {
    let packed = |model: &str| RATE.at(&[("model", &model), ("source", &"packed")]);
    let (mut longer, mut slots) = (Vec::new(), String::new());
    for model in MODELS {
        let all = records.over("queue", packed(model))?;
        if let [(short, low), .., (long, high)] = &all[..] {
            let gain = Unit::Ratio.format(high.median / low.median);
            longer.push(format!("{gain} for {model}"));
            slots = format!("{long} slots over {short}");
        }
    }
    let lines = Lines {
        over: "queue",
        x: Axis::new("queue (batches)", Scale::Log),
        y: Axis::new("rate (thousand images/s)", Scale::Linear),
        scale: |rate| rate / 1e3,
        lines: MODELS.map(|model| (model.to_owned(), packed(model))).into(),
        ..Lines::default()
    };
    let mut plot = lines.plot(records)?;
    let ticks = plot.x.ticks.clone().unwrap_or_default();
    for model in MODELS {
        let t = times(records, model, "packed")?;
        let rate = BATCH / t.compute.max(t.source) / 1e3;
        let ends = ticks.first().into_iter().chain(ticks.last());
        let points = ends.map(|queue| (*queue, rate)).collect();
        plot.limits.push(LimitLine { name: format!("{model}: larger time"), points });
    }
    Ok(plot.drawing(format!(
        "A longer queue gives {}. The rate from packed images, {slots}: no queue goes beyond the dashed line, the larger \
         of the two times.",
        longer.join(", and ")
    )))
}

fn draw_pieces(records: &Records) -> Result<Drawing> {
    let mut series = vec![];
    let mut found = vec![];
    let mut missing = None;
    for (device, way, name) in [
        ("cpu", "staged", "CPU, through a staging buffer"),
        ("cuda", "pageable", "GPU, pageable"),
        ("cuda", "pinned", "GPU, pinned"),
    ] {
        let all = match records.over("piece", PIECES.at(&[("device", &device), ("way", &way)])) {
            Ok(all) => all,
            Err(error) => {
                missing.get_or_insert(error);
                continue;
            }
        };
        if let Some((piece, rate)) = all.iter().max_by(|a, b| a.1.median.total_cmp(&b.1.median)) {
            found.push(format!(
                "{name}: best with pieces of {}, {}",
                Unit::Bytes.format(*piece),
                rate.text()
            ));
        }
        let points: Vec<(f64, &Value)> = all.into_iter().map(|(x, v)| (x / 1024.0, v)).collect();
        series.push(Series::of(name, &points, |rate| rate / 1e9));
    }
    if let ([], Some(error)) = (&series[..], missing) {
        return Err(error);
    }
    let plot = LinePlot {
        x: Axis::new("piece (KiB)", Scale::Log).ticks([0.25, 4.0, 64.0, 1024.0, 16384.0, 65536.0]),
        y: Axis::new("rate (GB/s)", Scale::Linear),
        series,
        limits: vec![],
    };
    Ok(plot.drawing(format!("{}.", found.join("; "))))
}

fn table_input(records: &Records) -> Result<TableData> {
    let mut rows = vec![];
    let mut off = vec![];
    for (model, source, name) in cases() {
        let t = times(records, model, source)?;
        off.push((t.prefetched / t.compute.max(t.source) - 1.0).abs());
        rows.push((format!("{model}, {name}"), t));
    }
    let seconds = |seconds: f64| Unit::Seconds.format(seconds);
    Grid::new(rows)
        .column("model, source", |(name, _)| name.clone())
        .column("make", |(_, t)| seconds(t.source))
        .column("train", |(_, t)| seconds(t.compute))
        .column("sum", |(_, t)| seconds(t.source + t.compute))
        .column("one after the other", |(_, t)| seconds(t.alone))
        .column("larger one", |(_, t)| seconds(t.source.max(t.compute)))
        .column("prefetched", |(_, t)| seconds(t.prefetched))
        .table(
            records,
            format!(
                "Times of a batch of 128. With prefetch, a step takes the larger of the two times, within {} in the worst case.",
                Unit::Share.format(off.into_iter().fold(0.0, f64::max))
            ),
        )
}
