use hardware::measured::experiments::experiments;
use lab::testing;

#[test]
fn what_is_calculated_is_recorded_whole() {
    for experiment in experiments().iter().filter(|experiment| experiment.quick) {
        let run = testing::run(experiment);
        assert!(run.values.len() > 5, "{}", experiment.key);
        for value in &run.values {
            assert!(value.median.is_finite() && value.median > 0.0, "{value:?}");
        }
    }
}
