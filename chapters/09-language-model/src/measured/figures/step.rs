//! The training step beside PyTorch's.

use crate::measured::experiments::{
    count::SIZES,
    step::{DIFFERENCE, FLOPS, OURS, PEERS, RATE, RATIO},
};
use lab::{
    Key, Records, Result, Table, TableData,
    table::{Entry, Grid},
};

/// The tables that the page quotes.
pub fn tables() -> Vec<Table> {
    vec![Table { key: "language_model.step", make: table_step }]
}

fn table_step(records: &Records) -> Result<TableData> {
    let of = |key: Key, who: &'static str| {
        move |size: &&str| Entry::OrWhy(key.at(&[("size", size), ("who", &who)]))
    };
    let caption = format!(
        "Training steps of the two models on {}; the small one reaches {} of the peak.",
        records.machine.in_words(),
        records
            .get(FLOPS.at(&[("size", &"small")]))?
            .of_limit()
            .map_or_else(|| "an unknown part".to_owned(), |share| lab::Unit::Share.format(share)),
    );
    Grid::new(SIZES.map(|(size, _)| size))
        .column("model", |size| (*size).to_owned())
        .column("this course", of(RATE, OURS))
        .column("of the peak", |size| Entry::OfLimit(FLOPS.at(&[("size", size)])))
        .column("PyTorch", of(RATE, PEERS[0].0))
        .column("its time over ours", of(RATIO, PEERS[0].0))
        .column("PyTorch, bf16", of(RATE, PEERS[1].0))
        .column("largest difference of losses", |size| {
            Entry::OrWhy(DIFFERENCE.at(&[("size", size)]))
        })
        .table(records, caption)
}
