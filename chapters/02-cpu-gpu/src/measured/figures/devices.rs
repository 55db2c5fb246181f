//! Cores, lanes and clocks: this machine's, beside those that everybody knows.

use super::truck::{device_name, devices_of};
use crate::devices::{Known, known};
use lab::{
    Drawing, Error, Figure, Records, Result, Table, TableData, Unit,
    plot::{Axis, LinePlot, Scale, Series},
    record::Value,
};

/// This file's figures.
pub fn figures() -> Vec<Figure> {
    vec![Figure { key: "cpu_gpu.devices", draw }]
}

/// This file's tables.
pub fn tables() -> Vec<Table> {
    vec![Table { key: "cpu_gpu.devices", make: table }]
}

/// A value's words, or why there is none; an error if the experiment did not look for it.
fn cell(found: Result<&Value>) -> Result<String> {
    match found {
        Ok(value) => Ok(value.text()),
        Err(Error::Skipped { .. }) => Ok("–".to_owned()),
        Err(error) => Err(error),
    }
}

/// The devices that left a number of units, the CPU first.
fn measured(records: &Records) -> Result<Vec<String>> {
    records.find("cpu_gpu.devices.units", &[("device", &"cpu")])?;
    Ok(devices_of(records, "cpu_gpu.devices.units"))
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
        let of = |key: &str| records.find(key, &[("device", &device)]);
        if let (Ok(clock), Ok(lanes)) = (of("cpu_gpu.devices.clock"), of("cpu_gpu.devices.lanes")) {
            let name = format!("here: {}", device_name(&device));
            points.push((name, clock.median, lanes.median));
        }
    }
    let here = points.len();
    points.extend(known.iter().map(|d| (d.name.clone(), d.clock, f64::from(d.lanes))));
    points.truncate(8);
    let words: Vec<String> = points
        .iter()
        .map(|(name, clock, lanes)| {
            format!(
                "{name}: {} lanes at {}",
                Unit::Count.format(lanes.round()),
                Unit::Hertz.format(*clock)
            )
        })
        .collect();
    let series = points
        .iter()
        .map(|(name, clock, lanes)| Series {
            name: name.clone(),
            points: vec![(clock / 1e9, *lanes)],
            band: vec![],
            joined: false,
        })
        .collect();
    let svg = LinePlot {
        x: Axis::new("clock (GHz)", Scale::Linear).range(0.0, 7.5),
        y: Axis::new("f32 lanes", Scale::Log).range(10.0, 100_000.0),
        series,
        limits: vec![],
    }
    .svg();
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
    Ok(Drawing { svg, caption, alt: format!("Single points. {}.", words.join("; ")) })
}

fn table(records: &Records) -> Result<TableData> {
    let mut rows = Vec::new();
    for device in measured(records)? {
        let of = |key: &str| records.find(key, &[("device", &device)]);
        rows.push(vec![
            device_name(&device),
            cell(of("cpu_gpu.devices.units"))?,
            match of("cpu_gpu.devices.lanes") {
                Ok(lanes) => Unit::Count.format(lanes.median.round()),
                other => cell(other)?,
            },
            cell(of("cpu_gpu.devices.clock"))?,
            cell(of("cpu_gpu.devices.memory"))?,
        ]);
    }
    let cpu = records.find("cpu_gpu.devices.units", &[("device", &"cpu")])?;
    Ok(TableData {
        caption: format!(
            "What computes on {}, a machine of {} cores. The CPU's clock and lanes are measured (its lanes as \
             multiplications in a clock, so a little under what it has); the devices' are what their drivers tell.",
            records.machine.cpu,
            cpu.text()
        ),
        head: ["device", "cores or multiprocessors", "f32 lanes", "clock", "memory"]
            .map(str::to_owned)
            .to_vec(),
        rows,
    })
}
