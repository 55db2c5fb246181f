//! The chapter's figures and tables that are more than their page declares, made from one machine's records.

use super::experiments::{
    BANDWIDTH, CONTENDERS, INTENSITY, LADDER, LADDER_N, MISSES_N, PEAK, ROOFLINE, SHAPES,
    SHAPES_RATIO, TOTAL,
};
use crate::{Rung, cache::Pattern, ladder::ladder};
use lab::{
    Drawing, Error, Figure, Records, Result, Table, TableData,
    drawing::{Bars, Limits},
    key::Quantity,
    plot::{Axis, LimitLine, LinePlot, Scale, Series},
    record::Value,
    table::Grid,
};

/// The figures that the page quotes.
pub fn figures() -> Vec<Figure> {
    vec![
        Figure { key: "matmul.ladder", draw: draw_ladder },
        Figure { key: "matmul.roofline", draw: draw_roofline },
    ]
}

/// The tables that the page quotes.
pub fn tables() -> Vec<Table> {
    vec![Table { key: "matmul.shapes", make: table_shapes }]
}

fn giga(rate: f64) -> f64 {
    rate / 1e9
}

fn rate_axis() -> Axis {
    Axis::new("rate (GFLOP/s)", Scale::Log)
}

/// What the ladder's figure shows of a rung.
pub fn rate(rung: &Rung) -> Quantity {
    LADDER.at(&[("n", &LADDER_N), ("rung", &rung.key)])
}

/// Every rung's rate, and why some have none.
///
/// # Errors
/// If a record is missing.
pub fn draw_ladder(records: &Records) -> Result<Drawing> {
    let rungs = ladder();
    let total = |inputs: &str| records.text(TOTAL.at(&[("n", &LADDER_N), ("inputs", &inputs)]));
    let rounding = total("bf16").map_or_else(
        |_| String::new(),
        |bf16| format!("; the fastest rung that rounds its inputs to bf16 is {bf16} as fast"),
    );
    let mut caption = format!(
        "The fastest f32 rung is {} as fast as three plain loops. One product of {LADDER_N}×{LADDER_N} matrices on {}; \
         the three loops reach {}{rounding}.",
        total("f32")?,
        records.machine.in_words(),
        records.text(rate(&rungs[0]))?,
    );
    // A rung that this CPU cannot run has no bar.
    let (mut bars, mut whys) = (Vec::new(), Vec::new());
    for rung in &rungs {
        match records.get(rate(rung)) {
            Err(Error::Skipped { why, .. }) => whys.push(why),
            _ => bars.push((rung.name.to_owned(), rate(rung))),
        }
    }
    whys.dedup();
    if !whys.is_empty() {
        caption += &format!(" Rungs without a bar: {}.", whys.join("; "));
    }
    let axis = rate_axis().toggled();
    Bars { axis, scale: giga, bars, limits: Limits::OfValues }.draw(records, caption)
}

fn draw_roofline(records: &Records) -> Result<Drawing> {
    let peak = records.get(PEAK.at(&[]))?;
    let bandwidth = |from: &str| records.get(BANDWIDTH.at(&[("from", &from)]));
    let intensity = |rung: &str| records.get(INTENSITY.at(&[("rung", &rung)]));
    let rate = |rung: &str| records.get(ROOFLINE.at(&[("rung", &rung)]));

    let (low, high) = (1.0 / 64.0, 1024.0);
    let mut series = Vec::new();
    for pattern in Pattern::ALL {
        let rung = pattern.name();
        let at = [(intensity(rung)?.median, rate(rung)?)];
        series.push(Series { joined: false, ..Series::of(rung, &at, giga) });
    }
    // A bandwidth limits until its line meets the peak.
    let slope = |name: &str, bandwidth: &Value| {
        let meet = peak.median / bandwidth.median;
        LimitLine {
            name: format!("{name}: {}", bandwidth.text()),
            points: vec![(low, giga(low * bandwidth.median)), (meet, giga(peak.median))],
        }
    };
    let limits = vec![
        slope("from the second-level cache", bandwidth("l2")?),
        slope("from memory", bandwidth("memory")?),
        LimitLine {
            name: format!("one core's peak: {}", peak.text()),
            points: vec![(low, giga(peak.median)), (high, giga(peak.median))],
        },
    ];
    let caption = format!(
        "The packed loops reach {} under a peak of {}. Rates of one core at n = {MISSES_N} over operations per byte \
         that the first-level cache fetches, on {}. With every matrix read or written once, a product of this size has \
         {} operations per byte.",
        rate("packed")?.text(),
        peak.text(),
        records.machine.in_words(),
        intensity("compulsory")?.text(),
    );
    let x = Axis::new("operations per byte", Scale::Log).range(low, high);
    Ok(LinePlot { x, y: rate_axis(), series, limits }.drawing(caption))
}

fn table_shapes(records: &Records) -> Result<TableData> {
    let ratios = records.every(SHAPES_RATIO.at(&[]))?;
    let won = ratios.iter().filter(|ratio| ratio.median >= 1.0).count();
    let caption = format!(
        "The products of a training step on {}: this crate is at least as fast as the faster library in \
         {won} of {} cases.",
        records.machine.in_words(),
        ratios.len()
    );
    let of = |ratio: &Value, name: &str| ratio.param(name).unwrap_or_default().to_owned();
    let mut grid = Grid::new(ratios)
        .column("product", |ratio| {
            let layer = of(ratio, "layer").replace('x', "×");
            format!("{layer}, {}, batch {}", of(ratio, "pass"), of(ratio, "batch"))
        })
        .column("threads", |ratio| of(ratio, "threads"));
    for who in CONTENDERS {
        grid = grid.column(if who == "ours" { "this crate" } else { who }, move |ratio| {
            let given = SHAPES_RATIO.params.iter();
            given.fold(SHAPES.at(&[("who", &who)]), |rate, name| rate.with(name, of(ratio, name)))
        });
    }
    grid.column("ratio", |ratio| ratio.text()).table(records, caption)
}
