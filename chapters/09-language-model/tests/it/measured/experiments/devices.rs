use lab::{Experiment, Key, Recorder, testing};
use language_model::measured::experiments::devices::{
    APART, ERROR, HELD, JOBS, LOSSES, PARTS, PREDICTED, Planner, RANKS, RATIO, SECONDS, SENT,
    SIMULATED, equality, experiments, steps,
};
use language_model::{Config, devices::How};
use matmul::parallel::available;
use multi_gpu::comm::cost::AlphaBeta;

#[test]
fn what_is_simulated_is_recorded_whole() {
    let found = testing::run(&experiments()[1]);
    assert_eq!(found.values.len(), 3 * 2 + JOBS.len() * (SIMULATED.len() + 1));
    assert!(found.values.iter().all(|value| value.median.is_finite() && value.median > 0.0));
}

#[test]
fn each_split_is_recorded_with_what_it_sends_and_holds() {
    let run = |r: &mut Recorder| {
        let config =
            Config { vocabulary: 30, context: 8, width: 16, heads: 4, layers: 4, hidden: 16 };
        steps(r, "tiny", config, AlphaBeta { alpha: 1e-6, beta: 1e-10 })?;
        Ok(equality(r, config)?)
    };
    let values = &[SENT, HELD, APART, LOSSES, SECONDS, RATIO, PREDICTED, ERROR];
    let found = testing::run(&Experiment { run, values, ..experiments().swap_remove(0) });
    let of = |key: Key| found.values.iter().filter(move |value| value.key == key.name);
    let all = How::ALL.len() * RANKS.len();
    assert_eq!((of(SENT).count(), of(HELD).count()), (all, PARTS.len() * all));
    assert_eq!(of(SECONDS).count(), all + 2, "and one device, on one core and on all");
    for value in of(SENT) {
        assert_eq!(value.median > 0.0, value.params["ranks"] != "1", "{value:?}");
    }
    assert_eq!(of(APART).count(), all + 1, "and the command's replicas");
    assert!(of(APART).chain(of(LOSSES)).all(|value| value.median < 1e-4));
}

#[test]
fn the_planner_takes_what_was_measured_for_one_core_and_less_for_two() {
    let link = AlphaBeta { alpha: 1e-6, beta: 1e-10 };
    let planner = Planner { config: Config::tiny(), link, seconds: 0.5, read: 1e10 };
    for how in How::ALL {
        let [one, two] = [1, 2].map(|ranks| planner.seconds(how, ranks).unwrap());
        assert!((one / 0.5 - 1.0).abs() < 0.05, "{}: {one}", how.name());
        assert!(available() < 2 || two < one, "{}: {two}", how.name());
    }
}
