//! Memory as pictures and tables: predictions are lines, measurements are points.

use crate::memory::recompute::best_segments;
use lab::{
    Drawing, Error, Figure, Records, Result, Table, TableData, Unit,
    plot::{Axis, LimitLine, LinePlot, Scale, Series},
    record::{ParamList, Value},
    units::{difference, scientific},
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
    vec![
        Table { key: "performance.memory", make: table_memory },
        Table { key: "performance.memory.parts", make: table_parts },
        Table { key: "performance.accumulate", make: table_accumulate },
        Table { key: "performance.recompute", make: table_recompute },
    ]
}

const MIB: f64 = 1_048_576.0;

/// The number of a parameter.
pub fn number(value: &Value, name: &str) -> Option<f64> {
    value.params.get(name)?.parse().ok()
}

/// Points (parameter, median) of all values with this key and these parameters, in rising order.
pub fn points(records: &Records, key: &str, list: ParamList, x: &str) -> Result<Vec<(f64, f64)>> {
    let all = records.all(key, list);
    let mut points: Vec<(f64, f64)> =
        all.into_iter().filter_map(|value| Some((number(value, x)?, value.median))).collect();
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    if points.is_empty() {
        return Err(Error::NotMeasured { what: key.into(), chapter: "performance".into() });
    }
    Ok(points)
}

fn mebibytes(points: Vec<(f64, f64)>) -> Vec<(f64, f64)> {
    points.into_iter().map(|(x, bytes)| (x, bytes / MIB)).collect()
}

fn dots(name: impl Into<String>, points: Vec<(f64, f64)>) -> Series {
    Series { name: name.into(), points, band: vec![], joined: false }
}

/// The largest distance of a measurement from its prediction, as a share of it.
fn farthest(measured: &[(f64, f64)], predicted: &[(f64, f64)]) -> f64 {
    let off = measured.iter().zip(predicted).map(|((_, m), (_, p))| (m / p - 1.0).abs());
    off.fold(0.0, f64::max)
}

fn ticks(points: &[(f64, f64)]) -> Vec<f64> {
    points.iter().map(|(x, _)| *x).collect()
}

fn draw_memory(records: &Records) -> Result<Drawing> {
    let (mut series, mut limits, mut off, mut alt) = (vec![], vec![], 0.0_f64, vec![]);
    let mut batches: Vec<f64> = Vec::new();
    for (model, name) in [("cnn", "CNN"), ("mlp", "MLP")] {
        let list: ParamList = &[("model", &model)];
        let of = |key| points(records, key, list, "batch").map(mebibytes);
        let found = of("performance.memory")?;
        let predicted = of("performance.memory.predicted")?;
        off = off.max(farthest(&found, &predicted));
        batches.extend(ticks(&found));
        if let (Some(first), Some(last)) = (found.first(), found.last()) {
            alt.push(format!(
                "{name}: from {:.1} MiB with a batch of {} to {:.0} MiB with {}",
                first.1, first.0, last.1, last.0
            ));
        }
        series.push(dots(format!("{name}, measured"), found));
        limits.push(LimitLine { name: format!("{name}, predicted"), points: predicted });
    }
    batches.sort_by(f64::total_cmp);
    batches.dedup();
    let plot = LinePlot {
        x: Axis::new("batch (pictures)", Scale::Log).ticks(batches),
        y: Axis::new("highest point of a step (MiB)", Scale::Log),
        series,
        limits,
    };
    Ok(Drawing {
        svg: plot.svg(),
        caption: format!(
            "Counted before the run, and metered in it: no point is farther than {} from its line. On the left the \
             weights and what belongs to them are all there is; on the right the batch is.",
            Unit::Share.format(off)
        ),
        alt: format!(
            "Memory of a training step over the batch, with predictions. {}.",
            alt.join("; ")
        ),
    })
}

