//! The sports car and the truck in pictures and tables.

use super::words::without_empty_columns;
use crate::{
    measured::experiments::truck::{CLEARLY, Work, clear_crossover},
    truck::{Crossover, Line},
};
use lab::{
    Drawing, Error, Figure, Records, Result, Table, TableData, Unit,
    plot::{Axis, LimitLine, LinePlot, Scale, Series},
    record::{ParamList, Value},
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
        Table { key: "cpu_gpu.truck.model", make: table_model },
    ]
}

/// A device's name as a reader knows it.
pub(super) fn device_name(id: &str) -> String {
    match id {
        "core" => "one core".to_owned(),
        "cpu" => "CPU, all cores".to_owned(),
        "opencl-cpu" => "OpenCL on the CPU".to_owned(),
        "opencl-gpu" => "OpenCL on the GPU".to_owned(),
        "cuda" => "CUDA".to_owned(),
        "cublas" => "cuBLAS".to_owned(),
        other => other.to_owned(),
    }
}

/// The devices that left values with this key, in their order.
pub(super) fn devices_of(records: &Records, key: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for device in records.all(key, &[]).iter().filter_map(|value| value.params.get("device")) {
        if !found.contains(device) {
            found.push(device.clone());
        }
    }
    found
}

/// What a person calls a job.
fn work_name(work: Work) -> &'static str {
    match work {
        Work::Map(1) => "a map with one step",
        Work::Map(_) => "a map with a hundred steps",
        Work::Product => "a product of n×n matrices",
    }
}

/// The rates of a job for one device, in the order of sizes.
fn rates<'r>(records: &'r Records, work: Work, device: &str, transfer: &str) -> Vec<&'r Value> {
    match work {
        Work::Map(steps) => records.all(
            "cpu_gpu.truck.map",
            &[("steps", &steps), ("device", &device), ("transfer", &transfer)],
        ),
        Work::Product => {
            records.all("cpu_gpu.truck.product", &[("device", &device), ("transfer", &transfer)])
        }
    }
}

/// The size that a value was measured at.
fn size(value: &Value) -> f64 {
    value.params.get("n").and_then(|n| n.parse().ok()).unwrap_or(f64::NAN)
}

/// Fails as [`Records::find`] does where the experiment has not run, or left nothing of this job.
fn ran(records: &Records, work: Work) -> Result<()> {
    records.find("cpu_gpu.truck.latency", &[("job", &work.name()), ("device", &"core")]).map(|_| ())
}

