//! Feeding the trainer as pictures and tables.

use super::memory::{number, points};
use lab::{
    Drawing, Error, Figure, Records, Result, Samples, Table, TableData, Unit,
    plot::{Axis, LimitLine, LinePlot, Scale, Series},
    record::{ParamList, Value},
};

/// This part's figures.
pub fn figures() -> Vec<Figure> {
    vec![
        Figure { key: "performance.input", draw: draw_input },
        Figure { key: "performance.input.queue", draw: draw_queue },
        Figure { key: "performance.pieces", draw: draw_pieces },
    ]
}

/// This part's tables.
pub fn tables() -> Vec<Table> {
    vec![
        Table { key: "performance.input", make: table_input },
        Table { key: "performance.input.kept", make: table_kept },
        Table { key: "performance.stream", make: table_stream },
        Table { key: "performance.pieces.overlap", make: table_overlap },
    ]
}

/// Sources as they are recorded, and for people.
const SOURCES: [(&str, &str); 5] = [
    ("numbers", "memory, decoded once"),
    ("bytes", "memory, decoded per batch"),
    ("disk", "disk"),
    ("packed", "disk, packed"),
    ("warped", "disk, packed, and warped"),
];
const MODELS: [&str; 2] = ["linear", "mlp"];

fn not_measured(key: &str) -> Error {
    Error::NotMeasured { what: key.into(), chapter: "performance".into() }
}

/// The times of one model with one source, in seconds of a batch.
struct Times {
    compute: f64,
    source: f64,
    alone: f64,
    prefetched: f64,
}

/// Pictures of a batch, by which rates become times.
const BATCH: f64 = 128.0;

fn times(records: &Records, model: &str, source: &str) -> Result<Times> {
    let rates: Vec<&Value> =
        records.all("performance.input", &[("model", &model), ("source", &source)]);
    let alone = rates.iter().find(|v| v.params.get("queue").is_some_and(|q| q == "none"));
    let best = rates.iter().filter(|v| number(v, "queue").is_some()).map(|v| v.median);
    let (Some(alone), best) = (alone, best.fold(0.0, f64::max)) else {
        return Err(not_measured("performance.input"));
    };
    Ok(Times {
        compute: records.find("performance.input.compute", &[("model", &model)])?.median,
        source: records.find("performance.input.source", &[("source", &source)])?.median,
        alone: BATCH / alone.median,
        prefetched: BATCH / best,
    })
}

fn draw_input(records: &Records) -> Result<Drawing> {
    let (mut alone, mut prefetched, mut gains) = (vec![], vec![], vec![]);
    let (mut of_sum, mut of_larger) = (Samples::default(), Samples::default());
    for model in MODELS {
        for (source, name) in SOURCES {
            let t = times(records, model, source)?;
            let x = t.source / t.compute;
            alone.push((x, t.alone / t.compute));
            prefetched.push((x, t.prefetched / t.compute));
            of_sum.0.push(t.alone / (t.compute + t.source));
            of_larger.0.push(t.prefetched / t.compute.max(t.source));
            gains.push((t.alone / t.prefetched, model, name));
        }
    }
    let Some(best) = gains.iter().max_by(|a, b| a.0.total_cmp(&b.0)) else {
        return Err(not_measured("performance.input"));
    };
    for points in [&mut alone, &mut prefetched] {
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
    }
    let low = alone.iter().map(|p| p.0).fold(f64::MAX, f64::min);
    let high = alone.iter().map(|p| p.0).fold(f64::MIN, f64::max);
    let grid: Vec<f64> = (0..=40).map(|i| low * (high / low).powf(f64::from(i) / 40.0)).collect();
    let line = |name: &str, of: fn(f64) -> f64| LimitLine {
        name: name.to_owned(),
        points: grid.iter().map(|x| (*x, of(*x))).collect(),
    };
    let dots = |name: &str, points: Vec<(f64, f64)>| Series {
        name: name.to_owned(),
        points,
        band: vec![],
        joined: false,
    };
    let alt: Vec<String> = alone
        .iter()
        .zip(&prefetched)
        .map(|(a, p)| format!("{:.2}: {:.2} and {:.2}", a.0, a.1, p.1))
        .collect();
    let plot = LinePlot {
        x: Axis::new("time to make a batch ÷ time to learn from it", Scale::Log),
        y: Axis::new("time of a step ÷ time to learn", Scale::Log),
        series: vec![dots("one after the other", alone), dots("prefetched", prefetched)],
        limits: vec![
            line("sum: 1 + x", |x| 1.0 + x),
            line("larger one: max(1, x)", |x| x.max(1.0)),
        ],
    };
    Ok(Drawing {
        svg: plot.svg(),
        caption: format!(
            "One after the other, a step takes {} times the sum of both times, and with prefetch {} times the larger one (medians \
             of {} cases). Prefetch gains most for {} from {}: {}. It can never gain more than 2×.",
            Unit::Number.format(of_sum.median()),
            Unit::Number.format(of_larger.median()),
            gains.len(),
            best.1,
            best.2,
            Unit::Ratio.format(best.0)
        ),
        alt: format!(
            "Time of a step over the time to make its batch, both in units of the time to learn: without and with \
             prefetch. {}.",
            alt.join("; ")
        ),
    })
}

