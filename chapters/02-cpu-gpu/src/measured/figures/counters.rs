//! The table that compares the simulator with the hardware.

use crate::{
    counters::Counter,
    ladder::LADDER,
    measured::experiments::counters::{ERROR, HARDWARE, N, SIMULATED},
};
use lab::{Key, Records, Result, Table, TableData, Unit, key::Quantity};

/// The tables of this file.
pub fn tables() -> Vec<Table> {
    vec![Table { key: "cpu_gpu.counters", make: table }]
}

/// What the table shows, from memory to arithmetic.
pub const SHOWN: [(Counter, &str); 4] = [
    (Counter::LoadSectors, "sectors loaded"),
    (Counter::SharedPasses, "wavefronts of shared memory"),
    (Counter::BankConflicts, "bank conflicts"),
    (Counter::Fma, "FMAs"),
];

/// A count of a rung.
pub fn at(key: Key, rung: &str, counter: Counter) -> Quantity {
    key.at(&[("rung", &rung), ("n", &N), ("counter", &counter.name())])
}

/// Each rung's counts by both, and how far they are apart.
///
/// # Errors
/// If a record is missing.
pub fn table(records: &Records) -> Result<TableData> {
    let mut rows = Vec::new();
    let mut worst: Option<(f64, &str, &str)> = None;
    for rung in &LADDER {
        for (counter, name) in SHOWN {
            let of = |key: Key| records.get(at(key, rung.name, counter));
            let (simulated, hardware) = (of(SIMULATED)?, of(HARDWARE)?);
            // Where the hardware counted none and the simulator some, there is no relative error.
            let error = of(ERROR).ok();
            if let Some(error) = error
                && worst.is_none_or(|(most, ..)| error.median > most)
            {
                worst = Some((error.median, rung.title, name));
            }
            rows.push(vec![
                rung.title.to_owned(),
                name.to_owned(),
                simulated.text(),
                hardware.text(),
                error.map_or_else(|| "none".to_owned(), lab::record::Value::text),
            ]);
        }
    }
    let finding = worst.map_or_else(String::new, |(error, rung, name)| {
        format!(" They differ most in {name} of “{rung}”: by {}.", Unit::Share.format(error))
    });
    let gpu = records.machine.gpus.first().map_or("this machine's GPU", String::as_str);
    Ok(TableData {
        caption: format!(
            "One product of {N}×{N} matrices by each rung: counted by the simulator, and by the counters of {gpu}.{finding}"
        ),
        head: ["rung", "count", "simulator", "hardware", "error"].map(str::to_owned).to_vec(),
        rows,
    })
}
