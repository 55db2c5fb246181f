//! What this chapter measures: the network's accuracy, what each part of the work costs, and how far
//! drawn digits carry.

use crate::{
    Error,
    config::Settings,
    learning::metrics::Epoch,
    models::model::PIXELS,
    runner::{job::Config, outcome::Outcome, serve::Classifier, train::train_on, watch::Watcher},
};
use lab::{
    Budget, Experiment, Key, Recorder, Result, Samples, Unit,
    data::{self, DataSet, Source},
    progress::Progress,
    record::{ParamList, Run},
    run::MODEL,
};
use std::time::Instant;

/// The key of the main experiment, which the course's `open` records from its own training.
pub const MLP: &str = "training.mlp";

/// Test accuracy after the last epoch, by seed.
pub const ACCURACY: Key = Key::measured(MLP, Unit::Share, RUN);
/// Seconds of a run.
pub const SECONDS: Key = Key::measured("training.mlp.seconds", Unit::Seconds, RUN);
const EPOCH: Key = Key::measured("training.mlp.epoch", Unit::Seconds, RUN);
const RATE: Key = Key::measured("training.mlp.rate", Unit::ImagesPerSecond, RUN);
const FLOPS: Key = Key::measured("training.mlp.flops", Unit::FlopsPerSecond, RUN);
/// The loss after each epoch, on the training and on the test images.
pub const LOSSES: Key = Key::measured("training.mlp.loss", Unit::Number, OF_EPOCH);
/// The accuracy after each epoch.
const ACCURACIES: Key = Key::measured("training.mlp.accuracy", Unit::Share, OF_EPOCH);
/// Seconds of a stage of the work.
const COST: Key =
    Key::measured("training.cost", Unit::Seconds, &["stage", "data", "device", "epochs", "images"]);
const DRAWN_DIGITS: Key =
    Key::measured("training.drawn_digits", Unit::Share, &["device", "epochs"]);

const RUN: &[&str] = &["data", "device", "epochs"];
const OF_EPOCH: &[&str] = &["data", "device", "epoch", "set"];

/// The experiments of the main training job.
pub fn experiments() -> Vec<Experiment> {
    lab::experiments! {
        quick MLP => &[ACCURACY, SECONDS, EPOCH, RATE, FLOPS, LOSSES, ACCURACIES], mlp,
            "how accurate 784-128-10 is on MNIST after 10 epochs, over several seeds, and how fast it trains";
        quick COST.name => &[COST], cost,
            "what preparing the data, training, storing and serving a model cost";
        full DRAWN_DIGITS.name => &[DRAWN_DIGITS], drawn_digits,
            "how accurate a model trained only on drawn digits is on MNIST's real ones";
    }
}

/// Runs of `training.mlp`: five seeds show how much of the accuracy is chance.
const SEEDS: u64 = 5;

/// Reports which epoch is running.
struct Note<'r, 'p> {
    rec: &'r Recorder<'p>,
    seed: u64,
}

impl Watcher for Note<'_, '_> {
    fn epoch(&mut self, epoch: &Epoch) {
        self.rec.note("training", &[("seed", &self.seed), ("epoch", &epoch.epoch)]);
    }
}

/// One run on this data, from a seed.
///
/// # Errors
/// As [`train_on`].
pub fn run(rec: &Recorder, data: &DataSet, epochs: usize, seed: u64) -> Result<Outcome, Error> {
    let settings = Settings { epochs, seed, ..Settings::default() };
    let config = Config { settings, device: rec.device, ..Config::default() };
    train_on(&config, data, &mut Note { rec, seed })
}

fn mlp(rec: &mut Recorder) -> Result<()> {
    let data = rec.data_set()?;
    let seeds = if rec.budget == Budget::Full { SEEDS } else { 1 };
    let epochs = Settings::default().epochs;
    let runs =
        (0..seeds).map(|seed| run(rec, &data, epochs, seed)).collect::<Result<Vec<_>, _>>()?;
    record_runs(rec, &runs);
    Ok(())
}

/// A finished training as a run of the experiment [`MLP`], for a course that trains anyway.
///
/// # Errors
/// A message if `experiment` is another one.
pub fn run_of(experiment: &Experiment, outcome: &Outcome) -> Result<Run> {
    if experiment.key != MLP {
        return Err(lab::Error::message(format!(
            "a training is a run of {MLP}, not of {}",
            experiment.key
        )));
    }
    let progress = Progress::hidden();
    let mut rec = Recorder::new(experiment, Budget::Quick, outcome.device, &progress);
    record_runs(&mut rec, std::slice::from_ref(outcome));
    let (values, skipped) = rec.finish();
    Ok(Run { values, skipped, ..Run::now(experiment, Budget::Quick) })
}

/// Operations of one training image: 2 for each weight forward, and twice as many backward.
const FLOPS_PER_IMAGE: f64 = 3.0 * 2.0 * (784.0 * 128.0 + 128.0 * 10.0);

/// One metric of an epoch.
type Metric = fn(&Epoch) -> f64;

