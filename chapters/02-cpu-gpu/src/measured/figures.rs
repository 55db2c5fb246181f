//! The figures and tables of this chapter that are more than their page declares, made from records.

pub mod counters;
pub mod counts;
pub mod devices;
pub mod ladder;
pub mod lu;
pub mod truck;
mod words;
pub mod wrong;

use lab::{Figure, Table};

/// Every figure, in the order of the page.
pub fn all() -> Vec<Figure> {
    [devices::figures(), truck::figures(), counts::figures(), ladder::figures(), lu::figures()]
        .into_iter()
        .flatten()
        .collect()
}

/// Every table, in the order of the page.
pub fn tables() -> Vec<Table> {
    [
        devices::tables(),
        truck::tables(),
        ladder::tables(),
        wrong::tables(),
        counters::tables(),
        lu::tables(),
    ]
    .into_iter()
    .flatten()
    .collect()
}