fn draw_queue(records: &Records) -> Result<Drawing> {
    let (mut series, mut alt, mut longer) = (vec![], vec![], vec![]);
    let mut ticks = vec![];
    for model in MODELS {
        let list: ParamList = &[("model", &model), ("source", &"packed")];
        let all = points(records, "performance.input", list, "queue")?;
        ticks = all.iter().map(|p| p.0).collect();
        if let (Some(short), Some(long)) = (all.first(), all.last()) {
            longer.push(format!(
                "{} with {} places instead of {} ({model})",
                Unit::Ratio.format(long.1 / short.1),
                long.0,
                short.0
            ));
        }
        alt.push(format!(
            "{model}: {}",
            all.iter()
                .map(|(q, rate)| format!("queue {q} {}", Unit::ImagesPerSecond.format(*rate)))
                .collect::<Vec<_>>()
                .join(", ")
        ));
        series.push(Series {
            name: model.to_owned(),
            points: all.iter().map(|(q, rate)| (*q, rate / 1e3)).collect(),
            band: vec![],
            joined: true,
        });
    }
    let limits = MODELS
        .iter()
        .map(|model| {
            let t = times(records, model, "packed")?;
            let rate = BATCH / t.compute.max(t.source) / 1e3;
            let (first, last) = (ticks.first().copied(), ticks.last().copied());
            Ok(LimitLine {
                name: format!("{model}: larger one"),
                points: first.into_iter().chain(last).map(|q| (q, rate)).collect(),
            })
        })
        .collect::<Result<Vec<_>>>()?;
    let plot = LinePlot {
        x: Axis::new("queue (batches)", Scale::Log).ticks(ticks),
        y: Axis::new("rate (thousand images/s)", Scale::Linear),
        series,
        limits,
    };
    Ok(Drawing {
        svg: plot.svg(),
        caption: format!(
            "What a longer queue gives, from packed pictures: the rate is {}. No queue goes beyond the \
             dashed line, at which the larger of the two times is all there is.",
            longer.join(", and ")
        ),
        alt: format!("Rate over the length of the queue. {}.", alt.join("; ")),
    })
}

fn draw_pieces(records: &Records) -> Result<Drawing> {
    let mut series = vec![];
    let mut found = vec![];
    for (device, way, name) in [
        ("cpu", "staged", "CPU, through a stage"),
        ("cuda", "pageable", "GPU, pageable"),
        ("cuda", "pinned", "GPU, pinned"),
    ] {
        let list: ParamList = &[("device", &device), ("way", &way)];
        let Ok(all) = points(records, "performance.pieces", list, "piece") else { continue };
        if let Some(best) = all.iter().max_by(|a, b| a.1.total_cmp(&b.1)) {
            found.push(format!(
                "{name}: best with pieces of {}, {}",
                Unit::Bytes.format(best.0),
                Unit::BytesPerSecond.format(best.1)
            ));
        }
        series.push(Series {
            name: name.to_owned(),
            points: all.iter().map(|(x, rate)| (x / 1024.0, rate / 1_073_741_824.0)).collect(),
            band: vec![],
            joined: true,
        });
    }
    if series.is_empty() {
        return Err(not_measured("performance.pieces"));
    }
    let plot = LinePlot {
        x: Axis::new("piece (KiB)", Scale::Log).ticks([0.25, 4.0, 64.0, 1024.0, 16384.0, 65536.0]),
        y: Axis::new("rate (GiB/s)", Scale::Linear),
        series,
        limits: vec![],
    };
    Ok(Drawing {
        svg: plot.svg(),
        caption: format!("{}.", found.join("; ")),
        alt: format!("Rate of copying over the size of a piece. {}.", found.join("; ")),
    })
}

