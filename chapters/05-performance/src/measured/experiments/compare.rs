//! Ways to convolve, and the number that matters: seconds until the model reads well enough.

use crate::{
    compare::convolution::{self, Layer},
    engine::{fast::InPlace, layer::Team},
};
use backprop::{
    peers::{self, Job, Peer},
    train::{Epoch, Examples, Settings, fit},
};
use dfdx::prelude::Cpu;
use lab::{
    Experiment, Recorder, Result, Samples, Unit,
    data::{self, DataSet, Options, Source},
    measure::time_interleaved,
    peak,
    record::ParamList,
};
use matmul::parallel;
use training::{Config, Model, Silent, train_on};

/// The experiments of this part.
pub fn experiments() -> Vec<Experiment> {
    vec![
        Experiment {
            key: "performance.convolution",
            shows: "three ways to convolve, for the layers of chapter 4",
            values: &["performance.convolution", "performance.convolution.bytes"],
            quick: true,
            run: convolutions,
        },
        Experiment {
            key: "performance.time_to",
            shows: "how well four models read after so many seconds of training, from five seeds",
            values: &["performance.time_to", "performance.time_to.seconds"],
            quick: false,
            run: budgets,
        },
        Experiment {
            key: "performance.time_long",
            shows: "the same, for trainings that take minutes",
            values: &["performance.time_long", "performance.time_long.seconds"],
            quick: false,
            run: long,
        },
        Experiment {
            key: "performance.headline",
            shows: "seconds until one network reads 98%, here and in PyTorch",
            values: &["performance.headline", "performance.headline.ratio"],
            quick: false,
            run: headline,
        },
        Experiment {
            key: "performance.batch",
            shows: "pictures a second and seconds to 97%, by the size of a batch",
            values: &["performance.batch", "performance.batch.rate", "performance.batch.epochs"],
            quick: false,
            run: batches,
        },
    ]
}

/// The convolutions of chapter 4's networks.
pub const LAYERS: [Layer; 4] = [
    Layer { name: "cnn-1", side: 28, inputs: 1, outputs: 16, k: 5, pad: 2 },
    Layer { name: "cnn-2", side: 14, inputs: 16, outputs: 32, k: 5, pad: 0 },
    Layer { name: "resnet-1", side: 14, inputs: 24, outputs: 24, k: 3, pad: 1 },
    Layer { name: "resnet-2", side: 7, inputs: 48, outputs: 48, k: 3, pad: 1 },
];

/// The ways: their key in the records, and their name.
pub const WAYS: [(&str, &str); 3] =
    [("all", "all patches"), ("few", "a few at a time"), ("direct", "direct")];

/// Pictures of a batch.
pub const BATCH: usize = 128;

fn convolutions(r: &mut Recorder) -> Result<()> {
    let limit = peak::fma_f32(parallel::available());
    let dev = Cpu::default();
    for layer in LAYERS {
        let numbers = |len: usize| (0..len).map(|i| (i % 17) as f32 / 17.0).collect::<Vec<f32>>();
        let (pictures, filters) =
            (numbers(BATCH * layer.picture()), numbers(layer.patch() * layer.outputs));
        r.note("performance.convolution", &[("layer", &layer.name)]);
        // Each way once, so that what can't work is said.
        convolution::few_at_a_time(&pictures, &filters, layer, &dev)?;
        convolution::all_patches(&pictures, &filters, layer)?;
        convolution::direct(&pictures, &filters, layer)?;
        let mut all = || drop(convolution::all_patches(&pictures, &filters, layer));
        let mut few = || drop(convolution::few_at_a_time(&pictures, &filters, layer, &dev));
        let mut direct = || drop(convolution::direct(&pictures, &filters, layer));
        let samples = time_interleaved(r.budget.plan(), &mut [&mut all, &mut few, &mut direct]);
        let operations = BATCH as f64 * layer.operations();
        for ((way, _), seconds) in WAYS.iter().zip(samples) {
            let list: ParamList = &[("layer", &layer.name), ("way", way)];
            let rates = seconds.map(|s| operations / s);
            let (key, unit) = ("performance.convolution", Unit::FlopsPerSecond);
            r.limited(key, list, unit, rates, Some(limit.clone()));
        }
        let patches = (4 * BATCH * layer.out() * layer.out() * layer.patch()) as f64;
        let list: ParamList = &[("layer", &layer.name)];
        let samples = Samples::one(patches);
        r.value("performance.convolution.bytes", list, Unit::Bytes, samples);
    }
    Ok(())
}

