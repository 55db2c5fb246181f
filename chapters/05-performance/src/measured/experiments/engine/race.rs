//! The race: chapter 4, chapter 3 and this chapter against PyTorch, in one run, taking turns.

use crate::ladder::{NAME, SIZES, fastest};
use backprop::{
    Result,
    fast::{Fast, Ways},
    measured::{
        peers::{self, Answer, Job, Peer},
        race::{self, Keys, OURS},
    },
    train::{Examples, Learner, Settings},
};
use lab::{
    Race, Recorder,
    data::{DataSet, Source},
    record::ParamList,
};
use matmul::parallel;
use training::{Config, Silent, train_on};

/// What the race records.
pub const KEYS: Keys =
    backprop::race_keys!("performance.race", &["model", "batch", "who", "version", "threads"]);
/// Batches of the race.
pub const BATCHES: [usize; 3] = [128, 512, 8];
/// Runs of each contender, from other random numbers.
const SEEDS: usize = 5;
/// Epochs of a run.
const EPOCHS: usize = 3;

/// The contenders.
pub const RACERS: [&str; 6] =
    [OURS, "chapter3", "chapter4", "pytorch-compiled", "pytorch-fused", "pytorch"];

/// Chapter 4's loop with dfdx's network.
fn chapter4(settings: &Settings, data: &DataSet) -> lab::Result<Answer> {
    let Settings { batch, epochs, dropout, seed, .. } = *settings;
    let lr = settings.rule.lr;
    let settings =
        training::Settings { batch, epochs, dropout, seed, lr, ..training::Settings::default() };
    let outcome = train_on(&Config { settings, ..Config::default() }, data, &mut Silent)?;
    Ok(Answer::of(outcome.history.iter().map(|epoch| (epoch.seconds, epoch.test_accuracy))))
}

/// Chapter 3's fastest network.
fn chapter3(settings: Settings) -> Result<Box<dyn Learner>> {
    Ok(Box::new(Fast::new(settings, Ways::default())?))
}

/// Makes one of chapter 3's learners, such as a rung of the ladder.
type Make = fn(Settings) -> Result<Box<dyn Learner>>;

/// The contenders that need no Python.
pub fn crates<'w>(
    settings: &'w Settings,
    data: &'w DataSet,
    examples: (&'w Examples, &'w Examples),
) -> Race<'w, Answer> {
    let mut race = Race::default();
    let seeded = |seed| Settings { seed: seed as u64, ..settings.clone() };
    let learners: [(_, Make); 2] = [(OURS, fastest), ("chapter3", chapter3)];
    for (who, make) in learners {
        race.turn(who, move |seed| race::training(make, &seeded(seed), examples));
    }
    race.turn("chapter4", move |seed| chapter4(&seeded(seed), data));
    race
}

/// PyTorch, with Adam's default kernel, with its fused one and compiled, or why it does not take part.
fn pytorch(r: &Recorder, source: &Source) -> [(&'static str, Result<Peer, String>); 3] {
    let threads = parallel::available().to_string();
    let sizes = SIZES.iter().map(usize::to_string).collect::<Vec<_>>().join(",");
    let ways = [
        ("pytorch-compiled", &["--fused", "--compile"][..]),
        ("pytorch-fused", &["--fused"]),
        ("pytorch", &[]),
    ];
    ways.map(|(who, more)| {
        r.note(KEYS.seconds.name, &[("model", &NAME), ("warming up", &who)]);
        let list = [&["--threads", &threads, "--sizes", &sizes], more].concat();
        let first = Job { batch: 512, epochs: 1, seed: 0 };
        let ready = peers::ready(&peers::folder().join("pytorch.py"), source, &list, first);
        (who, ready.map(|(peer, _)| peer))
    })
}

/// The whole race.
///
/// # Errors
/// A contender that fails, or a data set that is not there.
pub fn measure(r: &mut Recorder) -> lab::Result<()> {
    let data = r.data_set()?;
    let examples = (Examples::of(&data.train), Examples::of(&data.test));
    let mut pytorch = pytorch(r, &data.source);
    for batch in BATCHES {
        let settings = Settings { batch, epochs: EPOCHS, ..Settings::default() };
        let list: ParamList = &[("model", &NAME), ("batch", &batch)];
        let tell = |seed, who: &str| {
            r.note(KEYS.seconds.name, &[list, &[("who", &who), ("seed", &seed)]].concat());
        };
        let mut race = crates(&settings, &data, (&examples.0, &examples.1)).telling(tell);
        race::add_peers(&mut race, &mut pytorch, (batch, EPOCHS));
        let results = race.rounds(SEEDS)?;
        race::record(r, &KEYS, list, RACERS, (&results, data.train.len()))?;
    }
    Ok(())
}
