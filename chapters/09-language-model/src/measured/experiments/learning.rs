//! Small trainings on the real text: how the loss falls, what context, width and learning rate do to it, and a scaling law that
//! predicts a run before it is made.

use crate::{
    Config, Error, Model, Result,
    corpus::Corpus,
    count::{Parameters, TOKENS_PER_PARAMETER},
    evaluate,
    runner::Text,
    scaling::PowerLaw,
    train::{Settings, Trainer, validation},
};
use lab::{Experiment, Recorder, Samples, key::Quantity, record::ParamList};
use std::fmt::Display;

lab::keys! {
    /// Bits per byte of the text to be tested on, after so many tokens of training.
    pub LEARNING: measured "language_model.learning", Number, ["size", "tokens"];
    /// What gzip needs for the same text.
    pub GZIP: counted "language_model.learning.gzip", Number, [];
    /// Bits per byte at the end of a run that differs from the others in one thing, a sample for each seed.
    pub ABLATION: measured "language_model.ablation", Number, ["what", "value", "tokens"];
    /// Bits per byte of models of several sizes, a sample for each seed.
    pub SCALING: measured "language_model.scaling", Number, ["width", "parameters", "tokens"];
    /// What the law of the smaller sizes says about the largest.
    pub PREDICTED: calculated "language_model.scaling.predicted", Number, ["width", "parameters"];
    /// What the largest reached.
    pub FOUND: measured "language_model.scaling.found", Number, ["width", "parameters"];
    /// How far the prediction was too high, over what was found; below zero if it was too low.
    pub ERROR: measured "language_model.scaling.error", Share, ["width"];
    /// The law's exponent.
    pub EXPONENT: calculated "language_model.scaling.exponent", Number, [];
    /// The law's factor.
    pub FACTOR: calculated "language_model.scaling.factor", Number, [];
}

/// Tokens of every step.
pub const STEP: usize = 2048;
/// Steps of the run whose loss is followed.
const FOLLOWED: u64 = 768;
/// The vocabulary of the small models.
const VOCABULARY: usize = 512;
/// Steps of each run of the ablations.
const ABLATED: u64 = 224;
/// Lengths of the context.
pub const CONTEXTS: [usize; 4] = [32, 64, 128, 256];
/// Widths.
pub const WIDTHS: [usize; 3] = [64, 128, 192];
/// Learning rates.
pub const RATES: [f64; 3] = [1e-3, 3e-3, 1e-2];
/// Seeds of weights and batches.
const SEEDS: u64 = 3;
/// The model's widths from which the law is made.
pub const FITTED: [usize; 4] = [24, 32, 48, 64];
/// The width that it predicts.
pub const ASKED: usize = 96;
/// Runs of each width from which the law is made.
const FITTED_SEEDS: u64 = 2;
/// Tokens of the text to be tested on, evenly spread over all of it.
const TESTED: usize = 1 << 16;

/// The experiments of this file.
pub fn experiments() -> Vec<Experiment> {
    lab::experiments! {
        full LEARNING.name => &[LEARNING, GZIP], |r| {
                let corpus = Corpus::find(&Corpus::root())?;
                let gzip = evaluate::gzip(&corpus.validation)?.per_byte();
                r.one(GZIP.at(&[]), gzip);
                let text = Text::of(&corpus, None, Config::tiny().vocabulary)?;
                let config = Config::tiny();
                Ok(learning(r, &text, &Job { config, lr: 3e-3, steps: FOLLOWED, seed: 0 })?)
            },
            "how the tiny model's loss on unseen crates falls with the tokens that it has read";
        full ABLATION.name => &[ABLATION], |r| Ok(ablation(r, &text()?, ABLATED, SEEDS)?),
            "what context, width and learning rate do to a small model's loss, with several seeds";
        full SCALING.name =>
            &[SCALING, PREDICTED, FOUND, ERROR, EXPONENT, FACTOR],
            |r| Ok(scaling(r, &text()?, TOKENS_PER_PARAMETER, FITTED_SEEDS)?),
            "a scaling law of four sizes, what it predicts for a fifth, and the run of the fifth";
    }
}

/// The corpus in the tokens of the small models.
fn text() -> Result<Text> {
    Text::find(&Corpus::root(), None, VOCABULARY)
}

/// A small model: two layers, heads of 32 values or less.
pub fn small(width: usize, context: usize) -> Config {
    Config {
        vocabulary: VOCABULARY,
        context,
        width,
        heads: (width / 32).max(2),
        layers: 2,
        hidden: (width * 8 / 3).next_multiple_of(32),
    }
}

/// A training.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Job {
    config: Config,
    lr: f64,
    steps: u64,
    seed: u64,
}

impl Job {
    fn begin(&self, text: &Text) -> Result<Trainer> {
        let length = self.config.context;
        let settings = Settings {
            batch: (STEP / length).max(1),
            length,
            steps: self.steps,
            lr: self.lr,
            warmup: self.steps / 20,
            seed: self.seed,
            ..Settings::default()
        };
        Trainer::new(Model::new(self.config, self.seed)?, settings, &text.training, 0)
    }

