//! This part's pictures and tables, made from one machine's records.

use crate::measured::experiments::{
    freed,
    profile::{BATCH, KEY},
};
use lab::{
    Drawing, Error, Figure, Records, Result, Table, TableData, Unit,
    heap::Freed,
    plot::{Axis, Bar, BarPlot, LimitLine, LinePlot, Scale, Series},
    record::Value,
};
use std::fmt::{Display, Write as _};
use training::Model;

/// The figures that the page quotes.
pub fn figures() -> Vec<Figure> {
    vec![
        Figure { key: "performance.timeline", draw: |r| timeline(r, Model::Mlp) },
        Figure { key: "performance.timeline.cnn", draw: |r| timeline(r, Model::Cnn) },
        Figure { key: "performance.timeline.resnet", draw: |r| timeline(r, Model::Resnet) },
        Figure { key: "performance.profile", draw: draw_products },
        Figure { key: "performance.roofline.step", draw: draw_roofline },
    ]
}

/// The tables that the page quotes.
pub fn tables() -> Vec<Table> {
    vec![
        Table { key: "performance.profile.linear", make: |r| table(r, Model::Linear) },
        Table { key: "performance.profile.mlp", make: |r| table(r, Model::Mlp) },
        Table { key: "performance.profile.cnn", make: |r| table(r, Model::Cnn) },
        Table { key: "performance.profile.resnet", make: |r| table(r, Model::Resnet) },
        Table { key: "performance.profile.rnn", make: |r| table(r, Model::Rnn) },
        Table { key: "performance.profile.transformer", make: |r| table(r, Model::Transformer) },
        Table { key: freed::KEY, make: table_freed },
    ]
}

fn param<'v>(value: &'v Value, name: &str) -> &'v str {
    value.param(name).unwrap_or_default()
}

/// The operations of a model, the longest first.
fn operations(records: &Records, model: Model) -> Result<Vec<&Value>> {
    let mut all = records.all(KEY, &[("model", &model)]);
    if all.is_empty() {
        records.find(KEY, &[("model", &model)])?; // says why there are none
    }
    all.sort_by(|a, b| b.median.total_cmp(&a.median));
    Ok(all)
}

/// What was recorded beside an operation's time.
fn beside<'r>(records: &'r Records, key: &str, of: &Value) -> Option<&'r Value> {
    let mut all = records.all(key, &[]).into_iter();
    all.find(|value| value.params == of.params)
}

/// Operations in a table, the longest ones.
const LONGEST: usize = 12;

fn table(records: &Records, model: Model) -> Result<TableData> {
    let all = operations(records, model)?;
    let number = |key: &str, of: &Value| beside(records, key, of).map_or(0.0, |v| v.median);
    let rows = all.iter().take(LONGEST).map(|value| {
        let flops = number("performance.profile.flops", value);
        let bytes = number("performance.profile.bytes", value);
        let roof = number("performance.profile.roofline", value);
        vec![
            param(value, "op").to_owned(),
            param(value, "phase").to_owned(),
            value.text(),
            Unit::Share.format(number("performance.profile.share", value)),
            format!("{:.2}", flops / 1e6),
            format!("{:.2}", bytes / 1e6),
            if bytes > 0.0 { format!("{:.1}", flops / bytes) } else { "–".into() },
            if roof > 0.0 { format!("{:.0}%", 100.0 * roof) } else { "–".into() },
        ]
    });
    let head = ["operation", "phase", "time", "share", "MFLOP", "MB", "FLOP/B", "of roofline"];
    let shown: f64 = all.iter().take(LONGEST).map(|v| number("performance.profile.share", v)).sum();
    Ok(TableData {
        caption: format!(
            "One step of {model} on {BATCH} pictures takes {} (median). These {} kinds of operations take {:.0}% of it.",
            records.find("performance.profile.total", &[("model", &model)])?.text(),
            all.len().min(LONGEST),
            100.0 * shown
        ),
        head: head.map(str::to_owned).to_vec(),
        rows: rows.collect(),
    })
}

/// Whether a name is that of a matrix product.
fn is_product(op: &str) -> bool {
    ["dense", "convolve", "product"].iter().any(|word| op.starts_with(word))
}

