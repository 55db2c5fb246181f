//! The part's pictures and tables, made from one machine's records.

use crate::{
    bf16::{
        error::Sum,
        roofline::{Product, products},
    },
    measured::experiments::bf16::{
        BATCH, BYTES, CONTENDERS, GAIN, INTENSITY, NETWORKS, PRODUCT, RIDGE, SECONDS, TERMS, WIDE,
    },
};
use lab::{
    Drawing, Error, Figure, Key, Records, Result, Table, TableData, Unit,
    plot::{Axis, Bar, BarPlot, LimitLine, LinePlot, Scale, Series},
    record::ParamList,
    table::{Entry, Grid},
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

fn draw_error(records: &Records) -> Result<Drawing> {
    const KEY: &str = "mixed_precision.bf16.error";
    let (mut series, mut limits) = (Vec::new(), Vec::new());
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
    // Only one of the dashed lines has a name; the words are those of the points.
    let words = LinePlot { limits: Vec::new(), ..plot.clone() };
    Ok(Drawing { svg: plot.svg(), ..words.drawing(caption) })
}

fn draw_race(records: &Records) -> Result<Drawing> {
    const KEY: &str = "mixed_precision.bf16";
    let mut bars = Vec::new();
    for contender in &CONTENDERS {
        let found = records.find(KEY, &[("who", &contender.who)]);
        bars.push(Bar::of(contender.name, found, 1.0)?);
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
    let axis = Axis::new("images a second", Scale::Linear);
    Ok(BarPlot { axis, bars, limits: vec![] }.drawing(caption))
}

fn table_roofline(records: &Records) -> Result<TableData> {
    let ridge = |number: &str| records.text(RIDGE.at(&[("number", &number)]));
    let tiles = match ridge("bf16") {
        Ok(found) => format!("for the tiles from {found} on"),
        Err(Error::Skipped { why, .. }) => format!("for tiles it is not known ({why})"),
        Err(error) => return Err(error),
    };
    let caption = format!(
        "Products of a step. On {} arithmetic is the limit for the vector registers from {} operations per byte on; {tiles}.",
        records.machine.in_words(),
        ridge("f32")?,
    );
    let intensity = |product: &Product, number: &str| {
        let list: ParamList =
            &[("pass", &product.pass), ("layer", &product.layer), ("number", &number)];
        let found = records.get(PRODUCT.at(list));
        found.map_or_else(|_| "–".to_owned(), |found| format!("{:.0}", found.median))
    };
    Grid::new(products(&WIDE, BATCH))
        .column("product", |product| format!("{}, layer {}", product.pass, product.layer))
        .column("matrices", |Product { shape, .. }| {
            format!("{}×{} · {}×{}", shape.m, shape.k, shape.k, shape.n)
        })
        .column("10⁹ operations", |product| format!("{:.2}", product.shape.operations() / 1e9))
        .column("per byte, f32", |product| intensity(product, "f32"))
        .column("per byte, bf16", |product| intensity(product, "bf16"))
        .table(records, caption)
}

fn table_needs(records: &Records) -> Result<TableData> {
    let gain = |network: &str| match records.text(GAIN.at(&[("network", &network)])) {
        Err(Error::Skipped { why, .. }) => Ok(why),
        found => found,
    };
    let (small, wide) = (gain(NETWORKS[0].0)?, gain(NETWORKS[1].0)?);
    let caption = if small == wide {
        format!("What a step needs. The gain on tiles is not predicted for this machine: {small}.")
    } else {
        format!(
            "What a step needs at least. bf16 gains {small} for the small network and {wide} for the wide one."
        )
    };
    let steps = NETWORKS
        .into_iter()
        .flat_map(|(network, _, batch)| ["f32", "bf16"].map(|number| (network, batch, number)));
    let of = |key: Key, (network, _, number): &(&str, usize, &str)| {
        key.at(&[("network", network), ("number", number)])
    };
    Grid::new(steps)
        .column("step", |(network, batch, number)| format!("{network}, batch {batch}, {number}"))
        .column("operations per byte", |step| of(INTENSITY, step))
        .column("products", |step| of(BYTES, step).with("part", "products"))
        .column("Adam", |step| of(BYTES, step).with("part", "adam"))
        .column("rounding", |step| of(BYTES, step).with("part", "conversion"))
        .column("bound", |step| Entry::OrWhy(of(SECONDS, step)))
        .table(records, caption)
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