fn draw_rates(records: &Records, work: Work) -> Result<Drawing> {
    ran(records, work)?;
    let key = if work == Work::Product { "cpu_gpu.truck.product" } else { "cpu_gpu.truck.map" };
    let mut lines = Vec::new();
    for device in devices_of(records, key) {
        for transfer in ["without", "with"] {
            let values = rates(records, work, &device, transfer);
            let (Some(first), Some(last)) = (values.first(), values.last()) else { continue };
            let mut name = device_name(&device);
            if device != "core" && device != "cpu" {
                name += if transfer == "with" { ", with copies" } else { ", data there" };
            }
            let words = format!(
                "{name}: {} at n = {} to {} at n = {}",
                first.text(),
                Unit::Count.format(size(first)),
                last.text(),
                Unit::Count.format(size(last))
            );
            let line = Series {
                name,
                points: values.iter().map(|v| (size(v), v.median / 1e9)).collect(),
                band: values.iter().map(|v| (v.low / 1e9, v.high / 1e9)).collect(),
                joined: true,
            };
            lines.push((line, words));
        }
    }
    // There are eight colours. What the CPU does through OpenCL is the first to go.
    if lines.len() > 8 {
        let cpu = device_name("opencl-cpu");
        lines.retain(|(line, _)| !line.name.starts_with(&cpu));
    }
    lines.truncate(8);
    let (series, words): (Vec<Series>, Vec<String>) = lines.into_iter().unzip();
    let what = if work == Work::Product { "rows of the matrices, n" } else { "numbers, n" };
    // The one that is fastest at its largest size, and the one that is fastest at n = 1.
    let fastest = |at: fn(&Series) -> Option<&(f64, f64)>| {
        series
            .iter()
            .filter_map(|s| Some((s, at(s)?)))
            .max_by(|a, b| a.1.1.total_cmp(&b.1.1))
            .map(|(s, p)| (s.name.clone(), Unit::FlopsPerSecond.format(p.1 * 1e9)))
    };
    let (Some((car, slow)), Some((truck, fast))) = (
        fastest(|s| s.points.first()),
        fastest(|s| s.points.iter().max_by(|a, b| a.1.total_cmp(&b.1))),
    ) else {
        return Err(Error::message("the experiment left no sizes"));
    };
    let caption = format!(
        "The rate of {} over its size, on {}. At n = 1 the fastest is \u{201c}{car}\u{201d} with {slow}; the \
         highest rate of all is that of \u{201c}{truck}\u{201d}, {fast}.",
        work_name(work),
        records.machine.cpu
    );
    let svg = LinePlot {
        x: Axis::new(what, Scale::Log),
        y: Axis::new("rate (GFLOP/s)", Scale::Log),
        series,
        limits: vec![],
    }
    .svg();
    Ok(Drawing { svg, caption, alt: format!("Lines on logarithmic scales. {}.", words.join("; ")) })
}

/// The device that a picture with room for one shows: a GPU where there is one.
fn shown_device(records: &Records) -> Option<String> {
    let devices = devices_of(records, "cpu_gpu.truck.map");
    ["cuda", "opencl-gpu", "opencl-cpu"]
        .into_iter()
        .find(|id| devices.iter().any(|device| device == id))
        .map(str::to_owned)
}

fn line_of(records: &Records, work: &str, device: &str) -> Result<Line> {
    let list: ParamList = &[("work", &work), ("device", &device)];
    let alpha = records.find("cpu_gpu.truck.model.latency", list)?.median;
    let beta = match records.find("cpu_gpu.truck.model.rate", list) {
        Ok(rate) => 1.0 / rate.median,
        Err(Error::Skipped { .. }) => 0.0,
        Err(error) => return Err(error),
    };
    Ok(Line { alpha, beta })
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
        let values = rates(records, work, device, "without");
        // Fewer numbers than cores are no work for all of them.
        let least = if device == "cpu" { records.machine.cores as f64 } else { 1.0 };
        let points: Vec<(f64, f64)> = values
            .iter()
            .filter(|value| size(value) >= least)
            .map(|v| (size(v), work.operations(size(v)) / v.median))
            .collect();
        // A curve on logarithmic scales: a straight line between two sizes would not be straight.
        let fitted = points
            .windows(2)
            .flat_map(|pair| {
                (0..8).map(move |i| pair[0].0 * (pair[1].0 / pair[0].0).powf(f64::from(i) / 8.0))
            })
            .chain(points.last().map(|p| p.0))
            .map(|n| (n, line.at(work.operations(n))))
            .collect();
        let rate = if line.beta > 0.0 {
            Unit::FlopsPerSecond.format(1.0 / line.beta)
        } else {
            "any rate".to_owned()
        };
        words.push(format!(
            "{}: {} and then {rate}",
            device_name(device),
            Unit::Seconds.format(line.alpha)
        ));
        limits.push(LimitLine { name: String::new(), points: fitted });
        series.push(Series { name: device_name(device), points, band: vec![], joined: false });
    }
    if series.is_empty() {
        return Err(Error::message("the experiment left no line"));
    }
    let caption = format!(
        "Seconds of a map with one step over its size on {}, and the lines t = α + β·size through them (dashed). \
         α and 1/β: {}.",
        records.machine.cpu,
        words.join("; ")
    );
    let svg = LinePlot {
        x: Axis::new("numbers, n", Scale::Log),
        y: Axis::new("time (s)", Scale::Log),
        series,
        limits,
    }
    .svg();
    let alt =
        format!("Points near dashed lines that are flat and then rise. {}.", words.join("; "));
    Ok(Drawing { svg, caption, alt })
}

