//! The sports car and the truck in figures and tables.

use super::words::{device_name, devices_of};
use crate::{
    measured::experiments::{
        devices::LANES_RATIO,
        truck::{
            CLEARLY, CROSSOVER, LATENCY, MAP, MODEL_LATENCY, MODEL_RATE, PREDICTED, SPEEDUP,
            THREADS_SPEEDUP, Work, clear_crossover, of_device,
        },
    },
    truck::{Crossover, Line},
};
use lab::{
    Drawing, Error, Figure, Key, Records, Result, Table, TableData, Unit,
    plot::{Axis, LimitLine, LinePlot, Scale, Series},
    record::Value,
    table::{Entry, Grid},
    units::plain,
};

/// This file's figures.
pub fn figures() -> Vec<Figure> {
    vec![
        Figure { key: "cpu_gpu.truck.map", draw: |r| draw_rates(r, Work::Map(1)) },
        Figure { key: "cpu_gpu.truck.map100", draw: |r| draw_rates(r, Work::Map(100)) },
        Figure { key: "cpu_gpu.truck.product", draw: |r| draw_rates(r, Work::Product) },
        Figure { key: "cpu_gpu.truck.model", draw: draw_model },
    ]
}

/// This file's tables.
pub fn tables() -> Vec<Table> {
    vec![
        Table { key: "cpu_gpu.truck.latency", make: table_latency },
        Table { key: "cpu_gpu.truck.threads", make: table_threads },
        Table { key: "cpu_gpu.truck.crossover", make: table_crossover },
        Table { key: "cpu_gpu.truck.speedup", make: table_speedup },
    ]
}

/// A job's name for readers.
pub fn work_name(work: Work) -> &'static str {
    match work {
        Work::Map(1) => "a map with one step",
        Work::Map(_) => "a map with a hundred steps",
        Work::Product => "a product of n×n matrices",
    }
}

/// Whether the copies belong to a job's time: in records, and for readers.
const TRANSFERS: [(&str, &str); 2] = [("without", "data there"), ("with", "with copies")];

/// Which device does a job and whether with copies, for readers. The CPU copies nothing.
fn doer(device: &str, copies: &str) -> String {
    match device {
        "core" | "cpu" => device_name(device),
        _ => format!("{}, {copies}", device_name(device)),
    }
}

/// The rates of a job for one device over its sizes.
fn rates<'r>(
    records: &'r Records,
    work: Work,
    device: &str,
    transfer: &str,
) -> Vec<(f64, &'r Value)> {
    records.over("n", work.rate(device, transfer)).unwrap_or_default()
}

/// Fails as [`Records::get`] does where the experiment has not run, or left nothing of this job.
fn ran(records: &Records, work: Work) -> Result<()> {
    records.get(LATENCY.at(&[("job", &work.name()), ("device", &"core")])).map(|_| ())
}

/// The rate of a job by its size, on each device.
///
/// # Errors
/// If a record is missing.
pub fn draw_rates(records: &Records, work: Work) -> Result<Drawing> {
    ran(records, work)?;
    let mut series = Vec::new();
    for device in devices_of(records, work.key()) {
        for (transfer, copies) in TRANSFERS {
            let points = rates(records, work, &device, transfer);
            if !points.is_empty() {
                series.push(Series::of(&doer(&device, copies), &points, |rate| rate / 1e9));
            }
        }
    }
    // There are eight colours. The CPU through OpenCL is left out first.
    if series.len() > 8 {
        let cpu = device_name("opencl-cpu");
        series.retain(|line| !line.name.starts_with(&cpu));
    }
    series.truncate(8);
    let (Some((car, slow)), Some((truck, fast))) = (
        fastest(&series, |s| s.points.first()),
        fastest(&series, |s| s.points.iter().max_by(|a, b| a.1.total_cmp(&b.1))),
    ) else {
        return Err(Error::message("the experiment left no sizes"));
    };
    let caption = format!(
        "The rate of {} over its size, on {}. At n = 1 the fastest is \u{201c}{car}\u{201d} with {slow}; the \
         highest rate of all is that of \u{201c}{truck}\u{201d}, {fast}.",
        work_name(work),
        records.machine.cpu
    );
    let what = if work == Work::Product { "rows of the matrices, n" } else { "elements, n" };
    let plot = LinePlot {
        x: Axis::new(what, Scale::Log),
        y: Axis::new("rate (GFLOP/s)", Scale::Log),
        series,
        limits: vec![],
    };
    Ok(plot.drawing(caption))
}

/// The line that is highest at one of its points, and how high.
fn fastest(series: &[Series], at: fn(&Series) -> Option<&(f64, f64)>) -> Option<(String, String)> {
    let points = series.iter().filter_map(|line| Some((line, at(line)?)));
    let (line, point) = points.max_by(|a, b| a.1.1.total_cmp(&b.1.1))?;
    Some((line.name.clone(), Unit::FlopsPerSecond.format(point.1 * 1e9)))
}

