//! The table that holds the simulator to the hardware.

use crate::{
    counters::Counter,
    ladder::LADDER,
    measured::experiments::counters::{ERROR, HARDWARE, N, SIMULATED},
};
use lab::{Figure, Records, Result, Table, TableData, Unit, record::ParamList};

/// None: the table says it.
pub fn figures() -> Vec<Figure> {
    Vec::new()
}

/// The tables of this file.
pub fn tables() -> Vec<Table> {
    vec![Table { key: "cpu_gpu.counters", make: table }]
}

/// What the table shows, from memory to arithmetic.
const SHOWN: [(Counter, &str); 4] = [
    (Counter::LoadSectors, "sectors loaded"),
    (Counter::SharedPasses, "passes of shared memory"),
    (Counter::BankConflicts, "bank conflicts"),
    (Counter::Fma, "FMAs"),
];

fn table(records: &Records) -> Result<TableData> {
    let mut rows = Vec::new();
    let mut worst: Option<(f64, &str, &str)> = None;
    for rung in &LADDER {
        for (counter, name) in SHOWN {
            let params: ParamList =
                &[("rung", &rung.name), ("n", &N), ("counter", &counter.name())];
            let [simulated, hardware] =
                [records.find(SIMULATED, params)?, records.find(HARDWARE, params)?];
            // Where the hardware counted none and the simulator some, there is no share.
            let error = records.find(ERROR, params).ok();
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
                error.map_or_else(|| "no share".to_owned(), lab::record::Value::text),
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
        Budget, Device, Error, Samples, chapter,
        machine::Machine,
        progress::Progress,
        record::{self, Skipped, Value, params},
    };

    /// Records of a run that measured, or left out, what `values` and `skipped` say.
    fn records(values: Vec<Value>, skipped: Vec<Skipped>) -> Records {
        let nothing = lab::Experiment {
            run: |_| Ok(()),
            ..crate::measured::experiments::counters::all().remove(0)
        };
        let run = chapter::run(&nothing, Budget::Full, Device::Cpu, None, &Progress::hidden());
        let run = record::Run { values, skipped, ..run.unwrap() };
        let folder = tempfile::tempdir().unwrap();
        record::save(folder.path(), &Machine::detect(), "cpu_gpu", run).unwrap();
        Records::load(folder.path()).unwrap()
    }

    #[test]
    fn every_rung_has_both_counts_and_the_worst_error_is_named() {
        let mut values = Vec::new();
        for rung in &LADDER {
            for (counter, _) in SHOWN {
                let list: ParamList =
                    &[("rung", &rung.name), ("n", &N), ("counter", &counter.name())];
                let mut value = |key: &str, unit, count: f64| {
                    values.push(Value::new(key, list, unit, Samples(vec![count])));
                };
                let off = rung.name == "shared" && counter == Counter::SharedPasses;
                value(SIMULATED, Unit::Count, if off { 150.0 } else { 101.0 });
                value(HARDWARE, Unit::Count, 100.0);
                if counter != Counter::BankConflicts {
                    value(ERROR, Unit::Share, if off { 0.5 } else { 0.01 });
                }
            }
        }
        let table = table(&records(values, Vec::new())).unwrap();
        assert_eq!(table.rows.len(), LADDER.len() * SHOWN.len());
        assert!(table.rows.iter().all(|row| row.len() == table.head.len()));
        assert!(
            table.caption.contains("passes of shared memory of “shared tiles”: by 50.0%"),
            "{}",
            table.caption
        );
        assert_eq!(table.rows[0][2..], ["101", "100", "1.00%"]);
        assert_eq!(table.rows[2][4], "no share");
    }

    #[test]
    fn without_counters_the_table_says_why() {
        // A run that has left nothing is not one that never was.
        assert!(matches!(table(&records(Vec::new(), Vec::new())), Err(Error::Key(_))));
        let list: ParamList =
            &[("rung", &"naive"), ("n", &N), ("counter", &Counter::LoadSectors.name())];
        let why = "this machine has no Nsight Compute".to_owned();
        let skipped = Skipped { key: SIMULATED.to_owned(), params: params(list), why };
        match table(&records(Vec::new(), vec![skipped])) {
            Err(Error::Skipped { why, .. }) => assert!(why.contains("Nsight")),
            other => panic!("{other:?}"),
        }
    }
}
