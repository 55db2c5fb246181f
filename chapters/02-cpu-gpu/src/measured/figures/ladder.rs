//! The ladder on each device, as bars, on a roofline and in tables.

use crate::{
    ladder::LADDER,
    measured::experiments::{
        counts::{INTENSITY, SIZE as COUNTED},
        ladder::{BANDWIDTH, COMPILE, OF_CUBLAS, RATE, SPEEDUP, in_rust, rung_names},
    },
};
use lab::{
    Drawing, Error, Figure, Key, Records, Result, Table, TableData, Unit,
    drawing::{Bars, Limits},
    key::Quantity,
    plot::{Axis, LimitLine, LinePlot, Scale, Series},
    record::Value,
    table::{Entry, Grid},
};

const GIGA: f64 = 1e9;

/// The figures of this file.
pub fn figures() -> Vec<Figure> {
    vec![
        Figure { key: "cpu_gpu.ladder.opencl-cpu", draw: |r| draw_ladder(r, "opencl-cpu") },
        Figure { key: "cpu_gpu.ladder.cuda", draw: |r| draw_ladder(r, "cuda") },
        Figure { key: "cpu_gpu.ladder.roofline.cuda", draw: |r| draw_roofline(r, "cuda") },
    ]
}

/// The tables of this file.
pub fn tables() -> Vec<Table> {
    vec![
        Table { key: "cpu_gpu.ladder.opencl-cpu", make: |r| table_ladder(r, "opencl-cpu") },
        Table { key: "cpu_gpu.ladder.cuda", make: |r| table_ladder(r, "cuda") },
    ]
}

/// The rung's name in figures.
pub fn title(rung: &str) -> &str {
    match rung {
        "async_copy" => "asynchronous copies",
        "wmma" => "WMMA, bf16",
        "wgmma" => "wgmma, bf16",
        "cublas" => "cuBLAS",
        "cublas_bf16" => "cuBLAS, bf16",
        "tile" => "cuTile",
        "tile_bf16" => "cuTile, bf16",
        "tile_nt_bf16" => "cuTile, A·Bᵀ, bf16",
        "tile_tn_bf16" => "cuTile, Aᵀ·B, bf16",
        "cube" => "CubeCL",
        "sgemm" => "chapter 1 on the CPU",
        _ => LADDER.iter().find(|known| known.name == rung).map_or(rung, |known| known.title),
    }
}

/// The device's name in captions.
fn device_words(records: &Records, device: &str) -> String {
    let cpu = &records.machine.cpu;
    match device {
        "opencl-cpu" => format!("the CPU through OpenCL ({cpu}, {} cores)", records.machine.cores),
        _ => "the GPU through CUDA".to_owned(),
    }
}

/// The sizes that were measured on a device, or the error that says why there is none.
fn sizes(records: &Records, device: &str) -> Result<Vec<usize>> {
    let found = records.over("n", RATE.at(&[("device", &device)]))?;
    let mut sizes: Vec<usize> = found.iter().map(|(n, _)| *n as usize).collect();
    sizes.dedup();
    Ok(sizes)
}

/// The size that figures show: 4096 where it was measured, else the largest.
fn shown(sizes: &[usize]) -> usize {
    if sizes.contains(&4096) { 4096 } else { sizes.last().copied().unwrap_or(0) }
}

/// A rung's quantity on a device.
fn at(key: Key, device: &str, rung: &str, n: usize) -> Quantity {
    key.at(&[("device", &device), ("rung", &rung), ("n", &n)])
}

/// Rungs that are worth a bar: on a device without CUDA, its rungs would be three times the same reason.
pub fn rungs_on(device: &str) -> Vec<&'static str> {
    if device == "cuda" {
        rung_names().collect()
    } else {
        LADDER.iter().map(|rung| rung.name).collect()
    }
}

/// The portable rung with the highest value.
fn best(records: &Records, of: impl Fn(&str) -> Quantity) -> Option<(&'static str, &Value)> {
    let found =
        LADDER.iter().filter_map(|rung| Some((rung.name, records.get(of(rung.name)).ok()?)));
    // Of equals the first.
    found.reduce(|best, other| if other.1.median > best.1.median { other } else { best })
}

