//! Ways to convolve, and the number that matters: seconds until the model is accurate enough.

use crate::{
    compare::convolution::{self, Layer},
    ladder::fastest,
};
use backprop::{
    measured::{peers::Answer, race::training},
    train::{Examples, Settings},
};
use dfdx::prelude::Cpu;
use lab::{Error, Experiment, Key, Race, Recorder, Result, Samples, peak};
use matmul::parallel;
use training::{Config, Model, Silent, train_on};

lab::keys! {
    /// Rates of a way to convolve.
    CONVOLUTION: measured "performance.convolution", FlopsPerSecond, ["layer", "way"];
    /// Test accuracy of short training runs.
    pub RIGHT: measured "performance.time_to", Share, ["model", "epochs"];
    /// The seconds that they took.
    pub SECONDS: measured "performance.time_to.seconds", Seconds, ["model", "epochs"];
    /// Test accuracy of long training runs.
    pub LONG_RIGHT: measured "performance.time_long", Share, ["model", "epochs"];
    /// The seconds that they took.
    pub LONG_SECONDS: measured "performance.time_long.seconds", Seconds, ["model", "epochs"];
    /// Seconds to the target accuracy, by the size of a batch.
    pub BATCH_SECONDS: measured "performance.batch", Seconds, ["batch", "lr"];
    /// Images a second.
    pub BATCH_RATE: measured "performance.batch.rate", ImagesPerSecond, ["batch", "lr"];
    /// Epochs to the target accuracy.
    BATCH_EPOCHS: measured "performance.batch.epochs", Count, ["batch", "lr"];
}

/// The experiments of this part.
pub fn experiments() -> Vec<Experiment> {
    lab::experiments! {
        quick CONVOLUTION.name => &[CONVOLUTION], convolutions,
            "three ways to convolve, for the layers of chapter 4";
        full RIGHT.name => &[RIGHT, SECONDS], |r| trainings(r, [RIGHT, SECONDS], &MODELS),
            "the accuracy of four models after so many seconds of training, from five seeds";
        full LONG_RIGHT.name => &[LONG_RIGHT, LONG_SECONDS], |r| trainings(r, [LONG_RIGHT, LONG_SECONDS], &LONG),
            "the same, for training runs that take minutes";
        full BATCH_SECONDS.name => &[BATCH_SECONDS, BATCH_RATE, BATCH_EPOCHS], batches,
            "images a second and seconds to 97% accuracy, by the size of a batch";
    }
}

/// The convolutions of chapter 4's networks.
const LAYERS: [Layer; 4] = [
    Layer { name: "cnn-1", side: 28, inputs: 1, outputs: 16, k: 5, pad: 2 },
    Layer { name: "cnn-2", side: 14, inputs: 16, outputs: 32, k: 5, pad: 0 },
    Layer { name: "resnet-1", side: 14, inputs: 24, outputs: 24, k: 3, pad: 1 },
    Layer { name: "resnet-2", side: 7, inputs: 48, outputs: 48, k: 3, pad: 1 },
];

/// The ways: all patches, a few at a time, direct.
const WAYS: [&str; 3] = ["all", "few", "direct"];

/// Images of a batch.
const BATCH: usize = 128;

fn convolutions(r: &mut Recorder) -> Result<()> {
    let limit = peak::fma_f32(parallel::available());
    let dev = Cpu::default();
    for layer in LAYERS {
        let numbers = |len: usize| (0..len).map(|i| (i % 17) as f32 / 17.0).collect::<Vec<f32>>();
        let (images, filters) =
            (numbers(BATCH * layer.image()), numbers(layer.patch() * layer.outputs));
        r.note_at(CONVOLUTION.at(&[("layer", &layer.name)]));
        let mut race = Race::new();
        race.add("all", || Ok(convolution::all_patches(&images, &filters, layer).map(drop)?));
        race.add("few", || {
            Ok(convolution::few_at_a_time(&images, &filters, layer, &dev).map(drop)?)
        });
        race.add("direct", || Ok(convolution::direct(&images, &filters, layer).map(drop)?));
        let results = race.run(r.budget.plan())?;
        let operations = BATCH as f64 * layer.operations();
        for way in WAYS {
            let rate = CONVOLUTION.at(&[("layer", &layer.name), ("way", &way)]);
            r.record(rate.against(limit.clone()), results.rate(way, operations)?);
        }
    }
    Ok(())
}

