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
const SHOWN: [(Counter, &str); 4] = [
    (Counter::LoadSectors, "sectors loaded"),
    (Counter::SharedPasses, "wavefronts of shared memory"),
    (Counter::BankConflicts, "bank conflicts"),
    (Counter::Fma, "FMAs"),
];

fn at(key: Key, rung: &str, counter: Counter) -> Quantity {
    key.at(&[("rung", &rung), ("n", &N), ("counter", &counter.name())])
}

fn table(records: &Records) -> Result<TableData> {
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

#[cfg(test)]
mod tests {
    use super::*;
    use lab::{
        Error,
        testing::{MadeUp, are_drawn, unmeasured},
    };

    #[test]
    fn every_rung_has_both_counts_and_the_worst_error_is_named() {
        let mut all = MadeUp::default();
        for rung in &LADDER {
            for (counter, _) in SHOWN {
                let off = rung.name == "shared" && counter == Counter::SharedPasses;
                all.add(at(SIMULATED, rung.name, counter), if off { 150.0 } else { 101.0 });
                all.add(at(HARDWARE, rung.name, counter), 100.0);
                if counter != Counter::BankConflicts {
                    all.add(at(ERROR, rung.name, counter), if off { 0.5 } else { 0.01 });
                }
            }
        }
        let records = all.records(&crate::chapter());
        are_drawn(&[], &tables(), &records);
        let table = table(&records).unwrap();
        assert_eq!(table.rows.len(), LADDER.len() * SHOWN.len());
        let worst = "wavefronts of shared memory of “shared tiles”: by 50.0%";
        assert!(table.caption.contains(worst), "{}", table.caption);
        assert_eq!(table.rows[0][2..], ["101", "100", "1.00%"]);
        assert_eq!(table.rows[2][4], "none");
    }

    #[test]
    fn without_counters_the_table_says_why() {
        assert!(matches!(table(&unmeasured()), Err(Error::NotMeasured { .. })));
        let mut all = MadeUp::default();
        let what = at(SIMULATED, "naive", Counter::LoadSectors);
        all.skip(what, "this machine has no Nsight Compute");
        match table(&all.records(&crate::chapter())) {
            Err(Error::Skipped { why, .. }) => assert!(why.contains("Nsight")),
            other => panic!("{other:?}"),
        }
    }
}
