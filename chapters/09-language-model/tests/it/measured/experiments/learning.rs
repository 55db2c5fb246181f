use lab::{Experiment, Recorder, testing};
use language_model::corpus::{Corpus, Source, folder};
use language_model::measured::experiments::learning::{
    ASKED, CONTEXTS, ERROR, EXPONENT, FACTOR, FOUND, GZIP, Job, LEARNING, PREDICTED, RATES,
    VOCABULARY, WIDTHS, ablation, experiments, learning, scaling, small,
};
use language_model::{Result, count::Parameters, runner::Text, scaling::PowerLaw};
use std::{f64::consts::LN_2, path::Path};

/// This crate's own sources.
fn own() -> Result<Text> {
    let files = folder::files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src/layers"))?;
    let source = |(path, text)| Source { path, text, ..Source::default() };
    let mut training: Vec<Source> = files.into_iter().map(source).collect();
    let validation = vec![training.remove(0)];
    Text::of(&Corpus { training, validation, ..Corpus::default() }, None, VOCABULARY)
}

fn values(experiment: usize, run: fn(&mut Recorder) -> lab::Result<()>) -> Vec<(String, f64)> {
    let experiment = Experiment { run, ..experiments().swap_remove(experiment) };
    let run = testing::run(&experiment);
    run.values.iter().map(|value| (value.key.clone(), value.median)).collect()
}

#[test]
fn a_run_is_followed_while_its_steps_double() {
    let found = values(0, |r| {
        let job = Job { config: small(24, 32), lr: 1e-2, steps: 24, seed: 1 };
        learning(r, &own()?, &job)?;
        r.one(GZIP.at(&[]), 2.0);
        Ok(())
    });
    let losses: Vec<f64> =
        found.iter().filter(|(key, _)| key == LEARNING.name).map(|(_, loss)| *loss).collect();
    assert_eq!(losses.len(), 4, "after 3, 6, 12 and 24 steps");
    assert!(losses.is_sorted_by(|a, b| a > b), "{losses:?}");
    // Before the first step every token is as likely as any other: 9 bits each.
    let text = own().unwrap();
    let job = Job { config: small(24, 32), lr: 1e-2, steps: 1, seed: 1 };
    let start = job.test(&job.begin(&text).unwrap().model(), &text).unwrap();
    let uniform = text.bits_per_byte(9.0 * LN_2);
    assert!((start / uniform - 1.0).abs() < 0.02, "{start} {uniform}");
}

#[test]
fn what_runs_have_in_common_is_the_same() {
    let found = values(1, |r| Ok(ablation(r, &own()?, 1, 1)?));
    assert_eq!(found.len(), CONTEXTS.len() + WIDTHS.len() + RATES.len());
    // A context of 128, a width of 64, a learning rate of 0.003: one and the same run.
    assert_eq!((found[2].1, found[2].1), (found[4].1, found[8].1));
    assert!(found[0].1 != found[2].1 && found[5].1 != found[4].1);
}

#[test]
fn the_prediction_is_the_laws_and_its_error_that_of_the_run() {
    let found = values(2, |r| Ok(scaling(r, &own()?, 0.02, 1)?));
    let of = |key: lab::Key| found.iter().find(|(name, _)| name == key.name).unwrap().1;
    let law = PowerLaw { factor: of(FACTOR), exponent: of(EXPONENT) };
    let parameters = Parameters::of(&small(ASKED, 128)).all();
    assert!((law.at(parameters as f64) / of(PREDICTED) - 1.0).abs() < 1e-9);
    assert!((of(PREDICTED) / of(FOUND) - 1.0 - of(ERROR)).abs() < 1e-12);
    let keys: Vec<&str> = found.iter().map(|(key, _)| &**key).collect();
    let at = |name: &str| keys.iter().position(|key| *key == name).unwrap();
    assert!(at(PREDICTED.name) < at(FOUND.name), "it is predicted before it runs");
}