/// Seeds of each.
const SEEDS: usize = 5;
/// Test accuracies to reach.
pub const TARGETS: [f64; 3] = [0.97, 0.98, 0.99];
/// The models, and the numbers of epochs that each gets, with its recipe's schedule made to fit.
pub const MODELS: [(Model, &[usize]); 4] = [
    (Model::Linear, &[1, 3]),
    (Model::Mlp, &[1, 2, 5, 12]),
    (Model::Cnn, &[1, 2]),
    (Model::Resnet, &[1]),
];
/// What takes minutes a run, and so is a separate experiment.
const LONG: [(Model, &[usize]); 1] = [(Model::Resnet, &[2])];

/// Each model with several budgets of epochs: its accuracy, after how many seconds of training.
fn trainings(
    r: &mut Recorder,
    [right, seconds]: [Key; 2],
    models: &[(Model, &[usize])],
) -> Result<()> {
    let Some(data) = r.mnist(right)? else { return Ok(()) };
    for (model, budgets) in models {
        for epochs in *budgets {
            let of = |key: Key| key.at(&[("model", model), ("epochs", epochs)]);
            let (mut accuracies, mut times) = (Vec::new(), Vec::new());
            for seed in 0..SEEDS as u64 {
                r.note(right.name, &[("model", model), ("epochs", epochs), ("seed", &seed)]);
                let settings =
                    training::Settings { epochs: *epochs, seed, ..training::Settings::of(*model) };
                let config = Config { settings, device: r.device, ..Config::default() };
                let outcome = train_on(&config, &data, &mut Silent)?;
                accuracies.extend(outcome.test_accuracy());
                times.push(outcome.history.iter().map(|epoch| epoch.seconds).sum());
            }
            r.record(of(right), Samples(accuracies));
            r.record(of(seconds), Samples(times));
        }
    }
    Ok(())
}

/// Epochs of training until the accuracy is reached.
fn until(epochs: &Answer, share: f64) -> Option<usize> {
    epochs.accuracies.iter().position(|accuracy| *accuracy >= share).map(|at| at + 1)
}

/// Seconds of training until the accuracy is reached.
pub fn seconds(epochs: &Answer, share: f64) -> Option<f64> {
    until(epochs, share).map(|count| epochs.seconds[..count].iter().sum())
}

/// A number of each of the seeds.
///
/// # Errors
/// [`Error::Skipped`] if some did not reach the accuracy.
pub fn of_all<T>(found: &[T], of: impl Fn(&T) -> Option<f64>, what: &str) -> Result<Samples> {
    let reached: Vec<f64> = found.iter().filter_map(of).collect();
    if reached.len() == found.len() {
        return Ok(Samples(reached));
    }
    let why = format!("{} of {} seeds reached {what}", reached.len(), found.len());
    Err(Error::Skipped { what: what.to_owned(), why })
}

/// Batches of the study.
pub const BATCHES: [usize; 5] = [32, 128, 512, 2048, 8192];
/// What it has to reach.
pub const ENOUGH: f64 = 0.97;

/// The small perceptron in batches of several sizes: images a second, and seconds to 97% accuracy. The learning
/// rate grows with the root of the batch, as the noise of the gradient falls.
fn batches(r: &mut Recorder) -> Result<()> {
    let Some(data) = r.mnist(BATCH_SECONDS)? else { return Ok(()) };
    let (train, tested) = (Examples::of(&data.train), Examples::of(&data.test));
    for batch in BATCHES {
        let mut settings = Settings { batch, epochs: 25, ..Settings::default() };
        settings.rule.lr *= (batch as f64 / 128.0).sqrt();
        let mut found = Vec::new();
        for seed in 0..SEEDS as u64 {
            r.note(BATCH_SECONDS.name, &[("batch", &batch), ("seed", &seed)]);
            let settings = Settings { seed, ..settings.clone() };
            found.push(training(fastest, &settings, (&train, &tested))?);
        }
        let lr = format!("{:.2e}", settings.rule.lr);
        let of = |key: Key| key.at(&[("batch", &batch), ("lr", &lr)]);
        let times = found.iter().flat_map(|epochs| &epochs.seconds);
        let rates = times.map(|seconds| train.len() as f64 / seconds).collect();
        r.record(of(BATCH_RATE), Samples(rates));
        let what = "97% in 25 epochs";
        let time = of_all(&found, |epochs| seconds(epochs, ENOUGH), what);
        r.record_or_skip(of(BATCH_SECONDS), time)?;
        let count = of_all(&found, |epochs| until(epochs, ENOUGH).map(|n| n as f64), what);
        r.record_or_skip(of(BATCH_EPOCHS), count)?;
    }
    Ok(())
}
