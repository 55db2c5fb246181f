//! The part's figures and tables, made from one machine's records.

use crate::{
    bf16::{
        error::Sum,
        roofline::{Product, products},
    },
    measured::experiments::bf16::{
        BATCH, BYTES, CONTENDERS, DIFFERENCE, ERROR, GAIN, INTENSITY, LOSS, NETWORKS, PRODUCT,
        RATE, RATIO, RIDGE, RIGHT, SECONDS, TERMS, WIDE,
    },
};
use lab::{
    Drawing, Error, Figure, Key, Records, Result, Table, TableData, Unit,
    drawing::{Bars, Lines},
    plot::{Axis, LimitLine, LinePlot, Scale},
    record::ParamList,
    table::{Entry, Grid},
    units,
};

/// The figures that the page quotes.
pub fn figures() -> Vec<Figure> {
    vec![Figure { key: ERROR.name, draw: draw_error }, Figure { key: RATE.name, draw: draw_race }]
}

/// The tables that the page quotes.
pub fn tables() -> Vec<Table> {
    vec![
        Table { key: "mixed_precision.bf16.roofline", make: table_roofline },
        Table { key: "mixed_precision.bf16.needs", make: table_needs },
        Table { key: RIGHT.name, make: table_accuracy },
    ]
}

fn draw_error(records: &Records) -> Result<Drawing> {
    let of = |sum: Sum| ERROR.at(&[("sum", &sum.name())]);
    let sums = [
        (Sum::Narrow, "sums in bf16"),
        (Sum::Centred, "sums in f32, terms of both signs"),
        (Sum::Positive, "sums in f32, positive terms"),
    ];
    let k = TERMS[TERMS.len() - 1];
    let caption = format!(
        "A sum of {k} products whose inputs were rounded to bf16 is off by {} if it is accumulated in f32, no more than \
         a single product; accumulated in bf16 it is off by {}. Dashed: predicted.",
        records.text(of(Sum::Centred).with("k", k))?,
        records.text(of(Sum::Narrow).with("k", k))?,
    );
    let mut plot = Lines {
        over: "k",
        x: Axis::new("terms of the sum", Scale::Log),
        y: Axis::new("error (% of the sum's size)", Scale::Log),
        scale: |error| 100.0 * error,
        lines: sums.map(|(sum, name)| (name.to_owned(), of(sum))).into(),
        ..Lines::default()
    }
    .plot(records)?;
    plot.series.iter_mut().for_each(|series| series.joined = false);
    let limits = sums.map(|(sum, _)| LimitLine {
        name: if sum == Sum::Narrow { "predicted".to_owned() } else { String::new() },
        points: TERMS.map(|k| (k as f64, 100.0 * sum.predicted(k as f64))).into(),
    });
    // Only one of the dashed lines has a name; the labels are those of the points.
    let words = plot.drawing(caption);
    let alt = words.alt;
    Ok(Drawing { alt, ..LinePlot { limits: limits.into(), ..plot }.drawing(words.caption) })
}

/// What multiplies bf16 on the machine of the records.
fn unit(records: &Records) -> &'static str {
    let has = |name: &str| records.machine.features.iter().any(|feature| feature == name);
    if has("amx-bf16") { "AMX" } else { "AVX512-BF16" }
}

fn draw_race(records: &Records) -> Result<Drawing> {
    let ratio =
        |slow: &str, fast: &str| records.text(RATIO.at(&[("slow", &slow), ("fast", &fast)]));
    let finding = match (ratio("f32", "bf16"), ratio("f32", "bf16-portable")) {
        (Ok(found), _) => format!("on {} bf16 is {found} as fast as f32.", unit(records)),
        (Err(Error::Skipped { why, .. }), Ok(found)) => {
            format!("{why}; through the f32 registers bf16 is {found} as fast as f32.")
        }
        (Err(error), _) => return Err(error),
    };
    let caption = format!(
        "Training {} in batches of {BATCH} on {}: {finding}",
        WIDE.map(|size| size.to_string()).join("-"),
        records.machine.in_words(),
    );
    Bars {
        axis: Axis::new("images a second", Scale::Linear),
        bars: CONTENDERS.iter().map(|c| (c.name.to_owned(), RATE.at(&[("who", &c.who)]))).collect(),
        ..Bars::default()
    }
    .draw(records, caption)
}

fn table_roofline(records: &Records) -> Result<TableData> {
    let ridge = |number: &str| records.text(RIDGE.at(&[("number", &number)]));
    let narrow = match ridge("bf16") {
        Ok(found) => format!("for {} in bf16 above {found}", unit(records)),
        Err(Error::Skipped { why, .. }) => format!("for bf16 it is not known ({why})"),
        Err(error) => return Err(error),
    };
    let caption = format!(
        "Products of a step. On {} arithmetic is the limit for the vector registers above {} operations per byte; {narrow}.",
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
        format!("What a step needs. The gain of bf16 is not predicted for this machine: {small}.")
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
    let difference = records.get(DIFFERENCE.at(&[]))?;
    let caption = format!(
        "Test accuracy of 784-512-512-10 with {} seeds: training in bf16 changes it by {} percentage points \
         (median of the differences by seed).",
        difference.samples.0.len(),
        units::difference(100.0 * difference.median, 2)
    );
    Grid::new(records.every(RIGHT.at(&[]))?)
        .column("products", |right| right.param("number").unwrap_or_default())
        .column("median", |right| right.text())
        .column("each seed", |right| {
            let runs = right.samples.0.iter().map(|share| Unit::Share.format(*share));
            runs.collect::<Vec<_>>().join(", ")
        })
        .column("training loss", |right| LOSS.beside(right))
        .table(records, caption)
}
