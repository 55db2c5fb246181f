//! Cores, lanes and clocks: this machine's, next to well-known ones.

use super::words::{device_name, devices_of};
use crate::{
    devices::{Known, known},
    measured::experiments::devices::{CLOCK, LANES, MEMORY, UNITS},
};
use lab::{
    Drawing, Figure, Key, Records, Result, Table, TableData, Unit,
    plot::{Axis, LinePlot, Scale, Series},
    table::{Entry, Grid},
};

/// This file's figures.
pub fn figures() -> Vec<Figure> {
    vec![Figure { key: "cpu_gpu.devices", draw }]
}

/// This file's tables.
pub fn tables() -> Vec<Table> {
    vec![Table { key: "cpu_gpu.devices", make: table }]
}

/// The devices that left a number of units, the CPU first.
fn measured(records: &Records) -> Result<Vec<String>> {
    records.get(UNITS.at(&[("device", &"cpu")]))?;
    Ok(devices_of(records, UNITS))
}

/// The ranges of the clocks of the known CPUs and GPUs, in words.
fn clocks(known: &[Known], gpu: bool) -> String {
    let clocks = known.iter().filter(|device| device.gpu == gpu).map(|device| device.clock);
    let (low, high) = clocks.fold((f64::INFINITY, 0.0_f64), |(l, h), c| (l.min(c), h.max(c)));
    format!("{} to {}", Unit::Hertz.format(low), Unit::Hertz.format(high))
}

fn draw(records: &Records) -> Result<Drawing> {
    let known = known();
    let mut points: Vec<(String, f64, f64)> = Vec::new();
    for device in measured(records)? {
        let of = |key: Key| records.get(key.at(&[("device", &device)]));
        if let (Ok(clock), Ok(lanes)) = (of(CLOCK), of(LANES)) {
            let name = format!("here: {}", device_name(&device));
            points.push((name, clock.median, lanes.median));
        }
    }
    let here = points.len();
    points.extend(known.iter().map(|d| (d.name.clone(), d.clock, f64::from(d.lanes))));
    points.truncate(8);
    let series = points
        .iter()
        .map(|(name, clock, lanes)| Series {
            name: name.clone(),
            points: vec![(clock / 1e9, *lanes)],
            band: vec![],
            joined: false,
        })
        .collect();
    let from = if here == 0 {
        "No point is measured here".to_owned()
    } else {
        "Points called \u{201c}here\u{201d} were measured on this machine".to_owned()
    };
    let caption = format!(
        "Lanes and clocks. The makers give their GPUs clocks of {}, their CPUs {}. {from}; the others are the \
         makers' figures.",
        clocks(&known, true),
        clocks(&known, false)
    );
    let plot = LinePlot {
        x: Axis::new("clock (GHz)", Scale::Linear).range(0.0, 7.5),
        y: Axis::new("f32 lanes", Scale::Log).range(10.0, 100_000.0),
        series,
        limits: vec![],
    };
    Ok(plot.drawing(caption))
}

/// The lanes of a CPU from its multiplications per cycle: every core has whole vectors, and no vector of today has fewer
/// than four lanes.
pub fn whole_vectors(measured: f64, cores: f64) -> f64 {
    let vector = 4.0 * cores.max(1.0);
    (measured / vector).round().max(1.0) * vector
}

fn table(records: &Records) -> Result<TableData> {
    let devices = measured(records)?;
    let at = |key: Key, device: &str| key.at(&[("device", &device)]);
    let cores = records.get(at(UNITS, "cpu"))?.median;
    let lanes = |device: &str| match records.get(at(LANES, device)) {
        Ok(lanes) if device == "cpu" => {
            Entry::Words(Unit::Count.format(whole_vectors(lanes.median, cores)))
        }
        Ok(lanes) => Entry::Words(Unit::Count.format(lanes.median)),
        Err(_) => Entry::Value(at(LANES, device)),
    };
    let caption = format!(
        "What computes on {}, a machine of {} cores. The CPU's clock and lanes are measured (its lanes as \
         multiplications per cycle, rounded to whole vectors in each core); the devices' are what their drivers report.",
        records.machine.cpu,
        records.text(at(UNITS, "cpu"))?
    );
    Grid::new(devices)
        .column("device", |device| device_name(device))
        .column("cores or multiprocessors", |device| at(UNITS, device))
        .column("f32 lanes", |device| lanes(device))
        .column("clock", |device| at(CLOCK, device))
        .column("memory", |device| at(MEMORY, device))
        .table(records, caption)
}