/// Text for SVG.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// A step from left to right: the way forward above, the way back below.
fn timeline(records: &Records, model: Model) -> Result<Drawing> {
    const WIDTH: f64 = 520.0;
    const LEFT: f64 = 4.0;
    const TOP: f64 = 28.0;
    const LANE: f64 = 30.0;
    let key = "performance.profile.event";
    let mut events = records.all(key, &[("model", &model)]);
    if events.is_empty() {
        records.find(key, &[("model", &model)])?;
    }
    events.sort_by_key(|value| param(value, "at").to_owned());
    let whole: f64 = events.iter().map(|event| event.median).sum();
    let scale = (WIDTH - 2.0 * LEFT) / whole;
    let lanes = ["forward and loss", "backward", "everything else"];
    let lane = |phase: &str| match phase {
        "forward" | "loss" => 0,
        "backward" => 1,
        _ => 2,
    };
    let mut body = String::new();
    for (at, name) in lanes.iter().enumerate() {
        let y = TOP + at as f64 * (LANE + 46.0);
        let share: f64 = events
            .iter()
            .filter(|event| lane(param(event, "phase")) == at)
            .map(|event| event.median / whole)
            .sum();
        let _ = writeln!(
            body,
            "<text x=\"{LEFT}\" y=\"{:.1}\" fill=\"currentColor\">{name}: {:.0}%</text>",
            y - 8.0,
            100.0 * share
        );
    }
    let (mut x, mut words) = (LEFT, Vec::new());
    let mut free = [LEFT; 3];
    for event in &events {
        let (op, phase, width) = (param(event, "op"), param(event, "phase"), event.median * scale);
        let at = lane(phase);
        let y = TOP + at as f64 * (LANE + 46.0);
        let color = match op {
            _ if is_product(op) => "var(--series-1,#0072b2)",
            "release" => "var(--series-8,#808080)",
            _ => ["var(--series-3,#009e73)", "var(--series-2,#d55e00)", "var(--series-5,#b07c00)"]
                [at],
        };
        let _ = writeln!(
            body,
            "<rect x=\"{x:.2}\" y=\"{y:.1}\" width=\"{:.2}\" height=\"{LANE}\" fill=\"{color}\"/>",
            (width - 0.4).max(0.2)
        );
        // What is long enough to see gets its name below, where there is room.
        let text = 7.6 * op.chars().count() as f64;
        if width / (WIDTH - 2.0 * LEFT) > 0.03 {
            let start = (x + 0.5 * width - 0.5 * text).clamp(LEFT, WIDTH - LEFT - text);
            if start >= free[at] {
                let _ = writeln!(
                    body,
                    "<text x=\"{start:.1}\" y=\"{:.1}\" fill=\"currentColor\">{}</text>",
                    y + LANE + 16.0,
                    escaped(op)
                );
                free[at] = start + text + 8.0;
            }
            words.push(format!("{op} ({phase}) {}", event.text()));
        }
        x += width;
    }
    let height = TOP + 3.0 * (LANE + 46.0) - 18.0;
    let longest = events.iter().max_by(|a, b| a.median.total_cmp(&b.median));
    let longest = longest.map_or_else(String::new, |event| {
        format!(
            "The longest single operation is {} ({}) with {}.",
            param(event, "op"),
            param(event, "phase"),
            event.text()
        )
    });
    Ok(Drawing {
        svg: format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" font-family=\"sans-serif\" font-size=\"14\">\n{body}</svg>\n"
        ),
        caption: format!(
            "One step of {model} on {BATCH} pictures, {}, from left to right. Blue: matrix products; green and orange: other operations, forward and backward; ochre: the pictures and the update; grey: memory given back. {longest}",
            Unit::Seconds.format(whole)
        ),
        alt: format!(
            "A timeline with three lanes. Longer than 3% of the step: {}.",
            words.join("; ")
        ),
    })
}

/// For each model: the share of the products in its operations, and in its time.
fn draw_products(records: &Records) -> Result<Drawing> {
    let mut bars = Vec::new();
    let mut lowest: Option<(f64, f64, Model)> = None;
    for model in Model::ALL {
        let share =
            |key: &str| -> Result<f64> { Ok(records.find(key, &[("model", &model)])?.median) };
        let work = share("performance.profile.product_flops")?;
        let time = share("performance.profile.products")?;
        for (of, share) in [("work", work), ("time", time)] {
            let percent = 100.0 * share;
            bars.push(Bar {
                name: format!("{model}, {of}"),
                value: Some((percent, percent, percent)),
                text: format!("{percent:.0}%"),
            });
        }
        if lowest.is_none_or(|(_, low, _)| time < low) {
            lowest = Some((work, time, model));
        }
    }
    let (work, time, model) = lowest
        .ok_or_else(|| Error::NotMeasured { what: KEY.into(), chapter: "performance".into() })?;
    let axis = Axis::new("matrix products (%)", Scale::Linear).range(0.0, 100.0);
    Ok(BarPlot { axis, bars, limits: Vec::new() }.drawing(format!(
        "Matrix products are nearly all of the operations, and less of the time: of a step of {model} {:.0}% of the operations, but {:.0}% of the time.",
        100.0 * work,
        100.0 * time
    )))
}