/// The rate of each rung on a device.
///
/// # Errors
/// If a record is missing.
pub fn draw_ladder(records: &Records, device: &str) -> Result<Drawing> {
    let n = shown(&sizes(records, device)?);
    let rate = |rung: &str| at(RATE, device, rung, n);
    let naive = records.get(rate("naive"))?;
    let Some((rung, fastest)) = best(records, rate) else {
        return Err(Error::message("the ladder has no rung"));
    };
    // The table's own ratio, of neighbouring runs; none if the naive kernel is the fastest.
    let gain = records
        .text(at(SPEEDUP, device, rung, n))
        .unwrap_or_else(|_| Unit::Ratio.format(fastest.median / naive.median));
    let caption = format!(
        "One product of {n}×{n} matrices on {}: {} for the naive kernel, {} for the fastest portable one ({}), {} as fast.",
        device_words(records, device),
        naive.text(),
        fastest.text(),
        title(rung),
        gain,
    );
    let rungs = rungs_on(device);
    let values = rungs.iter().filter_map(|rung| records.get(rate(rung)).ok());
    let mut limits: Vec<(String, f64)> = Vec::new();
    for limit in values.filter_map(|value| value.limit.as_ref()) {
        if !limits.iter().any(|(name, _)| *name == limit.name) {
            limits.push((limit.name.clone(), limit.value));
        }
    }
    let bars = rungs.iter().map(|rung| (title(rung).to_owned(), rate(rung)));
    let sgemm = (title("sgemm").to_owned(), at(RATE, "cpu", "sgemm", n));
    Bars {
        axis: Axis::new("rate (GFLOP/s)", Scale::Log).toggled(),
        scale: |rate| rate / GIGA,
        bars: bars.chain([sgemm]).collect(),
        limits: Limits::These(limits), // the device's, and not those of the CPU's bar
    }
    .draw(records, caption)
}

/// The rungs as points over their operations for each byte. Those that request the same bytes from memory lie above each
/// other and have one name.
fn points(records: &Records, device: &str, n: usize) -> Result<Vec<Series>> {
    let mut groups: Vec<(&str, Series)> = Vec::new();
    for rung in &LADDER {
        let x = records.get(INTENSITY.at(&[("rung", &rung.name), ("n", &COUNTED)]))?;
        let rate = match records.get(at(RATE, device, rung.name, n)) {
            Err(Error::Skipped { .. }) => continue,
            found => found?,
        };
        let new = Series::of(rung.title, &[(x.median, rate)], |rate| rate / GIGA);
        match groups.last_mut() {
            Some((first, line)) if (line.points[0].0 / x.median - 1.0).abs() < 0.01 => {
                line.name = format!("{first} to {}", rung.title);
                line.points.extend(new.points);
                line.band.extend(new.band);
            }
            _ => groups.push((rung.title, Series { joined: false, ..new })),
        }
    }
    Ok(groups.into_iter().map(|(_, line)| line).collect())
}

/// The rungs under the roof of a device.
///
/// # Errors
/// If a record is missing.
pub fn draw_roofline(records: &Records, device: &str) -> Result<Drawing> {
    let n = shown(&sizes(records, device)?);
    let bandwidth = records.get(BANDWIDTH.at(&[("device", &device)]))?;
    let (low, high) = (1.0 / 8.0, 256.0);
    let series = points(records, device, n)?;
    let mut rungs =
        LADDER.iter().filter_map(|rung| records.get(at(RATE, device, rung.name, n)).ok());
    let peak = rungs.find_map(|rate| rate.limit.as_ref());
    let meet = peak.map_or(high, |peak| (peak.value / bandwidth.median).min(high));
    let mut limits = vec![LimitLine {
        name: format!("from memory: {}", bandwidth.text()),
        points: vec![(low, low * bandwidth.median / GIGA), (meet, meet * bandwidth.median / GIGA)],
    }];
    limits.extend(peak.map(|peak| LimitLine {
        name: format!("peak: {}", Unit::FlopsPerSecond.format(peak.value)),
        points: vec![(low, peak.value / GIGA), (high, peak.value / GIGA)],
    }));
    let caption = format!(
        "Rates at n = {n} on {} over the operations for each byte that a rung requests from memory, as the simulator counts \
         them at n = {COUNTED}. A point above the slope gets some of its bytes from a cache.",
        device_words(records, device),
    );
    let plot = LinePlot {
        x: Axis::new("operations per byte", Scale::Log).range(low, high),
        y: Axis::new("rate (GFLOP/s)", Scale::Log),
        series,
        limits,
    };
    Ok(plot.drawing(caption))
}

/// The rungs on a device, number by number.
///
/// # Errors
/// If a record is missing.
pub fn table_ladder(records: &Records, device: &str) -> Result<TableData> {
    let sizes = sizes(records, device)?;
    let n = shown(&sizes);
    let naive = records.text(at(RATE, device, "naive", n))?;
    let caption = format!(
        "Every rung on {}; percentages and ratios at n = {n}, where the naive kernel reaches {naive}. Medians of rounds in which \
         all took turns. The last column includes compilation, unless the driver had cached its result.",
        device_words(records, device),
    );
    let measured = |rung: &&str| records.get(at(RATE, device, rung, n)).is_ok();
    let rungs = rungs_on(device).into_iter().chain(in_rust().filter(measured));
    let mut grid = Grid::new(rungs).column("rung", |rung| title(rung).to_owned());
    for n in sizes {
        grid = grid.column(format!("n = {n}"), move |rung| at(RATE, device, rung, n));
    }
    grid = grid.column("of the peak", |rung| Entry::OfLimit(at(RATE, device, rung, n)));
    if device == "cuda" {
        grid = grid.column("of cuBLAS", |rung| at(OF_CUBLAS, device, rung, n));
    }
    grid.column("over naive", |rung| at(SPEEDUP, device, rung, n))
        .column("until the first product", |rung| {
            COMPILE.at(&[("device", &device), ("rung", rung)])
        })
        .table(records, caption)
}