/// Seeds of each.
const SEEDS: u64 = 5;
/// Test accuracies to reach.
pub const TARGETS: [f64; 3] = [0.97, 0.98, 0.99];
/// The models, and the numbers of epochs that each gets, with its recipe's schedule made to fit.
pub const MODELS: [(Model, &[usize]); 4] = [
    (Model::Linear, &[1, 3]),
    (Model::Mlp, &[1, 2, 5, 12]),
    (Model::Cnn, &[1, 2]),
    (Model::Resnet, &[1]),
];
/// What takes minutes a training, and so is an experiment of its own.
pub const LONG: [(Model, &[usize]); 1] = [(Model::Resnet, &[2])];

/// MNIST, or the word that it is missing.
fn mnist(r: &mut Recorder, key: &str) -> Result<Option<DataSet>> {
    let data = data::load(&Options { folder: r.data.clone(), ..Options::default() })?;
    if data.source == Source::Drawn {
        r.skip(key, &[], "there is no MNIST on this machine");
        return Ok(None);
    }
    Ok(Some(data))
}

/// Each model with several budgets of epochs: how well it reads, after how many seconds of training.
///
/// # Errors
/// A data set or a device that can't be used.
pub fn budgets(r: &mut Recorder) -> Result<()> {
    trainings(r, "performance.time_to", &MODELS)
}

/// As [`budgets`], for those of [`LONG`].
///
/// # Errors
/// As [`budgets`].
pub fn long(r: &mut Recorder) -> Result<()> {
    trainings(r, "performance.time_long", &LONG)
}

fn trainings(r: &mut Recorder, key: &str, models: &[(Model, &[usize])]) -> Result<()> {
    let Some(data) = mnist(r, key)? else { return Ok(()) };
    for (model, budgets) in models {
        let model = *model;
        for epochs in *budgets {
            let list: ParamList = &[("model", &model), ("epochs", epochs)];
            let (mut accuracy, mut seconds) = (Vec::new(), Vec::new());
            for seed in 0..SEEDS {
                r.note(key, &[("model", &model), ("epochs", epochs), ("seed", &seed)]);
                let settings =
                    training::Settings { epochs: *epochs, seed, ..training::Settings::of(model) };
                let config = Config { settings, device: r.device, ..Config::default() };
                let outcome = train_on(&config, &data, &mut Silent)?;
                accuracy.extend(outcome.test_accuracy());
                seconds.push(outcome.history.iter().map(|epoch| epoch.seconds).sum());
            }
            r.value(key, list, Unit::Share, Samples(accuracy));
            r.value(&format!("{key}.seconds"), list, Unit::Seconds, Samples(seconds));
        }
    }
    Ok(())
}

/// Seconds of training until the end of the first epoch after which the share is reached.
pub fn until(epochs: &[(f64, f64)], share: f64) -> Option<f64> {
    let at = epochs.iter().position(|(_, accuracy)| *accuracy >= share)?;
    Some(epochs[..=at].iter().map(|(seconds, _)| seconds).sum())
}

/// The network of the headline: chapter 5's deeper perceptron.
pub const HEADLINE: [usize; 4] = [784, 512, 128, 10];
/// What it has to reach.
pub const SHARE: f64 = 0.98;
/// After so many epochs it gives up.
const PATIENCE: usize = 12;

/// The same network here and in PyTorch, in turns: seconds until 98% of the test pictures are read.
///
/// # Errors
/// A data set that can't be read, or a peer that ends.
pub fn headline(r: &mut Recorder) -> Result<()> {
    const KEY: &str = "performance.headline";
    let Some(data) = mnist(r, KEY)? else { return Ok(()) };
    let (train, tested) = (Examples::of(&data.train), Examples::of(&data.test));
    let mut peer = pytorch(r, KEY, &data.source);
    let mut found: [Vec<f64>; 2] = Default::default();
    for seed in 0..SEEDS {
        r.note(KEY, &[("who", &"ours"), ("seed", &seed)]);
        let settings = Settings {
            sizes: HEADLINE.to_vec(),
            batch: 128,
            epochs: PATIENCE,
            seed,
            ..Settings::default()
        };
        let team = Team::paying(&settings.sizes, settings.batch);
        let mut learner = InPlace::new(settings.clone(), team)?;
        let history = fit(&mut learner, (&train, &tested), &settings, |_| {})?;
        let of = |e: &Epoch| (e.seconds, e.accuracy);
        found[0].extend(until(&history.iter().map(of).collect::<Vec<_>>(), SHARE));
        if let Some((peer, _)) = &mut peer {
            r.note(KEY, &[("who", &"pytorch"), ("seed", &seed)]);
            let answer = peer.run(Job { batch: 128, epochs: PATIENCE, seed })?;
            let epochs: Vec<(f64, f64)> =
                answer.seconds.into_iter().zip(answer.accuracies).collect();
            found[1].extend(until(&epochs, SHARE));
        }
    }
    let version = peer.map_or_else(String::new, |(_, version)| version);
    let sides = [("ours", "this chapter".to_owned()), ("pytorch", version)];
    for ((who, version), seconds) in sides.iter().zip(&found) {
        let list: ParamList = &[("who", who), ("version", version)];
        if seconds.len() as u64 == SEEDS {
            r.value(KEY, list, Unit::Seconds, Samples(seconds.clone()));
        } else if !version.is_empty() {
            let why =
                format!("{} of {SEEDS} seeds came to 98% in {PATIENCE} epochs", seconds.len());
            r.skip(KEY, list, why);
        }
    }
    if found[0].len() == found[1].len() && !found[1].is_empty() {
        let ratios = found[1].iter().zip(&found[0]).map(|(theirs, ours)| theirs / ours).collect();
        r.value("performance.headline.ratio", &[("who", &"pytorch")], Unit::Ratio, Samples(ratios));
    }
    Ok(())
}