/// The device that a figure with room for one shows: a GPU where there is one.
fn shown_device(records: &Records) -> Option<String> {
    let devices = devices_of(records, MAP);
    ["cuda", "opencl-gpu", "opencl-cpu"]
        .into_iter()
        .find(|id| devices.iter().any(|device| device == id))
        .map(str::to_owned)
}

fn line_of(records: &Records, work: &str, device: &str) -> Result<Line> {
    let of = |key: Key| records.get(key.at(&[("work", &work), ("device", &device)]));
    let alpha = of(MODEL_LATENCY)?.median;
    let beta = match of(MODEL_RATE) {
        Ok(rate) => 1.0 / rate.median,
        Err(Error::Skipped { .. }) => 0.0,
        Err(error) => return Err(error),
    };
    Ok(Line { alpha, beta })
}

/// A fitted line over the sizes of its points. On logarithmic scales it is a curve: there are eight steps to the next size.
fn fitted(work: Work, line: Line, points: &[(f64, f64)]) -> LimitLine {
    let between = points.windows(2).flat_map(|pair| {
        (0..8).map(move |i| pair[0].0 * (pair[1].0 / pair[0].0).powf(f64::from(i) / 8.0))
    });
    let sizes = between.chain(points.last().map(|point| point.0));
    let points = sizes.map(|n| (n, line.at(work.operations(n)))).collect();
    LimitLine { name: String::new(), points }
}

fn draw_model(records: &Records) -> Result<Drawing> {
    let work = Work::Map(1);
    ran(records, work)?;
    let mut shown = vec!["core".to_owned(), "cpu".to_owned()];
    shown.extend(shown_device(records));
    let (mut series, mut limits, mut words) = (Vec::new(), Vec::new(), Vec::new());
    for device in &shown {
        let line = match line_of(records, &work.name(), device) {
            Ok(line) => line,
            Err(Error::Skipped { .. }) => continue,
            Err(error) => return Err(error),
        };
        // With fewer elements than cores, some cores have no work.
        let least = if device == "cpu" { records.machine.cores as f64 } else { 1.0 };
        let mut points = seconds(records, work, device);
        points.retain(|(n, _)| *n >= least);
        let rate = if line.beta > 0.0 {
            Unit::FlopsPerSecond.format(1.0 / line.beta)
        } else {
            "any rate".to_owned()
        };
        let name = device_name(device);
        words.push(format!("{name}: {} and {rate}", Unit::Seconds.format(line.alpha)));
        limits.push(fitted(work, line, &points));
        series.push(Series { name, points, band: vec![], joined: false });
    }
    if series.is_empty() {
        return Err(Error::message("the experiment left no line"));
    }
    let words = words.join("; ");
    let caption = format!(
        "Seconds of a map with one step over its size on {}, and the lines t = α + β·size through them (dashed). \
         α and 1/β: {words}.",
        records.machine.cpu,
    );
    let plot = LinePlot {
        x: Axis::new("elements, n", Scale::Log),
        y: Axis::new("time (s)", Scale::Log),
        series,
        limits,
    };
    // The dashed lines have no names: their words are α and 1/β.
    let alt = format!("Points near dashed lines that are flat and then rise. {words}.");
    Ok(Drawing { alt, ..plot.drawing(caption) })
}

fn table_latency(records: &Records) -> Result<TableData> {
    let core = records.text(LATENCY.at(&[("job", &"map"), ("device", &"core")]))?;
    let mut rows = Vec::new();
    for device in devices_of(records, LATENCY) {
        for (transfer, copies) in TRANSFERS {
            let of = LATENCY.at(&[("device", &device), ("transfer", &transfer)]);
            if records.every(&of).is_ok() {
                rows.push((doer(&device, copies), of));
            }
        }
    }
    let mut grid = Grid::new(rows).column("on", |(name, _)| name.clone());
    for (head, work) in ["map, 1 step", "map, 100 steps", "product"].into_iter().zip(Work::ALL) {
        grid = grid.column(head, move |(_, of)| of.clone().with("job", work.name()));
    }
    let caption = format!(
        "The time of the smallest job, one element or two matrices of 1×1, until its result is ready. One core \
         of {} needs {core} for an element.",
        records.machine.cpu,
    );
    grid.table(records, caption)
}

/// The seconds of a job by size, from its rates.
fn seconds(records: &Records, work: Work, device: &str) -> Vec<(f64, f64)> {
    let rates = rates(records, work, device, "without");
    rates.into_iter().map(|(n, rate)| (n, work.operations(n) / rate.median)).collect()
}

