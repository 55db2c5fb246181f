//! The part's pictures and tables, made from one machine's records.

use crate::{
    bf16::{error::Sum, roofline::products},
    measured::experiments::bf16::{BATCH, CONTENDERS, NETWORKS, TERMS, WIDE},
};
use lab::{
    Drawing, Error, Figure, Records, Result, Table, TableData, Unit,
    plot::{Axis, Bar, BarPlot, LimitLine, LinePlot, Scale, Series},
    record::{ParamList, Value},
    units,
};

/// The figures that the page quotes.
pub fn figures() -> Vec<Figure> {
    vec![
        Figure { key: "mixed_precision.bf16.error", draw: draw_error },
        Figure { key: "mixed_precision.bf16", draw: draw_race },
    ]
}

/// The tables that the page quotes.
pub fn tables() -> Vec<Table> {
    vec![
        Table { key: "mixed_precision.bf16.roofline", make: table_roofline },
        Table { key: "mixed_precision.bf16.needs", make: table_needs },
        Table { key: "mixed_precision.bf16.accuracy", make: table_accuracy },
    ]
}

/// A value as text, or why there is none.
fn cell(found: Result<&Value>) -> Result<String> {
    match found {
        Ok(value) => Ok(value.text()),
        Err(Error::Skipped { why, .. }) => Ok(why),
        Err(error) => Err(error),
    }
}

fn draw_error(records: &Records) -> Result<Drawing> {
    const KEY: &str = "mixed_precision.bf16.error";
    let (mut series, mut limits, mut words) = (Vec::new(), Vec::new(), Vec::new());
    let percent = |drawn: f64| Unit::Share.format(0.01 * drawn);
    for (sum, name) in [
        (Sum::Narrow, "sums in bf16"),
        (Sum::Centred, "sums in f32, terms of both signs"),
        (Sum::Positive, "sums in f32, positive terms"),
    ] {
        let (mut points, mut band) = (Vec::new(), Vec::new());
        for k in TERMS {
            let found = records.find(KEY, &[("sum", &sum.name()), ("k", &k)])?;
            points.push((k as f64, 100.0 * found.median));
            band.push((100.0 * found.low, 100.0 * found.high));
        }
        let ends = points.first().zip(points.last());
        if let Some((first, last)) = ends {
            words.push(format!(
                "{name}: {} at one term, {} at {}",
                percent(first.1),
                percent(last.1),
                last.0
            ));
        }
        series.push(Series { name: name.to_owned(), points, band, joined: false });
        let predicted = |k: &usize| (*k as f64, 100.0 * sum.predicted(*k as f64));
        limits.push(LimitLine {
            name: if sum == Sum::Narrow { "predicted".to_owned() } else { String::new() },
            points: TERMS.iter().map(predicted).collect(),
        });
    }
    let k = TERMS[TERMS.len() - 1];
    let of = |sum: Sum| records.find(KEY, &[("sum", &sum.name()), ("k", &k)]);
    let (centred, narrow) = (of(Sum::Centred)?, of(Sum::Narrow)?);
    let caption = format!(
        "A sum of {k} products whose inputs were rounded to bf16 is off by {} if it is kept in f32, no more than \
         a single product; kept in bf16 it is off by {}. Dashed: predicted.",
        centred.text(),
        narrow.text(),
    );
    let plot = LinePlot {
        x: Axis::new("terms of the sum", Scale::Log).ticks(TERMS.map(|k| k as f64)),
        y: Axis::new("error (% of the sum's size)", Scale::Log),
        series,
        limits,
    };
    let alt = format!("Points on predicted lines. {}.", words.join("; "));
    Ok(Drawing { svg: plot.svg(), caption, alt })
}

fn draw_race(records: &Records) -> Result<Drawing> {
    const KEY: &str = "mixed_precision.bf16";
    let mut bars = Vec::new();
    for contender in &CONTENDERS {
        let (name, value, text) = match records.find(KEY, &[("who", &contender.who)]) {
            Ok(found) => {
                (contender.name, Some((found.median, found.low, found.high)), found.text())
            }
            Err(Error::Skipped { why, .. }) => (contender.name, None, why),
            Err(error) => return Err(error),
        };
        bars.push(Bar { name: name.to_owned(), value, text });
    }
    let ratio = |slow: &str, fast: &str| {
        let list: ParamList = &[("slow", &slow), ("fast", &fast)];
        records.find("mixed_precision.bf16.ratio", list)
    };
    let finding = match (ratio("f32", "bf16"), ratio("f32", "bf16-portable")) {
        (Ok(found), _) => format!("on tiles bf16 is {} as fast as f32.", found.text()),
        (Err(Error::Skipped { why, .. }), Ok(found)) => {
            format!("{why}; through the f32 registers bf16 is {} as fast as f32.", found.text())
        }
        (Err(error), _) => return Err(error),
    };
    let caption = format!(
        "Training {} in batches of {BATCH} on {}: {finding}",
        WIDE.map(|size| size.to_string()).join("-"),
        records.machine.in_words(),
    );
    let words: Vec<String> = bars.iter().map(|bar| format!("{}: {}", bar.name, bar.text)).collect();
    let alt = format!("Bars. {}.", words.join("; "));
    let axis = Axis::new("images a second", Scale::Linear);
    Ok(Drawing { svg: BarPlot { axis, bars, limits: vec![] }.svg(), caption, alt })
}

