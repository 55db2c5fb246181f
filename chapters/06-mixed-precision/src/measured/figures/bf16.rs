//! The part's figures and tables, made from one machine's records.

use crate::{
    bf16::{
        error::Sum,
        roofline::{Product, products},
    },
    measured::experiments::bf16::{
        BATCH, DIFFERENCE, ERROR, LOSS, PRODUCT, RIDGE, RIGHT, TERMS, WIDE,
    },
};
use lab::{
    Drawing, Error, Figure, Records, Result, Table, TableData, Unit,
    drawing::Lines,
    plot::{Axis, LimitLine, LinePlot, Scale},
    record::ParamList,
    table::Grid,
    units,
};

/// The figures that the page quotes.
pub fn figures() -> Vec<Figure> {
    vec![Figure { key: ERROR.name, draw: draw_error }]
}

/// The tables that the page quotes.
pub fn tables() -> Vec<Table> {
    vec![
        Table { key: "mixed_precision.bf16.roofline", make: table_roofline },
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
        "With {k} terms a bf16 product is off by {} if its sums are in f32, by {} if they are in bf16. Sums in f32 keep it at \
         the error of a single product. Dashed: predicted.",
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
