//! The training step on devices.

use crate::measured::experiments::{
    count::SIZES,
    gpu::{ERROR, FLOPS, GAIN, RATE},
};
use cpu_gpu::measured::experiments::devices::DEVICES;
use lab::{
    Key, Records, Result, Table, TableData,
    table::{Entry, Grid},
};

/// The table that the page quotes.
pub fn tables() -> Vec<Table> {
    vec![Table { key: "language_model.gpu", make: table }]
}

fn table(records: &Records) -> Result<TableData> {
    let of = |key: Key| {
        move |(device, size): &(&str, &str)| key.at(&[("device", device), ("size", size)])
    };
    let caption = "The same training step on each device and on this machine's cores, in turns.";
    let rows = DEVICES.into_iter().flat_map(|device| SIZES.map(|(size, _)| (device, size)));
    Grid::new(rows)
        .column("device, model", |(device, size)| format!("{device}, {size}"))
        .column("rate", move |row| Entry::OrWhy(of(RATE)(row)))
        .column("operations", of(FLOPS))
        .column("cores' time over its", of(GAIN))
        .column("error of the gradient", of(ERROR))
        .table(records, caption)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measured::experiments::gpu;
    use lab::{
        Chapter, Part,
        testing::{MadeUp, are_drawn},
    };

    #[test]
    fn devices_are_rows_and_one_that_is_missing_says_why() {
        let mut made = MadeUp::default();
        for key in [RATE, FLOPS, GAIN, ERROR] {
            made.add(key.at(&[("device", &"cuda"), ("size", &"small")]), 1e5);
            made.skip(key.at(&[("device", &"cuda"), ("size", &"tiny")]), "it is busy");
        }
        let experiments = gpu::experiments();
        let part = Part { experiments, ..Part::default() };
        let records = made.records(&Chapter::of(9, "language_model", "A test", [part]));
        are_drawn(&[], &tables(), &records);
        let rows = table(&records).unwrap().rows;
        assert_eq!(rows[4][..2], ["cuda, tiny", "it is busy"]);
        assert_eq!(rows[5][0], "cuda, small");
    }
}