/// Each operation of two models under the machine's roofline.
fn draw_roofline(records: &Records) -> Result<Drawing> {
    let peak = records.find("performance.profile.peak", &[])?.median;
    let bandwidth = records.find("performance.profile.bandwidth", &[])?.median;
    let mut series = Vec::new();
    let (mut above, mut all) = (0, 0);
    for model in [Model::Mlp, Model::Resnet] {
        let mut points = Vec::new();
        for value in operations(records, model)? {
            let of = |key: &str| beside(records, key, value).map_or(0.0, |v| v.median);
            let [flops, bytes] = ["performance.profile.flops", "performance.profile.bytes"].map(of);
            if flops > 0.0 && bytes > 0.0 {
                let (x, y) = (flops / bytes, flops / value.median);
                all += 1;
                above += usize::from(y > peak.min(x * bandwidth));
                points.push((x, y / 1e9));
            }
        }
        series.push(Series { name: model.to_string(), points, band: Vec::new(), joined: false });
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
    let svg = LinePlot {
        x: Axis::new("operations per byte", Scale::Log),
        y: Axis::new("GFLOP/s", Scale::Log),
        series,
        limits: vec![roof],
    }
    .svg();
    Ok(Drawing {
        svg,
        caption: format!(
            "The operations of a step of mlp and of resnet under this machine's roofline. {above} of {all} lie above the slanted part: their numbers come out of a cache."
        ),
        alt: format!(
            "Points for {all} operations over their operations per byte, with the roofline that bends at {:.1} operations per byte and {}.",
            ridge,
            Unit::FlopsPerSecond.format(peak)
        ),
    })
}

/// What a step takes with freed memory handed back, and with it kept.
fn table_freed(records: &Records) -> Result<TableData> {
    let mut rows = Vec::new();
    for name in &freed::MODELS {
        let batch: (&str, &dyn Display) = ("batch", &BATCH);
        let model: (&str, &dyn Display) = ("model", name);
        let of = |key, freed: Freed| records.find(key, &[model, batch, ("freed", &freed.name())]);
        let mut row = vec![name.to_string()];
        for freed in Freed::ALL {
            row.push(Unit::Seconds.format(of(freed::KEY, freed)?.median));
            row.push(match of("performance.freed.faults", freed) {
                Ok(faults) => Unit::Number.format(faults.median),
                Err(Error::Skipped { .. }) => "–".into(),
                Err(error) => return Err(error),
            });
        }
        let gain = records.find("performance.freed.gain", &[model, batch])?;
        row.push(Unit::Ratio.format(gain.median));
        rows.push(row);
    }
    let head = ["model", "handed back", "page faults", "kept", "page faults", "handed back / kept"];
    Ok(TableData {
        caption: format!(
            "A training step of {BATCH} pictures, with freed memory handed back to the system and kept, in turns, and the \
             page faults of a step."
        ),
        head: head.map(String::from).into(),
        rows,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measured::experiments::profile::tests::records;

    #[test]
    fn every_picture_and_table_is_made_from_the_records() {
        let records = records();
        for figure in figures() {
            let drawing = (figure.draw)(&records).unwrap();
            assert!(drawing.svg.starts_with("<svg"), "{}", figure.key);
            assert!(!drawing.svg.contains("NaN") && !drawing.caption.contains("NaN"));
            assert!(!drawing.svg.contains("\n\n") && !drawing.alt.is_empty());
        }
        for table in tables().into_iter().filter(|table| table.key != freed::KEY) {
            let data = (table.make)(&records).unwrap();
            assert!(!data.rows.is_empty());
            assert!(data.rows.iter().all(|row| row.len() == data.head.len()), "{}", table.key);
        }
    }
}