fn table_roofline(records: &Records) -> Result<TableData> {
    let mut rows = Vec::new();
    for product in products(&WIDE, BATCH) {
        let intensity = |number: &str| {
            let list: ParamList =
                &[("pass", &product.pass), ("layer", &product.layer), ("number", &number)];
            records.find("mixed_precision.bf16.roofline.product", list).map(|v| v.median)
        };
        let shape = product.shape;
        rows.push(vec![
            format!("{}, layer {}", product.pass, product.layer),
            format!("{}×{} · {}×{}", shape.m, shape.k, shape.k, shape.n),
            format!("{:.2}", shape.operations() / 1e9),
            format!("{:.0}", intensity("f32")?),
            format!("{:.0}", intensity("bf16")?),
        ]);
    }
    let ridge =
        |number: &str| records.find("mixed_precision.bf16.roofline.ridge", &[("number", &number)]);
    let tiles = match ridge("bf16") {
        Ok(found) => format!("for the tiles from {} on", found.text()),
        Err(Error::Skipped { why, .. }) => format!("for tiles it is not known ({why})"),
        Err(error) => return Err(error),
    };
    let caption = format!(
        "Products of a step. On {} arithmetic is the limit for the vector registers from {} operations per byte on; {tiles}.",
        records.machine.in_words(),
        ridge("f32")?.text(),
    );
    let head = ["product", "matrices", "10⁹ operations", "per byte, f32", "per byte, bf16"];
    Ok(TableData { caption, head: head.map(str::to_owned).to_vec(), rows })
}

fn table_needs(records: &Records) -> Result<TableData> {
    const KEY: &str = "mixed_precision.bf16.roofline";
    let mut rows = Vec::new();
    for (network, _, batch) in NETWORKS {
        for number in ["f32", "bf16"] {
            let find = |what: &str| {
                let list: ParamList = &[("network", &network), ("number", &number)];
                records.find(&format!("{KEY}.{what}"), list)
            };
            let bytes = |part: &str| {
                let list: ParamList =
                    &[("network", &network), ("number", &number), ("part", &part)];
                records.find(&format!("{KEY}.bytes"), list).map(Value::text)
            };
            rows.push(vec![
                format!("{network}, batch {batch}, {number}"),
                find("intensity")?.text(),
                bytes("products")?,
                bytes("adam")?,
                bytes("conversion")?,
                cell(find("seconds"))?,
            ]);
        }
    }
    let gain = |network: &str| cell(records.find(&format!("{KEY}.gain"), &[("network", &network)]));
    let (small, wide) = (gain(NETWORKS[0].0)?, gain(NETWORKS[1].0)?);
    let caption = if small == wide {
        format!("What a step needs. The gain on tiles is not predicted for this machine: {small}.")
    } else {
        format!(
            "What a step needs at least. bf16 gains {small} for the small network and {wide} for the wide one."
        )
    };
    let head = ["step", "operations per byte", "products", "Adam", "rounding", "bound"];
    Ok(TableData { caption, head: head.map(str::to_owned).to_vec(), rows })
}

fn table_accuracy(records: &Records) -> Result<TableData> {
    const KEY: &str = "mixed_precision.bf16.accuracy";
    let mut rows = Vec::new();
    for number in ["f32", "bf16"] {
        let list: ParamList = &[("number", &number)];
        let (found, loss) = (records.find(KEY, list)?, records.find(&format!("{KEY}.loss"), list)?);
        let runs: Vec<String> =
            found.samples.0.iter().map(|share| Unit::Share.format(*share)).collect();
        rows.push(vec![number.to_owned(), found.text(), runs.join(", "), loss.text()]);
    }
    let difference = records.find(&format!("{KEY}.difference"), &[])?;
    let seeds = difference.samples.0.len();
    let caption = format!(
        "Test accuracy of 784-512-512-10 with {seeds} seeds: training in bf16 changes it by {} points \
         (median over the seeds of each one's difference).",
        units::difference(100.0 * difference.median, 2)
    );
    let head = ["products", "median", "each seed", "training loss"];
    Ok(TableData { caption, head: head.map(str::to_owned).to_vec(), rows })
}
