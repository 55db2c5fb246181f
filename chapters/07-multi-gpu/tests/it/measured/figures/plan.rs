use lab::testing;
use multi_gpu::measured::experiments::plan::experiments;
use multi_gpu::measured::figures::plan::{scaling_curves, scaling_table, why_curves};

#[test]
fn what_is_simulated_is_drawn_and_tabled() {
    let simulated = experiments().into_iter().skip(1);
    let values: Vec<_> = simulated.flat_map(|one| testing::run(&one).values).collect();
    let records = testing::records(&multi_gpu::chapter(), &values, &[]);
    for figure in [scaling_curves, why_curves] {
        let drawing = figure(&records).unwrap();
        assert!(drawing.svg.starts_with("<svg") && !drawing.caption.contains("NaN"));
        assert!(!drawing.alt.contains("NaN"), "{}", drawing.alt);
    }
    assert_eq!(scaling_table(&records).unwrap().rows.len(), 12);
}
