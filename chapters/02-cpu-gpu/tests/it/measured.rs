mod experiments;
mod figures;

use cpu_gpu::measured::experiments::devices::DEVICES;
use lab::{Experiment, record::Run, testing::run};

/// What an experiment on every device leaves: numbers, and of each device some or the reason why not.
pub fn leaves(experiment: &Experiment) -> Run {
    let left = run(experiment);
    for value in &left.values {
        assert!(value.median.is_finite() && value.median >= 0.0, "{value:?}");
    }
    for device in DEVICES {
        let named = left.values.iter().any(|value| value.param("device") == Some(device));
        let mut reasons = left.skipped.iter().filter(|s| !s.why.is_empty());
        let told = reasons.any(|s| s.params.get("device").is_some_and(|id| id == device));
        assert!(named || told, "nothing is said about {device}");
    }
    left
}