/// From which size all cores win.
///
/// # Errors
/// If a record is missing.
pub fn table_threads(records: &Records) -> Result<TableData> {
    ran(records, Work::Map(1))?;
    let mut rows = Vec::new();
    for work in Work::ALL {
        rows.push((work, records.get(THREADS_SPEEDUP.at(&[("work", &work.name())]))?));
    }
    let count = |n: f64| Unit::Count.format(n);
    let wins = |work: Work| {
        let (core, cpu) = (seconds(records, work, "core"), seconds(records, work, "cpu"));
        match clear_crossover(&core, &cpu) {
            Some(Crossover::At(size)) => format!("from n = {}", count(size.round())),
            Some(Crossover::Always) => "always".to_owned(),
            Some(Crossover::Never(_)) => "never".to_owned(),
            None => "–".to_owned(),
        }
    };
    let caption = format!(
        "All {} cores of {} against one: the smallest size at which they are faster by more than noise ({}%), and by how \
         much at the largest size that both ran.",
        records.machine.cores,
        records.machine.cpu,
        plain(100.0 * (CLEARLY - 1.0))
    );
    Grid::new(rows)
        .column("job", |(work, _)| work_name(*work))
        .column("all cores win", |(work, _)| wins(*work))
        .column("speed-up", |(_, speedup)| speedup.text())
        .column("at n", |(_, speedup)| count(speedup.number("n").unwrap_or(f64::NAN)))
        .table(records, caption)
}

/// `from n = 1,000`, `never` (on the sizes measured), or a dash.
fn from(found: Result<&Value>) -> Result<String> {
    match found {
        Ok(value) => Ok(format!("from n = {}", value.text())),
        Err(Error::Skipped { why, .. }) if why.starts_with("it is no faster") => {
            Ok("never".to_owned())
        }
        Err(Error::Skipped { .. } | Error::Key(_)) => Ok("–".to_owned()),
        Err(error) => Err(error),
    }
}

/// From which size a device wins, measured and predicted.
///
/// # Errors
/// If a record is missing.
pub fn table_crossover(records: &Records) -> Result<TableData> {
    ran(records, Work::Map(1))?;
    let mut devices = devices_of(records, MAP);
    devices.retain(|device| device != "core" && device != "cpu");
    if devices.is_empty() {
        // The reason is that of the first device that the experiment looked for.
        records.get(CROSSOVER.at(&[("work", &"map"), ("device", &"opencl-cpu")]))?;
    }
    let cublas = "cublas".to_owned();
    let (mut rows, mut won) = (Vec::new(), 0);
    for work in Work::ALL {
        // cuBLAS does products alone.
        let more = (work == Work::Product).then_some(&cublas);
        for device in devices.iter().chain(more) {
            for (transfer, copies) in TRANSFERS {
                if rates(records, work, device, transfer).is_empty() {
                    continue;
                }
                let of = |key: Key| from(records.get(of_device(key, work, device, transfer)));
                let found = of(CROSSOVER)?;
                won += usize::from(found.starts_with("from"));
                rows.push((work, device, copies, found, of(PREDICTED)?));
            }
        }
    }
    let caption = format!(
        "The size above which a device stays faster than the CPU (one core or all, whichever is faster) on {}, \
         by more than noise ({}%): in {won} of {} cases there is such a size.",
        records.machine.cpu,
        plain(100.0 * (CLEARLY - 1.0)),
        rows.len()
    );
    Grid::new(rows)
        .column("job", |(work, ..)| work_name(*work))
        .column("device", |(_, device, ..)| device_name(device))
        .column("copies", |(_, _, copies, ..)| *copies)
        .column("measured", |(_, _, _, found, _)| found.clone())
        .column("predicted by the lines", |(.., predicted)| predicted.clone())
        .table(records, caption)
}

/// How much faster a device is than the CPU.
///
/// # Errors
/// If a record is missing.
pub fn table_speedup(records: &Records) -> Result<TableData> {
    ran(records, Work::Map(1))?;
    let devices = devices_of(records, SPEEDUP);
    if devices.is_empty() {
        records.get(SPEEDUP.at(&[("work", &"map"), ("device", &"opencl-cpu")]))?;
    }
    let over = |(device, work, transfer, _): &(&String, Work, &str, &str), over: &str| {
        of_device(SPEEDUP, *work, device, transfer).with("over", over)
    };
    let (mut rows, mut highest) = (Vec::new(), 0.0_f64);
    for device in &devices {
        for work in Work::ALL {
            for (transfer, copies) in TRANSFERS {
                if rates(records, work, device, transfer).is_empty() {
                    continue; // cuBLAS does products alone
                }
                let row = (device, work, transfer, copies);
                if let Ok(value) = records.get(over(&row, "core")) {
                    highest = highest.max(value.median);
                }
                rows.push(row);
            }
        }
    }
    // The lanes come from an experiment of their own, which may not have run.
    let lanes = |device: &str, over: &str| {
        let found = records.text(LANES_RATIO.at(&[("device", &device), ("over", &over)]));
        Entry::Words(found.unwrap_or_else(|_| "–".to_owned()))
    };
    let caption = format!(
        "Speed-up of each device over the CPU at the largest size that both ran on {}, next to the \
         ratio of lanes where it is known. The highest is {}, over one core.",
        records.machine.cpu,
        Unit::Ratio.format(highest)
    );
    let table = Grid::new(rows)
        .column("device and job", |(device, work, _, copies)| {
            format!("{}, {}, {copies}", device_name(device), work_name(*work))
        })
        .column("over one core", |row| over(row, "core"))
        .column("its lanes", |row| lanes(row.0, "core"))
        .column("over all cores", |row| over(row, "cpu"))
        .column("its lanes", |row| lanes(row.0, "cpu"))
        .table(records, caption);
    table.map(TableData::filled)
}
