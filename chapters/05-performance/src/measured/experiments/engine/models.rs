//! What `train` reaches with each of chapter 4's models, beside PyTorch: in one run, taking turns.

use crate::learner::{by_engine, bytes, on_device};
use backprop::measured::{
    peers::{self, Answer, Job, Peer},
    race::{self, Keys, OURS},
};
use lab::{
    Device, Race, Recorder,
    data::{DataSet, Source},
    record::ParamList,
};
use matmul::parallel;
use std::path::Path;
use training::{Config, EngineKind, Model, Settings, Silent, any::Makers, train_on};

/// What it records.
pub const KEYS: Keys =
    backprop::race_keys!("performance.models", &["model", "batch", "who", "version", "threads"]);
/// Images of an epoch: whole steps of every batch.
const IMAGES: usize = 12_800;
/// Epochs of a run.
pub const EPOCHS: usize = 2;
/// Runs of each contender, from other random numbers.
const SEEDS: usize = 3;

/// The contenders.
const RACERS: [&str; 5] = [OURS, "plain", "pytorch", NHWC, COMPILED];
/// PyTorch with the channels of a pixel side by side.
const NHWC: &str = "pytorch-nhwc";
/// PyTorch by `torch.compile`, convolutions with the channels of a pixel side by side.
const COMPILED: &str = "pytorch-compiled";

/// Every model with the batch of its recipe, and with 128.
pub fn cases() -> impl Iterator<Item = (Model, usize)> {
    Model::ALL.into_iter().flat_map(|model| {
        let recipe = Settings::of(model).batch;
        let other = (recipe != 128).then_some((model, 128));
        [Some((model, recipe)), other].into_iter().flatten()
    })
}

/// The recipe without its changed images, by this engine.
pub fn settings(
    engine: EngineKind,
    (model, batch): (Model, usize),
    seed: usize,
    epochs: usize,
) -> Settings {
    let (seed, recipe) = (seed as u64, Settings::of(model));
    Settings { engine, batch, seed, epochs, augment: false, ..recipe }
}

/// Trains as `train` does.
///
/// # Errors
/// As [`train_on`].
pub fn train(settings: Settings, device: Device, data: &DataSet) -> lab::Result<Answer> {
    let makers = Makers { device: on_device, ..Makers::on_cpu(by_engine, bytes) };
    let config = Config { settings, device, makers, ..Config::default() };
    let outcome = train_on(&config, data, &mut Silent)?;
    Ok(Answer::of(outcome.history.iter().map(|epoch| (epoch.seconds, epoch.test_accuracy))))
}

/// Whether its convolutions may have the channels of a pixel side by side.
pub fn pictures(model: Model) -> bool {
    matches!(model, Model::Cnn | Model::Resnet)
}

/// PyTorch's program for a model, as one of the contenders.
///
/// # Errors
/// Why it does not take part.
pub fn pytorch(model: Model, who: &str, source: &Source) -> Result<Peer, String> {
    if who == NHWC && !pictures(model) {
        return Err("a memory format of images is for convolutions".to_owned());
    }
    let (threads, images) = (parallel::available().to_string(), IMAGES.to_string());
    let mut list = vec!["--model", model.name(), "--threads", &threads, "--limit", &images];
    list.extend((who != "pytorch" && pictures(model)).then_some("--channels-last"));
    list.extend((who == COMPILED).then_some("--compile"));
    let first = Job { batch: 128, epochs: 1, seed: 0 };
    let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("peers/pytorch_models.py");
    peers::ready(&program, source, &list, first).map(|(peer, _)| peer)
}

/// This course's two contenders.
pub fn engines(case: (Model, usize), data: &DataSet) -> Race<'_, Answer> {
    let mut race = Race::default();
    for (who, engine) in [(OURS, EngineKind::Fast), ("plain", EngineKind::Dfdx)] {
        race.turn(who, move |seed| train(settings(engine, case, seed, EPOCHS), Device::Cpu, data));
    }
    race
}

/// The whole race.
///
/// # Errors
/// A contender that fails, or a data set that is not there.
pub fn measure(r: &mut Recorder) -> lab::Result<()> {
    let all = r.data_set()?;
    let data = DataSet { train: all.train.first(IMAGES), ..all };
    for (model, batch) in cases() {
        let list: ParamList = &[("model", &model), ("batch", &batch)];
        let tell = |seed, who: &str| {
            r.note(KEYS.seconds.name, &[list, &[("who", &who), ("seed", &seed)]].concat());
        };
        let mut torch =
            ["pytorch", NHWC, COMPILED].map(|who| (who, pytorch(model, who, &data.source)));
        let mut race = engines((model, batch), &data).telling(tell);
        race::add_peers(&mut race, &mut torch, (batch, EPOCHS));
        let results = race.rounds(SEEDS)?;
        race::record(r, &KEYS, list, RACERS, (&results, data.train.len()))?;
    }
    Ok(())
}
