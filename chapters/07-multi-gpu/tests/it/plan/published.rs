use multi_gpu::plan::published::{MEGATRON, calibrated, megatron, runs};

#[test]
fn one_number_is_calibrated_and_the_rest_comes_near() {
    let runs = runs().unwrap();
    let jitter = calibrated(&runs);
    assert!((0.005..0.1).contains(&jitter), "{jitter}");
    // Horovod's clock makes steps of a hundredth.
    assert!((runs[0].predicted(512, jitter) - 0.90).abs() < 0.01);
    for run in &runs {
        let shares: Vec<f64> = (3..10).map(|log| run.predicted(1 << log, jitter)).collect();
        assert!(shares.windows(2).all(|s| s[1] <= s[0] + 1e-9), "{} {shares:?}", run.model);
        for (p, published) in &run.points {
            let found = run.predicted(*p, jitter);
            let near = if run.by == "playbook" { 0.2 } else { 0.08 };
            let far = (found - published).abs();
            assert!(far < near, "{} {} {p}: {found}, not {published}", run.by, run.model);
        }
    }
}

#[test]
fn the_planner_comes_near_published_rates_of_split_transformers() {
    for row in &MEGATRON {
        let (estimate, rate) = megatron(row).unwrap();
        assert_eq!(estimate.split.cards(), row[5] as usize);
        let share = rate / 1e12 / f64::from(row[7]);
        assert!((0.6..1.2).contains(&share), "{}: {share}", estimate.split);
    }
}
