use lab::Records;
use performance::gpu::cost::{Cost, RECORDED, Work};
use proptest::prelude::*;
use std::path::Path;

proptest! {
    #[test]
    fn the_fit_finds_the_cost_that_made_the_steps(
        start in 1e-6..1e-5, operation in 1e-14..1e-12, term in 1e-8..1e-7,
    ) {
        let made = Cost { start, operation, term };
        let found = Cost::fit(RECORDED.map(|(_, work, _)| (work, made.seconds(work)))).unwrap();
        prop_assert!((found.start / start - 1.0).abs() < 1e-6, "{found:?}");
        prop_assert!((found.operation / operation - 1.0).abs() < 1e-6, "{found:?}");
        prop_assert!((found.term / term - 1.0).abs() < 1e-6, "{found:?}");
    }
}

#[test]
fn steps_that_cannot_tell_the_parts_apart_are_not_fitted() {
    let work = Work { kernels: 2.0, operations: 1e6, terms: 100.0 };
    let twice = Work { kernels: 4.0, operations: 2e6, terms: 200.0 };
    assert_eq!(Cost::fit([(work, 1e-5), (twice, 2e-5), (work, 1.1e-5)]), None);
    assert_eq!(Cost::fit([]), None);
}

#[test]
fn the_steps_are_the_records_and_the_fit_is_off_by_a_twentieth_at_most() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../book/records/h100");
    let records = Records::load(&root).unwrap();
    let median = |key: &str, params: lab::record::ParamList| {
        records.find(key, &lab::record::params(params)).unwrap().samples.median()
    };
    let cost = Cost::h100();
    for (i, (name, work, seconds)) in RECORDED.into_iter().enumerate() {
        let recorded = if i < 3 {
            let batch = [32, 128, 512][i];
            median(
                "performance.gpu.graph",
                &[("device", &"cuda"), ("batch", &batch), ("way", &"launched")],
            )
        } else {
            let of = |key| median(key, &[("device", &"cuda"), ("size", &["tiny", "small"][i - 3])]);
            let tokens = [2048.0, 4096.0][i - 3];
            let rate = of("language_model.gpu");
            assert!(
                (of("language_model.gpu.flops") / rate * tokens / work.operations - 1.0).abs()
                    < 1e-4
            );
            tokens / rate
        };
        assert!((seconds / recorded - 1.0).abs() < 1e-4, "{name}: {recorded}");
        let error = cost.seconds(work) / seconds - 1.0;
        assert!(error.abs() < 0.05, "{name}: {error}");
    }
}