fn head(names: &[&str]) -> Vec<String> {
    names.iter().map(ToString::to_string).collect()
}

fn table_input(records: &Records) -> Result<TableData> {
    let mut rows = vec![];
    let mut off = vec![];
    for model in MODELS {
        for (source, name) in SOURCES {
            let t = times(records, model, source)?;
            off.push((t.prefetched / t.compute.max(t.source) - 1.0).abs());
            let seconds = |s: f64| Unit::Seconds.format(s);
            rows.push(vec![
                format!("{model}, {name}"),
                seconds(t.source),
                seconds(t.compute),
                seconds(t.source + t.compute),
                seconds(t.alone),
                seconds(t.source.max(t.compute)),
                seconds(t.prefetched),
            ]);
        }
    }
    Ok(TableData {
        caption: format!(
            "Times of a batch of 128. With prefetch, the larger of the two times is met within {} in the worst case.",
            Unit::Share.format(off.into_iter().fold(0.0, f64::max))
        ),
        head: head(&[
            "model, source",
            "make",
            "learn",
            "sum",
            "one after the other",
            "larger one",
            "prefetched",
        ]),
        rows,
    })
}

fn table_kept(records: &Records) -> Result<TableData> {
    let row = |form: &str, name: &str| -> Result<Vec<String>> {
        let list: ParamList = &[("form", &form)];
        Ok(vec![
            name.to_owned(),
            records.find("performance.input.kept", list)?.text(),
            records.find("performance.input.gather", list)?.text(),
        ])
    };
    let of = |key: &str, form: &str| records.find(key, &[("form", &form)]).map(|v| v.median);
    let key = "performance.input.gather";
    let ratio = of(key, "bytes")? / of(key, "numbers")?;
    Ok(TableData {
        caption: format!(
            "Bytes take a quarter of the memory, and a batch of them takes {} the time of a copy of numbers.",
            Unit::Ratio.format(ratio)
        ),
        head: head(&["kept as", "all pictures", "a batch of 128"]),
        rows: vec![
            row("bytes", "bytes, decoded per batch")?,
            row("numbers", "numbers, decoded once")?,
        ],
    })
}

fn table_stream(records: &Records) -> Result<TableData> {
    let all = records.all("performance.stream", &[]);
    let mut rows = vec![];
    for value in &all {
        let (Some(shuffle), Some(room)) = (value.params.get("shuffle"), value.params.get("room"))
        else {
            continue;
        };
        let list: ParamList = &[("shuffle", shuffle), ("room", room)];
        let name = match shuffle.as_str() {
            "none" => "as they lie".to_owned(),
            "whole" => "blocks of one record, shuffled".to_owned(),
            "window" => format!("blocks of {room} at a time, mixed"),
            _ => format!("blocks, and a buffer of {room}"),
        };
        let name =
            name.replace("blocks of 256 at", "one block at").replace("blocks of", "blocks with");
        rows.push(vec![
            name,
            records.find("performance.stream.predicted", list)?.text(),
            records.find("performance.stream.bytes", list)?.text(),
            format!("{:.2}", records.find("performance.stream.variety", list)?.median),
            value.text(),
        ]);
    }
    if rows.is_empty() {
        return Err(not_measured("performance.stream"));
    }
    let whole = 10.0 * (1.0 - 0.9_f64.powi(32));
    Ok(TableData {
        caption: format!(
            "A file sorted by digit, the worst case. Of 32 records in a row, a whole shuffle has {whole:.2} different \
             digits on average (10·(1 − 0.9³²))."
        ),
        head: head(&["shuffle", "memory, predicted", "memory, measured", "digits in 32", "rate"]),
        rows,
    })
}

fn table_overlap(records: &Records) -> Result<TableData> {
    let key = "performance.pieces.overlap";
    let find = |what: &str| records.find(key, &[("device", &"cuda"), ("what", &what)]);
    let [kernel, copy, both] = [find("kernel")?, find("copy")?, find("both")?];
    let hidden = kernel.median + copy.median - both.median;
    Ok(TableData {
        caption: format!(
            "A copy and a kernel in two streams: {} of the shorter one's time is hidden.",
            Unit::Share.format(hidden / kernel.median.min(copy.median))
        ),
        head: head(&["what runs", "time"]),
        rows: [("the kernel alone", kernel), ("the copy alone", copy), ("both", both)]
            .map(|(name, value)| vec![name.to_owned(), value.text()])
            .into(),
    })
}