fn draw_accumulate(records: &Records) -> Result<Drawing> {
    let list: ParamList = &[("model", &"mlp")];
    let found = mebibytes(points(records, "performance.accumulate", list, "piece")?);
    let predicted = mebibytes(points(records, "performance.accumulate.predicted", list, "piece")?);
    let (Some(small), Some(whole)) = (found.first().copied(), found.last().copied()) else {
        return Err(Error::message("there are no pieces"));
    };
    let plot = LinePlot {
        x: Axis::new("piece (pictures)", Scale::Log).ticks(ticks(&found)),
        y: Axis::new("highest point of a step (MiB)", Scale::Log),
        series: vec![dots("measured", found)],
        limits: vec![LimitLine { name: "predicted".into(), points: predicted }],
    };
    Ok(Drawing {
        svg: plot.svg(),
        caption: format!(
            "The same {} pictures in pieces: {:.1} MiB at once, {:.1} MiB in pieces of {}. Below some size the weights \
             are what is left.",
            whole.0, whole.1, small.1, small.0
        ),
        alt: format!(
            "Memory of a step in pieces over the size of a piece: {:.1} MiB at {}, {:.1} MiB at {}.",
            small.1, small.0, whole.1, whole.0
        ),
    })
}

fn draw_recompute(records: &Records) -> Result<Drawing> {
    let list: ParamList = &[];
    let cut = |points: Vec<(f64, f64)>| -> (Vec<(f64, f64)>, f64) {
        let whole = points.iter().find(|p| p.0 < 0.5).map_or(f64::NAN, |p| p.1);
        (points.into_iter().filter(|p| p.0 > 0.5).collect(), whole)
    };
    let (found, whole) =
        cut(mebibytes(points(records, "performance.recompute", list, "segments")?));
    let (predicted, _) =
        cut(mebibytes(points(records, "performance.recompute.predicted", list, "segments")?));
    let first = records.all("performance.recompute", list);
    let layers = first.first().and_then(|v| number(v, "layers")).unwrap_or(f64::NAN);
    let Some(&least) = found.iter().min_by(|a, b| a.1.total_cmp(&b.1)) else {
        return Err(Error::message("there are no segments"));
    };
    let ends = [found[0].0, found[found.len() - 1].0];
    let plot = LinePlot {
        x: Axis::new("segments", Scale::Log).ticks(ticks(&found)),
        y: Axis::new("highest point of a step (MiB)", Scale::Linear).range(0.0, 1.1 * whole),
        series: vec![dots("measured", found.clone())],
        limits: vec![
            LimitLine { name: "predicted".into(), points: predicted.clone() },
            LimitLine {
                name: "everything kept (measured)".into(),
                points: ends.iter().map(|x| (*x, whole)).collect(),
            },
        ],
    };
    Ok(Drawing {
        svg: plot.svg(),
        caption: format!(
            "{layers} layers in segments that are run again: the least memory, {:.0} MiB of {whole:.0}, is at {} \
             segments; the square root says √(3·{layers}) ≈ {:.1}. No point is farther than {} from its line.",
            least.1,
            least.0,
            best_segments(layers as usize, 3.0),
            Unit::Share.format(farthest(&found, &predicted))
        ),
        alt: format!(
            "Memory over the number of segments: {}; everything kept: {whole:.0} MiB.",
            found
                .iter()
                .map(|(x, y)| format!("{x} segments {y:.0} MiB"))
                .collect::<Vec<_>>()
                .join(", ")
        ),
    })
}

fn heads(names: &[&str]) -> Vec<String> {
    names.iter().map(ToString::to_string).collect()
}

fn table_memory(records: &Records) -> Result<TableData> {
    let all = records.all("performance.memory", &[]);
    let mut rows = Vec::new();
    let (mut lowest, mut highest) = (f64::MAX, f64::MIN);
    for value in &all {
        let (Some(model), Some(batch)) = (value.params.get("model"), value.params.get("batch"))
        else {
            continue;
        };
        let list: ParamList = &[("model", model), ("batch", batch)];
        let predicted = records.find("performance.memory.predicted", list)?.median;
        let least = records.find("performance.memory.least", list)?.median;
        let halved = records.find("performance.memory.halved", list).ok();
        if let Some(halved) = halved {
            (lowest, highest) = (lowest.min(halved.median), highest.max(halved.median));
        }
        rows.push(vec![
            format!("{model}, {batch}"),
            Unit::Bytes.format(least),
            Unit::Bytes.format(predicted),
            value.text(),
            format!("{}%", difference(100.0 * (value.median / predicted - 1.0), 1)),
            halved.map_or_else(|| "–".to_owned(), Value::text),
        ]);
    }
    if rows.is_empty() {
        return Err(Error::NotMeasured {
            what: "performance.memory".into(),
            chapter: "performance".into(),
        });
    }
    Ok(TableData {
        caption: format!(
            "Half the batch leaves between {} and {} of the memory, never exactly half.",
            Unit::Share.format(lowest),
            Unit::Share.format(highest)
        ),
        head: heads(&[
            "model, batch",
            "chapter 3's counter",
            "predicted for dfdx",
            "measured",
            "off by",
            "with half the batch",
        ]),
        rows,
    })
}

