//! This part's figures and tables, made from one machine's records.

use super::lanes::{self, Bar};
use crate::measured::experiments::profile::{
    BANDWIDTH, BATCH, BYTES, EVENT, FLOPS, PEAK, ROOFLINE, SECONDS, SHARE, TOTAL,
};
use crate::profile::report::of_roof;
use lab::{
    Drawing, Figure, Key, Records, Result, Table, TableData, Unit,
    plot::{Axis, LimitLine, LinePlot, Scale, Series},
    record::Value,
    table::Grid,
};
use training::Model;

/// The figures that the page quotes.
pub fn figures() -> Vec<Figure> {
    vec![
        Figure { key: "performance.timeline", draw: |r| timeline(r, Model::Mlp) },
        Figure { key: "performance.timeline.cnn", draw: |r| timeline(r, Model::Cnn) },
        Figure { key: "performance.timeline.resnet", draw: |r| timeline(r, Model::Resnet) },
        Figure { key: "performance.roofline.step", draw: draw_roofline },
    ]
}

/// The tables that the page quotes.
pub fn tables() -> Vec<Table> {
    vec![
        Table { key: "performance.profile.mlp", make: |r| table(r, Model::Mlp) },
        Table { key: "performance.profile.resnet", make: |r| table(r, Model::Resnet) },
    ]
}

fn param<'v>(value: &'v Value, name: &str) -> &'v str {
    value.param(name).unwrap_or_default()
}

/// An operation's displayed name; records keep the key `pictures`.
fn op_name(value: &Value) -> &str {
    match param(value, "op") {
        "pictures" => "images",
        op => op,
    }
}

/// The operations of a model, the longest first.
fn operations(records: &Records, model: Model) -> Result<Vec<&Value>> {
    let mut all = records.every(SECONDS.at(&[("model", &model)]))?;
    all.sort_by(|a, b| b.median.total_cmp(&a.median));
    Ok(all)
}

/// What was recorded with an operation's time; 0 if nothing was.
fn beside(records: &Records, key: Key, of: &Value) -> f64 {
    records.get(key.beside(of)).map_or(0.0, |value| value.median)
}

/// Operations in a table, the longest ones.
const LONGEST: usize = 12;

fn table(records: &Records, model: Model) -> Result<TableData> {
    let mut all = operations(records, model)?;
    all.truncate(LONGEST);
    let number = |key: Key, of: &Value| beside(records, key, of);
    let shown: f64 = all.iter().map(|value| number(SHARE, value)).sum();
    let caption = format!(
        "One step of {model} on {BATCH} images takes {} (median). These {} kinds of operations take {:.0}% of it.",
        records.text(TOTAL.at(&[("model", &model)]))?,
        all.len(),
        100.0 * shown
    );
    Grid::new(all)
        .column("operation", |value| op_name(value))
        .column("phase", |value| param(value, "phase"))
        .column("time", |value| value.text())
        .column("of the step", |value| SHARE.beside(value))
        .column("MFLOP", |value| format!("{:.2}", number(FLOPS, value) / 1e6))
        .column("MB", |value| format!("{:.2}", number(BYTES, value) / 1e6))
        .column("FLOP/B", |value| match number(BYTES, value) {
            bytes if bytes > 0.0 => format!("{:.1}", number(FLOPS, value) / bytes),
            _ => "–".into(),
        })
        .column("of roofline", |value| of_roof(number(ROOFLINE, value)))
        .table(records, caption)
}

/// Whether a name is that of a matrix product.
fn is_product(op: &str) -> bool {
    ["dense", "convolve", "product"].iter().any(|word| op.starts_with(word))
}

