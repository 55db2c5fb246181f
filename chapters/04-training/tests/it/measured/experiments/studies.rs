use lab::{Budget, Device, Recorder, data, progress::Progress};
use training::config::{Model, Settings};
use training::measured::experiments::studies::{
    CURES, LOOKS, accuracies, at_epoch, rates, seeds, studies, train_all,
};
use training::runner::{job::Config, train::train_on, watch::Silent};

fn with_recorder<T>(work: impl FnOnce(&mut Recorder) -> T) -> T {
    let (experiments, progress) = (studies(), Progress::hidden());
    work(&mut Recorder::new(&experiments[0], Budget::Quick, Device::Cpu, &progress))
}

#[test]
fn runs_side_by_side_are_the_runs_one_by_one() {
    let data = data::drawn(150, 50, 2);
    let base = Settings { epochs: 2, ..Settings::default() };
    let all = seeds(&base, 5);
    let outcomes = with_recorder(|rec| train_all(rec, &data, &all)).unwrap();
    assert_eq!(outcomes.len(), 5);
    for (settings, outcome) in all.iter().zip(&outcomes) {
        let config = Config { settings: settings.clone(), ..Config::default() };
        let alone = train_on(&config, &data, &mut Silent).unwrap();
        assert_eq!(outcome.weights, alone.weights, "seed {}", settings.seed);
    }
    let shares = accuracies(&outcomes).0;
    assert_eq!(shares.len(), 5);
    assert_eq!(at_epoch(&outcomes, 1, |e| e.test_accuracy).0, shares);
    assert!(at_epoch(&outcomes, 2, |e| e.test_accuracy).0.is_empty());
}

#[test]
fn one_run_that_fails_ends_them_all_with_its_error() {
    let data = data::drawn(60, 20, 2);
    let bad = Settings { lr: 1e30, epochs: 1, batch: 8, ..Settings::default() };
    let all = [Settings { epochs: 1, ..Settings::default() }, bad];
    lab::testing::refused(with_recorder(|rec| train_all(rec, &data, &all)), ["learning rate"]);
}

#[test]
fn every_model_is_timed_in_whole_batches() {
    let data = data::drawn(64, 10, 1);
    let rates = rates(Model::Linear, Device::Cpu, 8, &data).unwrap();
    assert_eq!(rates.0.len(), 5);
    assert!(rates.0.iter().all(|rate| *rate > 0.0));
}

#[test]
fn each_remedy_changes_something_and_can_work() {
    let base = Settings { limit: Some(1000), dropout: 0.0, ..Settings::default() };
    for (at, (name, change)) in CURES.into_iter().enumerate() {
        let mut changed = base.clone();
        change(&mut changed);
        changed.check().unwrap();
        assert_eq!(changed == base, at == 0, "{name}");
    }
    assert!(LOOKS.windows(2).all(|pair| pair[0] < pair[1]));
}
