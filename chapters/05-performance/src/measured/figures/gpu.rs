//! The tables of this part, from records.

use crate::{
    gpu::{fused::Mode, overlap},
    measured::experiments::gpu::{
        BATCHES, COPIES, FUSED, FUSED_GAIN, FUSED_PREDICTED, GRAPH, GRAPH_GAIN, GRAPH_ISSUED,
        OVERLAP,
    },
};
use lab::{Key, Records, Result, Table, TableData, Unit, record::Value, table::Grid};

/// This part's tables.
pub fn tables() -> Vec<Table> {
    vec![
        Table { key: FUSED.name, make: fused },
        Table { key: GRAPH.name, make: graph },
        Table { key: OVERLAP.name, make: overlap },
    ]
}

/// What a reader calls a device.
pub(super) fn device_name(id: &str) -> &str {
    match id {
        "opencl-cpu" => "this CPU through OpenCL",
        "opencl-gpu" => "GPU through OpenCL",
        _ => "GPU through CUDA",
    }
}

/// A case of a value for a person.
fn case(value: &Value) -> String {
    let of = |name: &str| value.param(name).unwrap_or_default();
    let what = match value.param("batch") {
        Some(batch) => format!("batch {batch},"),
        None => format!("{}, {}, on", of("operation"), of("size")),
    };
    format!("{what} {}", device_name(of("device")))
}

fn fused(records: &Records) -> Result<TableData> {
    let gains = records.every(FUSED_GAIN.at(&[]))?;
    let best = gains.iter().max_by(|a, b| a.median.total_cmp(&b.median));
    let caption = best.map_or_else(String::new, |best| {
        let case = case(best);
        format!("Fusion makes the most of a difference, {}, in: {case}.", best.text())
    });
    let of = |key: Key, gain: &Value, way: Mode| key.beside(gain).with("way", way.name());
    Grid::new(gains)
        .column("operation", |gain| case(gain))
        .column("one at a time", |gain| of(FUSED, gain, Mode::Unfused))
        .column("fused", |gain| of(FUSED, gain, Mode::Fused))
        .column("predicted gain", |gain| {
            let [one, other] = [Mode::Unfused, Mode::Fused].map(|way| {
                let predicted = records.get(of(FUSED_PREDICTED, gain, way));
                predicted.map_or(f64::NAN, |seconds| seconds.median)
            });
            Unit::Ratio.format(one / other)
        })
        .column("gain", |gain| gain.text())
        .table(records, caption)
}

fn graph(records: &Records) -> Result<TableData> {
    let launched = records.every(GRAPH.at(&[("way", &"launched")]))?;
    let gains = launched.iter().filter_map(|step| {
        let gain = records.text(GRAPH_GAIN.beside(step)).ok()?;
        Some(format!("{gain} at {}", step.param("batch")?))
    });
    let gains: Vec<String> = gains.collect();
    let caption = if gains.is_empty() {
        "A step launched kernel by kernel; this machine cannot replay it.".to_owned()
    } else {
        format!("Replaying a step instead of launching it gains {}.", gains.join(", "))
    };
    Grid::new(launched)
        .column("step", |step| case(step))
        .column("calls have returned", |step| GRAPH_ISSUED.beside(step))
        .column("step is done", |step| step.text())
        .column("replayed", |step| GRAPH.beside(step).with("way", "replayed"))
        .column("gain", |step| GRAPH_GAIN.beside(step))
        .table(records, caption)
}

fn overlap(records: &Records) -> Result<TableData> {
    let of = |key: Key, batch: &usize| key.at(&[("device", &"cuda"), ("batch", batch)]);
    let mut shares = Vec::new();
    for batch in BATCHES {
        shares.push(format!("{} at {batch}", records.text(of(COPIES, &batch))?));
    }
    let caption = format!(
        "With plain copies, this fraction of a step is copying: {}. The last column hides it.",
        shares.join(", ")
    );
    let mut grid = Grid::new(BATCHES).column("step", |batch| format!("batch {batch}"));
    for way in overlap::Transfer::ALL.map(overlap::Transfer::name) {
        grid = grid.column(way, move |batch| of(OVERLAP, batch).with("way", way));
    }
    grid.table(records, caption)
}
