use cpu_gpu::measured::experiments::counters::{ERROR, HARDWARE, SIMULATED};
use cpu_gpu::measured::figures::counters::{SHOWN, at, table, tables};
use cpu_gpu::{counters::Counter, ladder::LADDER};
use lab::Error;
use lab::testing::{MadeUp, are_drawn, unmeasured};

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
    let records = all.records(&cpu_gpu::chapter());
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
    match table(&all.records(&cpu_gpu::chapter())) {
        Err(Error::Skipped { why, .. }) => assert!(why.contains("Nsight")),
        other => panic!("{other:?}"),
    }
}