/// PyTorch with the headline's network, and its version; or why not.
fn pytorch(r: &mut Recorder, key: &str, source: &Source) -> Option<(Peer, String)> {
    let threads = parallel::available().to_string();
    let sizes = HEADLINE.map(|size| size.to_string()).join(",");
    let list = ["--fused", "--threads", &threads, "--sizes", &sizes];
    let first = Job { batch: 512, epochs: 1, seed: 0 };
    match peers::ready(&peers::folder().join("pytorch.py"), source, &list, first) {
        Ok((peer, answer)) => Some((peer, answer.framework)),
        Err(why) => {
            for key in [key, "performance.headline.ratio"] {
                r.skip(key, &[("who", &"pytorch")], why.clone());
            }
            None
        }
    }
}

/// Batches of the study.
pub const BATCHES: [usize; 5] = [32, 128, 512, 2048, 8192];
/// What it has to reach.
pub const ENOUGH: f64 = 0.97;

/// The small perceptron in batches of several sizes: pictures a second, and seconds until 97% are read. The learning
/// rate grows with the root of the batch, as the noise of the gradient falls.
///
/// # Errors
/// A data set that can't be read.
pub fn batches(r: &mut Recorder) -> Result<()> {
    const KEY: &str = "performance.batch";
    let Some(data) = mnist(r, KEY)? else { return Ok(()) };
    let (train, tested) = (Examples::of(&data.train), Examples::of(&data.test));
    for batch in BATCHES {
        let mut settings = Settings { batch, epochs: 25, ..Settings::default() };
        settings.rule.lr *= (batch as f64 / 128.0).sqrt();
        let (mut rates, mut seconds, mut epochs) = (Vec::new(), Vec::new(), Vec::new());
        for seed in 0..SEEDS {
            r.note(KEY, &[("batch", &batch), ("seed", &seed)]);
            let settings = Settings { seed, ..settings.clone() };
            let team = Team::paying(&settings.sizes, settings.batch);
            let mut learner = InPlace::new(settings.clone(), team)?;
            let history = fit(&mut learner, (&train, &tested), &settings, |_| {})?;
            let times: Vec<(f64, f64)> = history.iter().map(|e| (e.seconds, e.accuracy)).collect();
            rates.extend(times.iter().map(|(seconds, _)| train.len() as f64 / seconds));
            seconds.extend(until(&times, ENOUGH));
            epochs.extend(times.iter().position(|t| t.1 >= ENOUGH).map(|at| at as f64 + 1.0));
        }
        let lr = format!("{:.2e}", settings.rule.lr);
        let list: ParamList = &[("batch", &batch), ("lr", &lr)];
        r.value("performance.batch.rate", list, Unit::ImagesPerSecond, Samples(rates));
        if seconds.len() as u64 == SEEDS {
            r.value(KEY, list, Unit::Seconds, Samples(seconds));
            r.value("performance.batch.epochs", list, Unit::Count, Samples(epochs));
        } else {
            let why = format!("{} of {SEEDS} seeds came to 97% in 25 epochs", seconds.len());
            for key in [KEY, "performance.batch.epochs"] {
                r.skip(key, list, why.clone());
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clock_stops_at_the_first_epoch_that_is_good_enough() {
        let epochs = [(1.0, 0.9), (2.0, 0.98), (4.0, 0.97), (8.0, 0.99)];
        assert_eq!(until(&epochs, 0.97), Some(3.0));
        assert_eq!(until(&epochs, 0.99), Some(15.0));
        assert_eq!(until(&epochs, 0.995), None);
        assert_eq!(until(&[], 0.5), None);
    }
}
