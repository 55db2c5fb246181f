//! The chapter's figures and tables, made from one machine's records.

use crate::{
    count::Model,
    ladder::{Rung, ladder},
    measured::experiments::{EPOCH, STEP_BOUND, THREADS, TOTAL},
};
use lab::{
    Drawing, Error, Figure, Key, Records, Result, Table, TableData, Unit,
    drawing::{Bars, Limits},
    key::Quantity,
    plot::{Axis, Scale},
    table::Grid,
};

/// The figures that the page quotes.
pub fn figures() -> Vec<Figure> {
    vec![Figure { key: "backprop.ladder", draw: draw_ladder }]
}

/// The tables that the page quotes.
pub fn tables() -> Vec<Table> {
    vec![Table { key: "backprop.vgg16", make: table_vgg16 }]
}

/// A quantity of a rung in batches of one size.
pub fn of(key: Key, rung: &Rung, batch: usize) -> Quantity {
    key.at(&[("rung", &rung.key), ("batch", &batch)])
}

/// The batch of the ladder's figure.
pub const BATCH: usize = 32;

fn draw_ladder(records: &Records) -> Result<Drawing> {
    let rungs = ladder();
    let mut caption = format!(
        "The last rung trains {} as fast as the first, with the same result. An epoch of 60,000 images in batches \
         of {BATCH} on {}.",
        records.text(TOTAL.at(&[("batch", &BATCH)]))?,
        records.machine.in_words()
    );
    let limits = roofline(records)?;
    let last = rungs.last().map(|rung| records.get(of(EPOCH, rung, BATCH)));
    if let (Some((_, bound)), Some(Ok(last))) = (limits.last(), last) {
        caption += &format!(
            " It takes {} times the time that its roofline allows.",
            Unit::Number.format(last.median / bound)
        );
    }
    Bars {
        axis: Axis::new("seconds per epoch", Scale::Linear),
        bars: rungs.iter().map(|rung| (rung.name.to_owned(), of(EPOCH, rung, BATCH))).collect(),
        limits: Limits::These(limits),
        ..Bars::default()
    }
    .draw(records, caption)
}

/// The parts of a step, by their key in the records.
pub const PARTS: [&str; 4] = ["gather", "forward", "weights", "adam"];

/// The least seconds of an epoch, by what the parts of a step must compute and move: on one core, and on all of them.
/// Nothing where a step is not measured.
fn roofline(records: &Records) -> Result<Vec<(String, f64)>> {
    let mut step = 0.0;
    for part in PARTS {
        match records.get(STEP_BOUND.at(&[("part", &part), ("batch", &BATCH)])) {
            Ok(bound) => step += bound.median,
            Err(Error::NotMeasured { .. } | Error::Key(_)) => return Ok(Vec::new()),
            Err(error) => return Err(error),
        }
    }
    let one = step * 60_000_f64 / BATCH as f64;
    let cores = records.get(THREADS.at(&[("batch", &BATCH)]))?.median;
    let all = (format!("roofline, {cores} cores"), one / cores);
    Ok(vec![("roofline, one core".to_owned(), one), all])
}

fn table_vgg16(records: &Records) -> Result<TableData> {
    let counts = Model::vgg16().count()?;
    let caption = format!(
        "VGG16 has {} parameters. One image takes {} million operations forward and {} million backward, \
         and keeps {} for the backward pass.",
        Unit::Count.format(counts.parameters as f64),
        Unit::Count.format((counts.forward / 1e6).round()),
        Unit::Count.format((counts.backward / 1e6).round()),
        Unit::Bytes.format(4.0 * counts.kept as f64),
    );
    let shape =
        |output: &[usize]| output.iter().map(ToString::to_string).collect::<Vec<_>>().join("×");
    let count = |n: f64| if n == 0.0 { "–".to_owned() } else { Unit::Count.format(n) };
    let mega = |n: f64| count((n / 1e6).round());
    let rows = counts.rows.iter().filter(|row| row.parameters > 0 || row.kind == "pool");
    Grid::new(rows)
        .column("layer", |row| row.kind)
        .column("output", |row| shape(&row.output))
        .column("parameters", |row| count(row.parameters as f64))
        .column("forward (10⁶)", |row| mega(row.forward))
        .column("backward (10⁶)", |row| mega(row.backward))
        .column("kept", |row| Unit::Bytes.format(4.0 * row.kept as f64))
        .table(records, caption)
}