/// Records finished runs that differ in their seed alone.
pub fn record_runs(rec: &mut Recorder, runs: &[Outcome]) {
    let Some(first) = runs.first() else { return };
    let epochs = runs.iter().map(|run| run.history.len()).min().unwrap_or(0);
    if epochs == 0 {
        return;
    }
    let (data, device) = (first.source.name(), first.device);
    let over = |of: &dyn Fn(&Outcome) -> f64| Samples(runs.iter().map(of).collect());
    let each = |of: Metric| Samples(runs.iter().flat_map(|run| &run.history).map(of).collect());
    let of_run = |key: Key| key.at(&[("data", &data), ("device", &device), ("epochs", &epochs)]);
    rec.record(of_run(ACCURACY), over(&|run| run.history[epochs - 1].test_accuracy));
    rec.record(of_run(SECONDS), over(&|run| run.seconds));
    rec.record(of_run(EPOCH), each(|e| e.seconds));
    rec.record(of_run(RATE), each(|e| e.images_per_second));
    rec.record(of_run(FLOPS), each(|e| FLOPS_PER_IMAGE * e.images_per_second));
    let sets: [(&str, Metric, Metric); 2] = [
        ("train", |e| e.train_loss, |e| e.train_accuracy),
        ("test", |e| e.test_loss, |e| e.test_accuracy),
    ];
    for at in 0..epochs {
        for (set, loss, accuracy) in sets {
            let list: ParamList =
                &[("data", &data), ("device", &device), ("epoch", &(at + 1)), ("set", &set)];
            rec.record(LOSSES.at(list), over(&|run| loss(&run.history[at])));
            rec.record(ACCURACIES.at(list), over(&|run| accuracy(&run.history[at])));
        }
    }
}

fn cost(rec: &mut Recorder) -> Result<()> {
    let full = rec.budget == Budget::Full;
    rec.note_at(COST.at(&[("stage", &"preprocess")]));
    let data = rec.data_set()?; // a download is not what is to be measured
    let mut seconds = Vec::new();
    for _ in 0..if full { 5 } else { 1 } {
        let start = Instant::now();
        let set = rec.data_set()?;
        std::hint::black_box((set.train.scaled(), set.test.scaled()));
        seconds.push(start.elapsed().as_secs_f64());
    }
    let (name, device) = (data.source.name(), rec.device);
    rec.record(COST.at(&[("stage", &"preprocess"), ("data", &name)]), Samples(seconds));

    // One epoch in any case; the ten of the whole job where there is time.
    let mut weights = Vec::new();
    for (epochs, times) in [(1, if full { 5 } else { 1 }), (10, usize::from(full))] {
        let mut seconds = Vec::new();
        for seed in 0..times {
            let outcome = run(rec, &data, epochs, seed as u64)?;
            seconds.push(outcome.seconds);
            weights = outcome.weights;
        }
        if !seconds.is_empty() {
            let params: ParamList =
                &[("stage", &"train"), ("data", &name), ("device", &device), ("epochs", &epochs)];
            rec.record(COST.at(params), Samples(seconds));
        }
    }

    let folder = tempfile::tempdir().map_err(|e| lab::Error::io(&std::env::temp_dir(), e))?;
    store_and_serve(rec, folder.path(), &weights, &data)
}

fn store_and_serve(
    rec: &mut Recorder,
    folder: &std::path::Path,
    weights: &[f32],
    data: &DataSet,
) -> Result<()> {
    let path = folder.join(MODEL);
    let trained = Classifier::from_weights(Settings::default().model, weights)?;
    trained.save(&path)?; // a failure here is an error message; below it could only be a panic
    rec.time(COST.at(&[("stage", &"store")]), || {
        std::hint::black_box(trained.save(&path).is_ok());
    });
    rec.time(COST.at(&[("stage", &"load")]), || {
        std::hint::black_box(Classifier::load(&path).is_ok());
    });
    let served = Classifier::load(&path)?;
    let pixels = data.test.scaled();
    for images in [1, data.test.len()] {
        let batch = &pixels[..images * PIXELS];
        served.digits(batch)?;
        rec.time(COST.at(&[("stage", &"serve"), ("images", &images)]), || {
            std::hint::black_box(served.digits(batch).is_ok());
        });
    }
    Ok(())
}

fn drawn_digits(rec: &mut Recorder) -> Result<()> {
    let real = rec.data_set()?;
    let device = rec.device;
    let epochs = Settings::default().epochs;
    let share = DRAWN_DIGITS.at(&[("device", &device), ("epochs", &epochs)]);
    if !matches!(real.source, Source::Mnist(_)) {
        rec.skip_at(share, "there is no MNIST on this machine to test on");
        return Ok(());
    }
    let drawn = data::drawn(60_000, 10_000, 0);
    let mixed = DataSet { test: real.test, ..drawn };
    let mut shares = Vec::new();
    for seed in 0..if rec.budget == Budget::Full { 3 } else { 1 } {
        let outcome = run(rec, &mixed, epochs, seed)?;
        shares.extend(outcome.test_accuracy());
    }
    rec.record(share, Samples(shares));
    Ok(())
}
