//! The part's figures and tables, made from one machine's records.

use crate::{
    bf16::roofline::{Product, products},
    measured::experiments::bf16::{BATCH, PRODUCT, RIDGE, WIDE},
};
use lab::{Error, Records, Result, Table, TableData, record::ParamList, table::Grid};

/// The tables that the page quotes.
pub fn tables() -> Vec<Table> {
    vec![Table { key: "mixed_precision.bf16.roofline", make: table_roofline }]
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