    /// Bits per byte of a model.
    fn test(&self, model: &Model, text: &Text) -> Result<f64> {
        let length = self.config.context;
        let shape = ((STEP / length).max(1), length);
        let nats = validation::loss(model, &text.validation, shape, TESTED / length, 0)?;
        Ok(text.bits_per_byte(nats))
    }

    /// Bits per byte after the whole run.
    fn run(&self, text: &Text) -> Result<f64> {
        let mut trainer = self.begin(text)?;
        for _ in 0..self.steps {
            trainer.step(&text.training)?;
        }
        self.test(&trainer.model, text)
    }
}

/// A run that is tested whenever its steps have doubled: after 3, 6, 12 … 768.
fn learning(r: &mut Recorder, text: &Text, job: &Job) -> Result<()> {
    let mut trainer = job.begin(text)?;
    let tests: Vec<u64> =
        std::iter::successors(Some(job.steps), |steps| (steps % 2 == 0).then_some(steps / 2))
            .collect();
    while trainer.step < job.steps {
        trainer.step(&text.training)?;
        if tests.contains(&trainer.step) {
            let tokens = trainer.step * trainer.tokens() as u64;
            let list: ParamList = &[("size", &"tiny"), ("tokens", &tokens)];
            r.note_at(LEARNING.at(list));
            r.one(LEARNING.at(list), job.test(&trainer.model, text)?);
        }
    }
    Ok(())
}

/// One thing changed at a time.
fn ablation(r: &mut Recorder, text: &Text, steps: u64, seeds: u64) -> Result<()> {
    let tokens = steps * STEP as u64;
    let base = Job { config: small(64, 128), lr: 3e-3, steps, seed: 0 };
    let of = |what: &str, value: &dyn Display| -> Quantity {
        ABLATION.at(&[("what", &what), ("value", value), ("tokens", &tokens)])
    };
    let contexts = CONTEXTS.map(|c| (of("context", &c), Job { config: small(64, c), ..base }));
    let widths = WIDTHS.map(|w| (of("width", &w), Job { config: small(w, 128), ..base }));
    let rates = RATES.map(|lr| (of("learning rate", &lr), Job { lr, ..base }));
    // What they have in common is trained once.
    let mut known: Vec<(Job, Samples)> = Vec::new();
    for (quantity, job) in contexts.into_iter().chain(widths).chain(rates) {
        r.note_at(&quantity);
        let samples = match known.iter().find(|(other, _)| *other == job) {
            Some((_, samples)) => samples.clone(),
            None => runs(&job, text, seeds)?,
        };
        known.push((job, samples.clone()));
        r.record(quantity, samples);
        r.keep()?;
    }
    Ok(())
}

/// The same run with several seeds.
fn runs(job: &Job, text: &Text, seeds: u64) -> Result<Samples> {
    let each = (0..seeds).map(|seed| Job { seed, ..*job }.run(text));
    Ok(Samples(each.collect::<Result<_>>()?))
}

/// Four sizes, a law, what it says about a fifth, and the fifth. Each model reads so many tokens for each of its parameters, and
/// its learning rate is in inverse proportion to its width, as Yang et al. 2022 ("Tensor Programs V") have it for the matrices
/// between the layers, here for all parameters.
fn scaling(r: &mut Recorder, text: &Text, tokens: f64, seeds: u64) -> Result<()> {
    let of = |width: usize| {
        let config = small(width, 128);
        let parameters = Parameters::of(&config).all();
        let steps = (tokens * parameters as f64 / STEP as f64).round().max(1.0) as u64;
        (parameters, Job { config, lr: 3e-3 * 64.0 / width as f64, steps, seed: 0 })
    };
    let run = |r: &mut Recorder, width: usize, seeds: u64| -> Result<(f64, f64)> {
        let (parameters, job) = of(width);
        let quantity = SCALING
            .at(&[("width", &width), ("parameters", &parameters)])
            .with("tokens", job.steps * STEP as u64);
        r.note_at(&quantity);
        let found = r.record(quantity, runs(&job, text, seeds)?);
        r.keep()?;
        Ok((parameters as f64, found))
    };
    let mut points = Vec::new();
    for width in FITTED {
        points.push(run(r, width, seeds)?);
    }
    let law = PowerLaw::fit(&points)
        .ok_or_else(|| Error::Config("these losses have no power law".to_owned()))?;
    r.one(EXPONENT.at(&[]), law.exponent);
    r.one(FACTOR.at(&[]), law.factor);
    let parameters = of(ASKED).0;
    let list: ParamList = &[("width", &ASKED), ("parameters", &parameters)];
    let predicted = law.at(parameters as f64);
    r.one(PREDICTED.at(list), predicted);
    r.keep()?;
    let (_, found) = run(r, ASKED, 1)?;
    r.one(FOUND.at(list), found);
    r.one(ERROR.at(&[("width", &ASKED)]), predicted / found - 1.0);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::corpus::{Source, folder};
    use lab::testing;
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
        let start = job.test(&job.begin(&text).unwrap().model, &text).unwrap();
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
}