/// A value's words, or a dash where it was left out; an error if the experiment did not look for it.
fn cell(found: Result<&Value>) -> Result<String> {
    match found {
        Ok(value) => Ok(value.text()),
        Err(Error::Skipped { .. } | Error::Key(_)) => Ok("–".to_owned()),
        Err(error) => Err(error),
    }
}

fn head(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

fn table_latency(records: &Records) -> Result<TableData> {
    const KEY: &str = "cpu_gpu.truck.latency";
    let core = records.find(KEY, &[("job", &"map"), ("device", &"core")])?;
    let mut rows = Vec::new();
    for device in devices_of(records, KEY) {
        for transfer in ["without", "with"] {
            if records.all(KEY, &[("device", &device), ("transfer", &transfer)]).is_empty() {
                continue;
            }
            let mut name = device_name(&device);
            if device != "core" && device != "cpu" {
                name += if transfer == "with" { ", with copies" } else { ", data there" };
            }
            let mut row = vec![name];
            for work in Work::ALL {
                let list: ParamList =
                    &[("job", &work.name()), ("device", &device), ("transfer", &transfer)];
                row.push(cell(records.find(KEY, list))?);
            }
            rows.push(row);
        }
    }
    Ok(TableData {
        caption: format!(
            "The time of the smallest job, one number or two matrices of 1×1, until its result is there. One core \
             of {} needs {} for a number.",
            records.machine.cpu,
            core.text()
        ),
        head: head(&["on", "map, 1 step", "map, 100 steps", "product"]),
        rows,
    })
}

/// The seconds of a job by size on the CPU, from its rates.
fn seconds(records: &Records, work: Work, device: &str) -> Vec<(f64, f64)> {
    let values = rates(records, work, device, "without");
    values.iter().map(|v| (size(v), work.operations(size(v)) / v.median)).collect()
}

fn table_threads(records: &Records) -> Result<TableData> {
    ran(records, Work::Map(1))?;
    let mut rows = Vec::new();
    for work in Work::ALL {
        let list: ParamList = &[("work", &work.name())];
        let speedup = records.find("cpu_gpu.truck.threads.speedup", list)?;
        rows.push(vec![
            work_name(work).to_owned(),
            match clear_crossover(&seconds(records, work, "core"), &seconds(records, work, "cpu")) {
                Some(Crossover::At(size)) => {
                    format!("from n = {}", Unit::Count.format(size.round()))
                }
                Some(Crossover::Always) => "always".to_owned(),
                Some(Crossover::Never(_)) => "never".to_owned(),
                None => "–".to_owned(),
            },
            speedup.text(),
            Unit::Count.format(size(speedup)),
        ]);
    }
    Ok(TableData {
        caption: format!(
            "All {} cores of {} against one: the size from which they are faster by more than noise ({}%), and by how \
             much at the largest size that both did.",
            records.machine.cores,
            records.machine.cpu,
            plain(100.0 * (CLEARLY - 1.0))
        ),
        head: head(&["job", "all cores win", "speed-up", "at n"]),
        rows,
    })
}

/// `from n = 1,000`, `never` (on the sizes measured), or a dash.
fn from(found: Result<&Value>) -> Result<String> {
    match found {
        Ok(value) => Ok(format!("from n = {}", value.text())),
        Err(Error::Skipped { why, .. }) if why.starts_with("it is no faster") => {
            Ok("never".to_owned())
        }
        other => cell(other),
    }
}

fn table_crossover(records: &Records) -> Result<TableData> {
    ran(records, Work::Map(1))?;
    let devices: Vec<String> = devices_of(records, "cpu_gpu.truck.map")
        .into_iter()
        .filter(|device| device != "core" && device != "cpu")
        .collect();
    if devices.is_empty() {
        // The reason is that of the first device that the experiment has looked for.
        records.find("cpu_gpu.truck.crossover", &[("work", &"map"), ("device", &"opencl-cpu")])?;
    }
    let (mut rows, mut won) = (Vec::new(), 0);
    for work in Work::ALL {
        // cuBLAS does products alone.
        let more = (work == Work::Product).then(|| "cublas".to_owned());
        for device in devices.iter().chain(more.as_ref()) {
            for transfer in ["without", "with"] {
                if rates(records, work, device, transfer).is_empty() {
                    continue;
                }
                let list: ParamList =
                    &[("work", &work.name()), ("device", device), ("transfer", &transfer)];
                let found = from(records.find("cpu_gpu.truck.crossover", list))?;
                won += usize::from(found.starts_with("from"));
                rows.push(vec![
                    work_name(work).to_owned(),
                    device_name(device),
                    (if transfer == "with" { "with copies" } else { "data there" }).to_owned(),
                    found,
                    from(records.find("cpu_gpu.truck.crossover.predicted", list))?,
                ]);
            }
        }
    }
    Ok(TableData {
        caption: format!(
            "From which size a device stays faster than the CPU's best (one core or all, whichever is faster) on {}, \
             by more than noise ({}%): in {won} of {} cases there is such a size.",
            records.machine.cpu,
            plain(100.0 * (CLEARLY - 1.0)),
            rows.len()
        ),
        head: head(&["job", "device", "copies", "measured", "by the lines"]),
        rows,
    })
}

fn table_speedup(records: &Records) -> Result<TableData> {
    const KEY: &str = "cpu_gpu.truck.speedup";
    ran(records, Work::Map(1))?;
    let devices = devices_of(records, KEY);
    if devices.is_empty() {
        records.find(KEY, &[("work", &"map"), ("device", &"opencl-cpu")])?;
    }
    let mut rows = Vec::new();
    let mut highest = 0.0_f64;
    for device in &devices {
        for work in Work::ALL {
            for transfer in ["without", "with"] {
                let of = |over: &str| {
                    records.find(
                        KEY,
                        &[
                            ("work", &work.name()),
                            ("device", device),
                            ("transfer", &transfer),
                            ("over", &over),
                        ],
                    )
                };
                let lanes = |over: &str| {
                    records
                        .find("cpu_gpu.devices.lanes.ratio", &[("device", device), ("over", &over)])
                };
                if rates(records, work, device, transfer).is_empty() {
                    continue; // cuBLAS does products alone
                }
                if let Ok(value) = of("core") {
                    highest = highest.max(value.median);
                }
                // The lanes come from an experiment of their own, which may not have run.
                let lanes = |over| match lanes(over) {
                    Ok(value) => value.text(),
                    Err(_) => "–".to_owned(),
                };
                let copies = if transfer == "with" { "with copies" } else { "data there" };
                rows.push(vec![
                    format!("{}, {}, {copies}", device_name(device), work_name(work)),
                    cell(of("core"))?,
                    lanes("core"),
                    cell(of("cpu"))?,
                    lanes("cpu"),
                ]);
            }
        }
    }
    Ok(without_empty_columns(TableData {
        caption: format!(
            "How many times as fast as the CPU each device is at the largest size that both did on {}, beside the \
             ratio of lanes where it is known. The highest is {}, over one core.",
            records.machine.cpu,
            Unit::Ratio.format(highest)
        ),
        head: head(&[
            "device and job",
            "over one core",
            "its lanes",
            "over all cores",
            "its lanes",
        ]),
        rows,
    }))
}

fn table_model(records: &Records) -> Result<TableData> {
    const KEY: &str = "cpu_gpu.truck.model.latency";
    ran(records, Work::Map(1))?;
    let mut rows = Vec::new();
    for value in records.all(KEY, &[]) {
        let of = |name: &str| value.params.get(name).cloned().unwrap_or_default();
        let (work, device) = (of("work"), of("device"));
        let name = match work.as_str() {
            "to" => "a copy to the device".to_owned(),
            "from" => "a copy from the device".to_owned(),
            _ => Work::ALL
                .into_iter()
                .find(|w| w.name() == work)
                .map_or_else(|| work.clone(), |w| work_name(w).to_owned()),
        };
        let list: ParamList = &[("work", &work), ("device", &device)];
        rows.push(vec![
            name,
            device_name(&device),
            value.text(),
            cell(records.find("cpu_gpu.truck.model.rate", list))?,
        ]);
    }
    let Ok(first) = records.find(KEY, &[("work", &"map"), ("device", &"core")]) else {
        return Err(Error::message("the experiment left no line for one core"));
    };
    Ok(TableData {
        caption: format!(
            "The lines t = α + β·size through the measured times on {}; one core begins a map within {}.",
            records.machine.cpu,
            first.text()
        ),
        head: head(&["job", "on", "α", "1/β"]),
        rows,
    })
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use lab::{
        Samples,
        record::{Skipped, params},
        testing,
    };

    /// What a machine might leave that has CUDA, whose truck wins, and no OpenCL.
    pub fn made_up() -> Records {
        let mut values: Vec<Value> = Vec::new();
        let mut add = |key: &str, list: ParamList, unit: Unit, median: f64| {
            let samples = Samples(vec![0.9 * median, median, 1.1 * median]);
            values.push(Value::new(key, list, unit, samples));
        };
        let trips = [
            ("core", "without", 1e-8, 1e-10),
            ("cpu", "without", 4e-5, 5e-11),
            ("cuda", "without", 1e-5, 1e-12),
            ("cuda", "with", 3e-5, 1e-11),
        ];
        for work in Work::ALL {
            for (device, transfer, alpha, beta) in trips {
                for n in [1_u32, 64, 4096] {
                    let operations = work.operations(f64::from(n));
                    let seconds = alpha + beta * operations;
                    let who: ParamList =
                        &[("steps", &0), ("n", &n), ("device", &device), ("transfer", &transfer)];
                    match work {
                        Work::Map(steps) => {
                            let list = [
                                ("steps", &steps as &dyn std::fmt::Display),
                                who[1],
                                who[2],
                                who[3],
                            ];
                            add(
                                "cpu_gpu.truck.map",
                                &list,
                                Unit::FlopsPerSecond,
                                operations / seconds,
                            );
                        }
                        Work::Product => {
                            let list = &who[1..];
                            add(
                                "cpu_gpu.truck.product",
                                list,
                                Unit::FlopsPerSecond,
                                operations / seconds,
                            );
                        }
                    }
                    if n == 1 {
                        let list: ParamList =
                            &[("job", &work.name()), ("device", &device), ("transfer", &transfer)];
                        add("cpu_gpu.truck.latency", list, Unit::Seconds, seconds);
                    }
                }
                let list: ParamList = &[("work", &work.name()), ("device", &device)];
                if transfer == "without" {
                    add("cpu_gpu.truck.model.latency", list, Unit::Seconds, alpha);
                    add("cpu_gpu.truck.model.rate", list, Unit::FlopsPerSecond, 1.0 / beta);
                }
            }
            let list: ParamList = &[("work", &work.name())];
            add("cpu_gpu.truck.threads", list, Unit::Count, 5000.0);
            let list: ParamList = &[("work", &work.name()), ("n", &4096)];
            add("cpu_gpu.truck.threads.speedup", list, Unit::Ratio, 1.9);
            for over in ["core", "cpu"] {
                let list: ParamList = &[
                    ("work", &work.name()),
                    ("device", &"cuda"),
                    ("transfer", &"without"),
                    ("over", &over),
                    ("n", &4096),
                ];
                add("cpu_gpu.truck.speedup", list, Unit::Ratio, 123.0);
            }
            let list: ParamList =
                &[("work", &work.name()), ("device", &"cuda"), ("transfer", &"without")];
            add("cpu_gpu.truck.crossover", list, Unit::Count, 777.0);
            add("cpu_gpu.truck.crossover.predicted", list, Unit::Count, 800.0);
        }
        for direction in ["to", "from"] {
            let list: ParamList = &[("work", &direction), ("device", &"cuda")];
            add("cpu_gpu.truck.model.latency", list, Unit::Seconds, 1e-5);
            add("cpu_gpu.truck.model.rate", list, Unit::BytesPerSecond, 2e10);
        }
        for (device, units, lanes, clock) in
            [("cpu", 2.0, 32.0, 3e9), ("cuda", 132.0, 16_896.0, 1.98e9)]
        {
            let list: ParamList = &[("device", &device)];
            add("cpu_gpu.devices.units", list, Unit::Count, units);
            add("cpu_gpu.devices.lanes", list, Unit::Number, lanes);
            add("cpu_gpu.devices.clock", list, Unit::Hertz, clock);
            add("cpu_gpu.devices.memory", list, Unit::Bytes, 1e11);
        }
        let list: ParamList = &[("device", &"cuda"), ("over", &"core")];
        add("cpu_gpu.devices.lanes.ratio", list, Unit::Ratio, 1056.0);
        let skip = |key: &str, list: ParamList, why: &str| Skipped {
            key: key.to_owned(),
            params: params(list),
            why: why.to_owned(),
        };
        let with: ParamList = &[("device", &"cuda"), ("transfer", &"with")];
        let slow = "it is no faster at n = 4,096, the largest size that both did";
        let skipped = [
            skip("cpu_gpu.truck.crossover", with, slow),
            skip("cpu_gpu.truck.crossover.predicted", with, slow),
            skip("cpu_gpu.truck.speedup", with, "no size"),
        ];
        testing::records(&crate::chapter(), &values, &skipped)
    }

    #[test]
    fn figures_draw_from_records() {
        for figure in figures().into_iter().chain(super::super::devices::figures()) {
            let drawing =
                (figure.draw)(&made_up()).unwrap_or_else(|e| panic!("{}: {e}", figure.key));
            assert!(drawing.svg.starts_with("<svg"), "{}", figure.key);
            assert!(drawing.caption.ends_with('.'), "{}", drawing.caption);
            assert!(drawing.caption.chars().any(|c| c.is_ascii_digit()), "{}", drawing.caption);
            assert!(drawing.alt.contains("CUDA"), "{}: {}", figure.key, drawing.alt);
            let missing = (figure.draw)(&testing::unmeasured());
            assert!(matches!(missing, Err(Error::NotMeasured { .. })), "{}", figure.key);
        }
    }

    #[test]
    fn tables_have_rows_as_wide_as_their_heads() {
        for table in tables().into_iter().chain(super::super::devices::tables()) {
            let data = (table.make)(&made_up()).unwrap_or_else(|e| panic!("{}: {e}", table.key));
            assert!(!data.rows.is_empty(), "{}", table.key);
            for row in &data.rows {
                assert_eq!(row.len(), data.head.len(), "{}: {row:?}", table.key);
                assert!(row.iter().all(|cell| !cell.is_empty()), "{}: {row:?}", table.key);
            }
            let missing = (table.make)(&testing::unmeasured());
            assert!(matches!(missing, Err(Error::NotMeasured { .. })), "{}", table.key);
        }
    }

    #[test]
    fn captions_name_who_is_first() {
        let drawing = draw_rates(&made_up(), Work::Map(1)).unwrap();
        assert!(
            drawing.caption.contains("At n = 1 the fastest is “one core”"),
            "{}",
            drawing.caption
        );
        assert!(drawing.caption.contains("that of “one core”"), "{}", drawing.caption);
        let drawing = draw_rates(&made_up(), Work::Product).unwrap();
        assert!(drawing.caption.contains("that of “CUDA, data there”"), "{}", drawing.caption);
    }

    #[test]
    fn the_table_of_crossovers_tells_numbers_and_never() {
        let data = table_crossover(&made_up()).unwrap();
        assert_eq!(data.rows.len(), 6);
        assert!(data.caption.contains("in 3 of 6 cases"), "{}", data.caption);
        assert_eq!(data.rows[0][3..], ["from n = 777".to_owned(), "from n = 800".to_owned()]);
        assert_eq!(data.rows[1][3..], ["never".to_owned(), "never".to_owned()]);
        let data = table_speedup(&made_up()).unwrap();
        assert!(data.caption.contains("The highest is 123×"), "{}", data.caption);
        assert_eq!(data.rows[0][1..3], ["123×".to_owned(), "1,056×".to_owned()]);
    }

    /// What another device would have left that is as fast as CUDA, of products alone.
    fn with_products_of(records: &mut Records, device: &str) {
        let runs = &mut records.chapters.get_mut("cpu_gpu").unwrap().runs;
        let truck = runs.iter_mut().find(|run| run.experiment == "cpu_gpu.truck").unwrap();
        let copies = truck.values.iter().filter(|v| {
            let is = |name: &str, value: &str| v.params.get(name).is_some_and(|p| p == value);
            is("device", "cuda") && (v.key == "cpu_gpu.truck.product" || is("work", "product"))
        });
        let mut copies: Vec<Value> = copies.cloned().collect();
        for copy in &mut copies {
            copy.params.insert("device".to_owned(), device.to_owned());
        }
        truck.values.append(&mut copies);
    }

    #[test]
    fn all_cores_win_where_they_are_faster_by_more_than_noise() {
        let data = table_threads(&made_up()).unwrap();
        let wins: Vec<&str> = data.rows.iter().map(|row| row[1].as_str()).collect();
        // At n = 4096 the map with a hundred steps takes 82 µs on one core and 81 µs on all.
        assert_eq!(wins[..2], ["never", "never"]);
        let from: f64 = wins[2].strip_prefix("from n = ").unwrap().parse().unwrap();
        assert!((64.0..4096.0).contains(&from), "{from}");
        assert!(data.caption.contains("more than noise (5%)"), "{}", data.caption);
    }

    #[test]
    fn cublas_is_shown_for_products_alone() {
        let mut records = made_up();
        with_products_of(&mut records, "cublas");
        let of = |work| draw_rates(&records, work).unwrap().alt;
        assert!(of(Work::Product).contains("cuBLAS, data there"), "{}", of(Work::Product));
        assert!(!of(Work::Map(1)).contains("cuBLAS"));
        let data = table_crossover(&records).unwrap();
        assert_eq!(data.rows.len(), 8);
        assert_eq!(data.rows[6][1], "cuBLAS");
        assert_eq!(data.rows[6][3], "from n = 777");
        let data = table_speedup(&records).unwrap();
        let rows: Vec<&String> = data.rows.iter().map(|row| &row[0]).collect();
        let with = rows.iter().filter(|name| name.starts_with("cuBLAS"));
        assert_eq!(with.count(), 2, "{rows:?}");
    }

    #[test]
    fn with_more_lines_than_colours_the_cpu_through_opencl_goes_first() {
        let mut records = made_up();
        for device in ["opencl-cpu", "opencl-gpu", "cublas"] {
            with_products_of(&mut records, device);
        }
        let alt = draw_rates(&records, Work::Product).unwrap().alt;
        assert!(alt.contains("cuBLAS") && alt.contains("OpenCL on the GPU"), "{alt}");
        assert!(!alt.contains("OpenCL on the CPU"), "{alt}");
    }
}