/// A step from left to right: the forward pass above, the backward pass below.
fn timeline(records: &Records, model: Model) -> Result<Drawing> {
    let mut events = records.every(EVENT.at(&[("model", &model)]))?;
    events.sort_by_key(|value| param(value, "at").to_owned());
    let whole: f64 = events.iter().map(|event| event.median).sum();
    let (mut start, mut words, mut bars) = (0.0, Vec::new(), Vec::new());
    for event in &events {
        let (op, phase, seconds) = (op_name(event), param(event, "phase"), event.median);
        let lane = match phase {
            "forward" | "loss" => 0,
            "backward" => 1,
            _ => 2,
        };
        let color = match op {
            _ if is_product(op) => "var(--series-1,#0072b2)",
            "release" => "var(--series-8,#808080)",
            _ => ["var(--series-3,#009e73)", "var(--series-2,#d55e00)", "var(--series-5,#b07c00)"]
                [lane],
        };
        let bar = Bar { lane, start, seconds, color, name: op.to_owned() };
        if bar.is_long(whole) {
            words.push(format!("{op} ({phase}) {}", event.text()));
        }
        bars.push(bar);
        start += seconds;
    }
    let title = |(at, name): (usize, &str)| {
        let of = bars.iter().filter(|bar| bar.lane == at);
        let share = of.map(|bar| bar.seconds / whole).sum::<f64>();
        format!("{name}: {:.0}%", 100.0 * share)
    };
    let lanes = ["forward and loss", "backward", "everything else"];
    let titles: Vec<String> = lanes.into_iter().enumerate().map(title).collect();
    let longest = events.iter().max_by(|a, b| a.median.total_cmp(&b.median));
    let longest = longest.map_or_else(String::new, |event| {
        format!(
            "The longest single operation is {} ({}) with {}. ",
            op_name(event),
            param(event, "phase"),
            event.text()
        )
    });
    Ok(Drawing {
        svg: lanes::svg(&titles, &bars, whole),
        caption: format!(
            "{longest}One step of {model} on {BATCH} images, {}, from left to right. Blue: matrix products; green and orange: other operations, forward and backward; ochre: gathering the batch and the update; grey: freeing memory.",
            Unit::Seconds.format(whole)
        ),
        alt: format!(
            "A timeline with three lanes. Longer than 3% of the step: {}.",
            words.join("; ")
        ),
        ..Drawing::default()
    })
}

/// Each operation of two models under the machine's roofline.
fn draw_roofline(records: &Records) -> Result<Drawing> {
    let [peak, bandwidth] = [records.get(PEAK.at(&[]))?, records.get(BANDWIDTH.at(&[]))?];
    let [peak, bandwidth] = [peak.median, bandwidth.median];
    let mut series = Vec::new();
    let (mut above, mut all) = (0, 0);
    for model in [Model::Mlp, Model::Resnet] {
        let mut points = Vec::new();
        for value in operations(records, model)? {
            let [flops, bytes] = [FLOPS, BYTES].map(|key| beside(records, key, value));
            if flops > 0.0 && bytes > 0.0 {
                let (x, y) = (flops / bytes, flops / value.median);
                all += 1;
                above += usize::from(y > peak.min(x * bandwidth));
                points.push((x, y / 1e9));
            }
        }
        series.push(Series::dots(model.to_string(), points));
    }
    let ridge = peak / bandwidth;
    let roof = LimitLine {
        name: "peak and memory bandwidth".into(),
        points: vec![
            (0.05, 0.05 * bandwidth / 1e9),
            (ridge, peak / 1e9),
            ((8.0 * ridge).max(200.0), peak / 1e9),
        ],
    };
    let plot = LinePlot {
        x: Axis::new("operations per byte", Scale::Log),
        y: Axis::new("GFLOP/s", Scale::Log),
        series,
        limits: vec![roof],
    };
    let caption = format!(
        "{above} of {all} operations lie above the slanted part: their data come out of a cache. Steps of mlp and of resnet under this machine's roofline."
    );
    Ok(Drawing {
        alt: format!(
            "Points for {all} operations over their operations per byte, with the roofline that bends at {:.1} operations per byte and {}.",
            ridge,
            Unit::FlopsPerSecond.format(peak)
        ),
        ..plot.drawing(caption)
    })
}
