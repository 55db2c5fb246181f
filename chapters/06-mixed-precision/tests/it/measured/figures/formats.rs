use lab::testing;
use mixed_precision::measured::{
    experiments::formats::{STALL, SUMS},
    figures::formats::{adder, figures, tables},
};

#[test]
fn experiments_leave_what_figures_and_tables_need() {
    let mut left = (Vec::new(), Vec::new());
    for experiment in mixed_precision::measured::experiments::formats::experiments() {
        let run = testing::run(&experiment);
        for value in &run.values {
            assert!(value.median.is_finite() && value.median >= 0.0, "{value:?}");
        }
        left.0.extend(run.values);
        left.1.extend(run.skipped);
    }
    let records = testing::records(&mixed_precision::chapter(), &left.0, &left.1);
    testing::are_drawn(&figures(), &tables(), &records);
    // The prediction of the page, on its own record.
    for (name, n) in [("bf16", 100_000), ("f16", 100_000), ("f16-kahan", 10_000_000)] {
        let stall = records.get(adder(STALL, name)).unwrap();
        let sum = records.get(adder(SUMS, name).with("n", n)).unwrap();
        assert!((sum.median - stall.median).abs() < 1e-12, "{name}: {sum:?}");
    }
}
