//! The part's figures and tables, made from one machine's records.

use crate::measured::experiments::split::{KEPT, MICROS, PIPELINE, PIPELINE_PREDICTED};
use crate::split::schedule::bubble;
use lab::{
    Drawing, Figure, Key, Records, Result, Table, TableData, Unit,
    drawing::{Limits, Lines},
    key::Quantity,
    plot::{Axis, LimitLine, Scale},
    table::Grid,
};

/// The figures that the page quotes.
pub fn figures() -> Vec<Figure> {
    vec![Figure { key: PIPELINE.name, draw: draw_pipeline }]
}

/// The tables that the page quotes.
pub fn tables() -> Vec<Table> {
    vec![Table { key: PIPELINE.name, make: table_pipeline }]
}

/// A value of the pipeline's records.
fn of_pipeline(key: Key, device: &str, schedule: &str, stages: usize) -> Quantity {
    key.at(&[("device", &device), ("stages", &stages), ("schedule", &schedule)])
}

fn draw_pipeline(records: &Records) -> Result<Drawing> {
    let of = |stages| of_pipeline(PIPELINE, "equal", "1f1b", stages);
    let mut off = 0.0_f64;
    for stages in [2, 4] {
        for micros in MICROS {
            let value = records.get(of(stages).with("micros", micros))?;
            off = off.max((value.median - bubble(stages, micros)).abs());
        }
    }
    let text = |micros: usize| records.text(of(4).with("micros", micros));
    let caption = format!(
        "Four stages wait {} of the time with one micro-batch, {} with 16. Measured and predicted differ by {} percentage \
         points at most. Equal stages, under 1F1B.",
        text(1)?,
        text(16)?,
        Unit::Number.format(100.0 * off)
    );
    let mut plot = Lines {
        over: "micros",
        x: Axis::new("micro-batches m", Scale::Log).ticks(MICROS.map(|m| m as f64)),
        y: Axis::new("time spent waiting in %", Scale::Linear).range(0.0, 85.0),
        scale: |share| 100.0 * share,
        lines: [2, 4].map(|stages| (format!("{stages} stages"), of(stages))).into(),
        limits: Limits::None,
    }
    .plot(records)?;
    plot.limits.extend([2_u8, 4].map(|stages| {
        LimitLine {
            name: format!("(p − 1)/(m + p − 1), p = {stages}"),
            points: (0..=40)
                .map(|at| {
                    let m = 16_f64.powf(f64::from(at) / 40.0);
                    let p = f64::from(stages);
                    (m, 100.0 * (p - 1.0) / (m + p - 1.0))
                })
                .collect(),
        }
    }));
    Ok(plot.drawing(caption))
}

fn table_pipeline(records: &Records) -> Result<TableData> {
    let all = [("equal", 2), ("equal", 4), ("unequal", 2), ("unequal", 4), ("cpu", 2)];
    let rows = all.into_iter().flat_map(|(device, stages)| [1, 4, 16].map(|m| (device, stages, m)));
    let of = |key: Key, schedule: &'static str| {
        move |(device, stages, micros): &(&str, usize, usize)| {
            of_pipeline(key, device, schedule, *stages).with("micros", micros)
        }
    };
    Grid::new(rows)
        .column("stages", |(device, stages, _)| {
            let name = match *device {
                "equal" => "equal, paced",
                "unequal" => "slow first, paced",
                _ => "this CPU",
            };
            format!("{stages}, {name}")
        })
        .column("m", |(_, _, micros)| micros.to_string())
        .column("formula", |(_, stages, micros)| Unit::Share.format(bubble(*stages, *micros)))
        .column("from the stages' times", of(PIPELINE_PREDICTED, "1f1b"))
        .column("GPipe waits", of(PIPELINE, "gpipe"))
        .column("1F1B waits", of(PIPELINE, "1f1b"))
        .column("GPipe keeps", of(KEPT, "gpipe"))
        .column("1F1B keeps", of(KEPT, "1f1b"))
        .table(
            records,
            "Time spent waiting, the mean of the ranks: by the formula for equal stages, by 1F1B's schedule with each \
             stage's measured time, and as measured; and the activations that the first stage keeps at most. A slow \
             first stage takes twice as long as the others.",
        )
}
