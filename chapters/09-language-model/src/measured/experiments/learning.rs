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
pub const VOCABULARY: usize = 512;
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
                r.one(GZIP.at(&[]), evaluate::gzip(&corpus.validation)?.per_byte());
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
    /// The model.
    pub config: Config,
    /// The learning rate.
    pub lr: f64,
    /// Its steps.
    pub steps: u64,
    /// Of the first weights and the batches.
    pub seed: u64,
}

impl Job {
    /// A run of it, before the first step.
    ///
    /// # Errors
    /// As [`Trainer::new`].
    pub fn begin(&self, text: &Text) -> Result<Trainer> {
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
    ///
    /// # Errors
    /// The model's.
    pub fn test(&self, model: &Model, text: &Text) -> Result<f64> {
        let length = self.config.context;
        let nats = validation::loss(model, &text.validation, length, TESTED / length, 0)?;
        Ok(text.bits_per_byte(nats))
    }

    /// Bits per byte after the whole run.
    fn run(&self, text: &Text) -> Result<f64> {
        let mut trainer = self.begin(text)?;
        for _ in 0..self.steps {
            trainer.step(&text.training)?;
        }
        self.test(&trainer.model(), text)
    }
}

/// A run that is tested whenever its steps have doubled: after 3, 6, 12 … 768.
///
/// # Errors
/// If it can't be measured.
pub fn learning(r: &mut Recorder, text: &Text, job: &Job) -> Result<()> {
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
            r.one(LEARNING.at(list), job.test(&trainer.model(), text)?);
        }
    }
    Ok(())
}

/// One thing changed at a time.
///
/// # Errors
/// If it can't be measured.
pub fn ablation(r: &mut Recorder, text: &Text, steps: u64, seeds: u64) -> Result<()> {
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
///
/// # Errors
/// If it can't be measured.
pub fn scaling(r: &mut Recorder, text: &Text, tokens: f64, seeds: u64) -> Result<()> {
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