fn table_parts(records: &Records) -> Result<TableData> {
    let names = ["weights", "gradients", "optimizer", "activations", "backward"];
    let all = records.all("performance.memory", &[("batch", &128)]);
    let mut rows = Vec::new();
    for value in all {
        let (Some(model), Some(batch)) = (value.params.get("model"), value.params.get("batch"))
        else {
            continue;
        };
        let mut row = vec![format!("{model}, {batch}")];
        let mut sum = 0.0;
        for part in names {
            let list: ParamList = &[("model", model), ("batch", batch), ("part", &part)];
            let bytes = records.find("performance.memory.part", list)?.median;
            sum += bytes;
            row.push(Unit::Bytes.format(bytes));
        }
        let list: ParamList = &[("model", model), ("batch", batch)];
        let predicted = records.find("performance.memory.predicted", list)?.median;
        row.push(format!(
            "{}{}",
            if predicted < sum { "−" } else { "+" },
            Unit::Bytes.format((predicted - sum).abs())
        ));
        rows.push(row);
    }
    if rows.is_empty() {
        return Err(Error::NotMeasured {
            what: "performance.memory.part".into(),
            chapter: "performance".into(),
        });
    }
    Ok(TableData {
        caption: "What a step must hold, part by part, and what dfdx holds beyond or below it."
            .to_owned(),
        head: heads(&[
            "model, batch",
            "weights",
            "gradients",
            "Adam",
            "kept for the way back",
            "on the way back",
            "dfdx",
        ]),
        rows,
    })
}

fn table_accumulate(records: &Records) -> Result<TableData> {
    let mut rows = Vec::new();
    let mut farthest = 0.0_f64;
    for value in records.all("performance.accumulate", &[("model", &"mlp")]) {
        let Some(piece) = value.params.get("piece") else { continue };
        let list: ParamList = &[("model", &"mlp"), ("piece", piece)];
        let off = records.find("performance.accumulate.off", list)?;
        farthest = farthest.max(off.median);
        rows.push(vec![
            piece.clone(),
            records.find("performance.accumulate.predicted", list)?.text(),
            value.text(),
            records.find("performance.accumulate.seconds", list)?.text(),
            scientific(off.median, 2),
        ]);
    }
    if rows.is_empty() {
        return Err(Error::NotMeasured {
            what: "performance.accumulate".into(),
            chapter: "performance".into(),
        });
    }
    Ok(TableData {
        caption: format!(
            "The same gradient in pieces: never farther than {} of its length from the whole batch's.",
            scientific(farthest, 2)
        ),
        head: heads(&["piece", "predicted", "measured", "time of a step", "distance"]),
        rows,
    })
}

fn table_recompute(records: &Records) -> Result<TableData> {
    let mut rows = Vec::new();
    let mut slower = Vec::new();
    for value in records.all("performance.recompute", &[]) {
        let Some(segments) = value.params.get("segments") else { continue };
        let list: ParamList = &[("segments", segments)];
        let ratio = records.find("performance.recompute.slower", list)?;
        let none = segments == "0";
        if !none {
            slower.push(ratio.median);
        }
        rows.push(vec![
            if none { "none: everything kept".to_owned() } else { segments.clone() },
            records.find("performance.recompute.predicted", list)?.text(),
            value.text(),
            records.find("performance.recompute.seconds", list)?.text(),
            ratio.text(),
        ]);
    }
    if rows.is_empty() {
        return Err(Error::NotMeasured {
            what: "performance.recompute".into(),
            chapter: "performance".into(),
        });
    }
    let (low, high) =
        slower.iter().fold((f64::MAX, f64::MIN), |(low, high), s| (low.min(*s), high.max(*s)));
    Ok(TableData {
        caption: format!(
            "Recomputing takes {} to {} times the time of keeping everything.",
            Unit::Number.format(low),
            Unit::Number.format(high)
        ),
        head: heads(&["segments", "predicted", "measured", "time of a step", "against keeping"]),
        rows,
    })
}
