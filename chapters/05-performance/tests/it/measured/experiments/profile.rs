use lab::{Experiment, Recorder, Records, testing};
use performance::{
    measured::experiments::profile::{PHASE, SECONDS, SHARE, record, record_limits},
    profile::report::profile,
};
use training::Model;

/// Records as a run leaves them, of small steps on drawn digits.
fn records() -> Records {
    let small = |rec: &mut Recorder| {
        let (data, limits) = (lab::data::drawn(32, 8, 1), [1e11, 1e10]);
        record_limits(rec, limits);
        for model in Model::ALL {
            record(rec, (model, 8), &profile(model, &data, 8, 2)?, limits);
        }
        Ok(())
    };
    let experiment = testing::experiment(performance::chapter(), SECONDS.name);
    let run = testing::run(&Experiment { run: small, ..experiment });
    testing::records(&performance::chapter(), &run.values, &run.skipped)
}

#[test]
fn shares_sum_to_one_and_phases_to_their_operations() {
    let records = records();
    for (model, key) in Model::ALL.into_iter().flat_map(|m| [SHARE, PHASE].map(|key| (m, key))) {
        let all = records.every(key.at(&[("model", &model)])).unwrap();
        let sum: f64 = all.iter().map(|value| value.median).sum();
        assert!((sum - 1.0).abs() < 1e-9, "{model}: {}: {sum}", key.name);
    }
}
