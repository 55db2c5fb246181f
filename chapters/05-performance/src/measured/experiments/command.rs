//! Whole commands: from the line that a reader types to a model that classifies well enough, beside PyTorch's program
//! for the same model.

use backprop::measured::{
    peers::{self, Answer, Job},
    race::OURS,
};
use lab::{
    Experiment, Key, Race, Recorder, Result, Samples,
    data::{DataSet, Source},
    record::ParamList,
};
use matmul::parallel;
use std::{path::Path, process::Command, time::Instant};
use training::{Model, Settings, measured::command};

lab::keys! {
    /// Seconds from start to end.
    pub SECONDS: measured "performance.command", Seconds, ["model", "who", "version"];
    /// Test accuracy of what is trained.
    pub RIGHT: measured "performance.command.accuracy", Share, ["model", "who", "version"];
    /// Those seconds that are not of a training step: start, data, tests, saving.
    pub AROUND: measured "performance.command.around", Seconds, ["model", "who", "version"];
    /// Its seconds over ours.
    pub RATIO: measured "performance.command.ratio", Ratio, ["model", "who"];
}

/// The models.
pub const MODELS: [Model; 3] = [Model::Mlp, Model::Cnn, Model::Resnet];
/// PyTorch with the channels of a pixel side by side in memory.
const NHWC: &str = "pytorch-nhwc";

/// The programs that train a model. The order of channels in memory is for convolutions.
fn contenders(model: Model) -> impl Iterator<Item = &'static str> {
    [OURS, "pytorch"].into_iter().chain((model != Model::Mlp).then_some(NHWC))
}

/// Runs of each, from other random numbers.
const SEEDS: usize = 3;

/// The experiments of this part.
pub fn experiments() -> Vec<Experiment> {
    lab::experiments! {
        full SECONDS.name => &[SECONDS, RIGHT, AROUND, RATIO], commands,
            "seconds of whole commands that train to 98%, 99% and 99.4%, start and data included, beside PyTorch's";
    }
}

/// What a whole command came to.
#[derive(Clone, Debug)]
pub struct Whole {
    /// Seconds from its start to its end.
    pub seconds: f64,
    /// Those outside of the epochs.
    pub around: f64,
    /// The share of the test images that it then reads.
    pub accuracy: f64,
    version: String,
}

impl Whole {
    /// That took so long, with these epochs in it.
    pub fn of(seconds: f64, epochs: Answer) -> Self {
        let around = seconds - epochs.seconds.iter().sum::<f64>();
        Self { seconds, around, accuracy: epochs.accuracy, version: epochs.framework }
    }
}

/// `train --model MODEL --seed SEED`.
fn ours(program: &Path, model: Model, seed: usize, data: Option<&Path>) -> Result<Whole> {
    let mut train = Command::new(program);
    train.args(["train", "--device", "cpu", "--model", model.name(), "--seed", &seed.to_string()]);
    let command::Done { seconds, epochs } = command::train(train, data)?;
    let epochs = epochs.iter().map(|epoch| (epoch.seconds, epoch.test_accuracy));
    Ok(Whole::of(seconds, Answer::of(epochs)))
}

/// PyTorch's program for the model: it starts, trains once by the same recipe, and ends.
///
/// # Errors
/// A message if PyTorch does not take part or fails.
pub fn pytorch(model: Model, nhwc: bool, seed: usize, source: &Source) -> Result<Whole> {
    let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("peers/pytorch_models.py");
    let Settings { batch, epochs, augment, .. } = Settings::of(model);
    let threads = parallel::available().to_string();
    let mut list = vec!["--model", model.name(), "--threads", &threads];
    list.extend(augment.then_some("--augment"));
    list.extend(nhwc.then_some("--channels-last"));
    let begun = Instant::now();
    let mut peer = peers::start(&program, source, &list).map_err(lab::Error::message)?;
    let answer = peer.run(Job { batch, epochs, seed: seed as u64 })?;
    drop(peer); // waits for its end
    Ok(Whole::of(begun.elapsed().as_secs_f64(), answer))
}

fn commands(r: &mut Recorder) -> Result<()> {
    let Some(DataSet { source, .. }) = r.mnist(SECONDS)? else { return Ok(()) };
    let source = &source;
    let Some(program) = command::program() else {
        r.skip_at(SECONDS.at(&[]), command::NONE);
        return Ok(());
    };
    for model in MODELS {
        let list: ParamList = &[("model", &model)];
        let results = {
            let folder = r.data.as_deref();
            let tell = |seed, who: &str| {
                r.note(SECONDS.name, &[("model", &model), ("who", &who), ("seed", &seed)]);
            };
            let mut race = Race::default().telling(tell);
            race.turn(OURS, |seed| ours(&program, model, seed, folder));
            for who in contenders(model).filter(|who| *who != OURS) {
                let nhwc = who == NHWC;
                race.peer(who, Ok(move |seed| pytorch(model, nhwc, seed, source)));
            }
            race.rounds(SEEDS)?
        };
        for who in contenders(model) {
            let runs = results.of(who);
            let version = runs.as_ref().ok().and_then(|runs| runs.first()).map(|run| &run.version);
            let of = |key: Key| {
                let quantity = key.at(list).with("who", who);
                version.into_iter().fold(quantity, |of, version| of.with("version", version))
            };
            let all = |number: fn(&Whole) -> f64| {
                Ok(Samples(results.of(who)?.iter().map(number).collect()))
            };
            r.record_or_skip(of(SECONDS), all(|run| run.seconds))?;
            r.record_or_skip(of(RIGHT), all(|run| run.accuracy))?;
            r.record_or_skip(of(AROUND), all(|run| run.around))?;
            if who != OURS {
                let ratio = results.map(|run| run.seconds).ratio(who, OURS);
                r.record_or_skip(RATIO.at(list).with("who", who), ratio)?;
            }
        }
        r.keep()?;
    }
    Ok(())
}
