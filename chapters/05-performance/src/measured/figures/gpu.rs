//! The tables of this part, from records.

use crate::{
    gpu::{
        fused::{Operation, Way},
        overlap,
    },
    measured::experiments::gpu::{BATCHES, EXPECTED},
};
use lab::{Error, Records, Result, Table, TableData, Unit};

/// This part's tables.
pub fn tables() -> Vec<Table> {
    vec![
        Table { key: "performance.gpu.fused", make: fused },
        Table { key: "performance.gpu.graph", make: graph },
        Table { key: "performance.gpu.overlap", make: overlap },
    ]
}

/// What a reader calls a device.
fn device_name(id: &str) -> &str {
    match id {
        "opencl-cpu" => "this CPU through OpenCL",
        "opencl-gpu" => "GPU through OpenCL",
        _ => "GPU through CUDA",
    }
}

fn fused(records: &Records) -> Result<TableData> {
    let (mut rows, mut best) = (Vec::new(), None::<(f64, String)>);
    let mut missing = None;
    for device in EXPECTED {
        for operation in Operation::ALL.map(Operation::name) {
            for size in ["small", "large"] {
                let of = |key: &str, way: Way| {
                    let list: lab::record::ParamList = &[
                        ("device", &device),
                        ("operation", &operation),
                        ("size", &size),
                        ("way", &way.name()),
                    ];
                    records.find(key, list)
                };
                let speedup = records.find(
                    "performance.gpu.fused.speedup",
                    &[("device", &device), ("operation", &operation), ("size", &size)],
                );
                let speedup = match speedup {
                    Ok(speedup) => speedup,
                    Err(error) => {
                        missing.get_or_insert(error);
                        continue;
                    }
                };
                let predicted = of("performance.gpu.fused.predicted", Way::Unfused)?.median
                    / of("performance.gpu.fused.predicted", Way::Fused)?.median;
                if best.as_ref().is_none_or(|(most, _)| speedup.median > *most) {
                    let words = format!("{operation}, {size}, on {}", device_name(device));
                    best = Some((speedup.median, words));
                }
                let mut row = vec![
                    format!("{operation}, {size}, on {}", device_name(device)),
                    of("performance.gpu.fused", Way::Unfused)?.text(),
                    of("performance.gpu.fused", Way::Fused)?.text(),
                ];
                row.push(Unit::Ratio.format(predicted));
                row.push(speedup.text());
                rows.push(row);
            }
        }
    }
    let Some((most, what)) = best else {
        return Err(missing.unwrap_or_else(|| Error::Message("there are no devices".to_owned())));
    };
    Ok(TableData {
        caption: format!(
            "Fusion makes the most of a difference, {}, in: {what}.",
            Unit::Ratio.format(most)
        ),
        head: ["operation", "one at a time", "fused", "predicted gain", "gain"]
            .map(str::to_owned)
            .to_vec(),
        rows,
    })
}

/// The words of a value, or a dash where the machine lacks what it takes.
fn cell(found: Result<&lab::record::Value>) -> Result<String> {
    match found {
        Ok(value) => Ok(value.text()),
        Err(Error::Skipped { .. }) => Ok("–".to_owned()),
        Err(error) => Err(error),
    }
}

fn graph(records: &Records) -> Result<TableData> {
    let (mut rows, mut missing, mut found) = (Vec::new(), None, Vec::new());
    for device in EXPECTED {
        for batch in BATCHES {
            let of = |key: &str, way: &str| {
                records.find(key, &[("device", &device), ("batch", &batch), ("way", &way)])
            };
            let launched = match of("performance.gpu.graph", "launched") {
                Ok(launched) => launched,
                Err(error) => {
                    missing.get_or_insert(error);
                    continue;
                }
            };
            let gain = records
                .find("performance.gpu.graph.speedup", &[("device", &device), ("batch", &batch)]);
            if let Ok(gain) = &gain {
                found.push(format!("{} at {batch}", gain.text()));
            }
            rows.push(vec![
                format!("batch {batch}, {}", device_name(device)),
                of("performance.gpu.graph.issued", "launched")?.text(),
                launched.text(),
                cell(of("performance.gpu.graph", "replayed"))?,
                cell(gain)?,
            ]);
        }
    }
    if rows.is_empty() {
        return Err(missing.unwrap_or_else(|| Error::Message("there are no devices".to_owned())));
    }
    let caption = if found.is_empty() {
        "A step launched kernel by kernel; this machine has nothing that could replay it."
            .to_owned()
    } else {
        format!("Replaying a step instead of launching it gains {}.", found.join(", "))
    };
    let head = ["step", "calls have returned", "step is done", "replayed", "gain"];
    Ok(TableData { caption, head: head.map(str::to_owned).to_vec(), rows })
}

fn overlap(records: &Records) -> Result<TableData> {
    let (mut rows, mut shares) = (Vec::new(), Vec::new());
    for batch in BATCHES {
        let mut row = vec![format!("batch {batch}")];
        for way in overlap::Way::ALL {
            let list: lab::record::ParamList =
                &[("device", &"cuda"), ("batch", &batch), ("way", &way.name())];
            row.push(records.find("performance.gpu.overlap", list)?.text());
        }
        let list: lab::record::ParamList = &[("device", &"cuda"), ("batch", &batch)];
        let share = records.find("performance.gpu.overlap.copies", list)?;
        shares.push(format!("{} at {batch}", share.text()));
        rows.push(row);
    }
    let mut head = vec!["step".to_owned()];
    head.extend(overlap::Way::ALL.map(|way| way.name().to_owned()));
    let caption = format!(
        "With plain copies, this share of a step is copying: {}. The last column hides it.",
        shares.join(", ")
    );
    Ok(TableData { caption, head, rows })
}
