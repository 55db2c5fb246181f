//! Trainings that take turns: for each seed each contender trains a network, this course's and other libraries'.

use crate::{
    measured::peers::{Answer, Job, Peer},
    train::{Examples, Learner, Settings, fit},
};
use lab::{Error, Key, Race, Recorder, Result, Samples, Unit, race::Results, record::ParamList};
use matmul::parallel;

/// What a race leaves for each contender: the seconds of its epochs, images a second, the accuracy at the end, and how
/// many times as long as ours its median epoch takes.
pub struct Keys {
    /// Seconds of an epoch.
    pub seconds: Key,
    /// Images a second.
    pub rate: Key,
    /// Of the test images.
    pub accuracy: Key,
    /// Over ours.
    pub ratio: Key,
    /// All of them.
    pub all: [Key; 4],
}

impl Keys {
    /// Keys of these names, with the parameters `who`, `version`, `threads` and more.
    pub const fn new(names: [&'static str; 4], params: &'static [&'static str]) -> Self {
        let seconds = Key::measured(names[0], Unit::Seconds, params);
        let rate = Key::measured(names[1], Unit::ImagesPerSecond, params);
        let accuracy = Key::measured(names[2], Unit::Share, params);
        let ratio = Key::measured(names[3], Unit::Ratio, params);
        Self { seconds, rate, accuracy, ratio, all: [seconds, rate, accuracy, ratio] }
    }
}

/// The [`Keys`] below a name.
#[macro_export]
macro_rules! race_keys {
    ($name:literal, $params:expr) => {
        $crate::measured::race::Keys::new(
            [$name, concat!($name, ".rate"), concat!($name, ".accuracy"), concat!($name, ".ratio")],
            $params,
        )
    };
}

/// What all others are compared with.
pub const OURS: &str = "ours";

/// A training of one of this course's learners, with a seed.
///
/// # Errors
/// Those of its learner.
pub fn training(
    make: impl Fn(Settings) -> crate::Result<Box<dyn Learner>>,
    settings: &Settings,
    examples: (&Examples, &Examples),
) -> Result<Answer> {
    let mut learner = make(settings.clone())?;
    let history = fit(&mut *learner, examples, settings, |_| {})?;
    Ok(Answer::of(history.iter().map(|epoch| (epoch.seconds, epoch.accuracy))))
}

/// Each of these peers takes part, or does not for the reason that it gives.
pub fn add_peers<'w>(
    race: &mut Race<'w, Answer>,
    peers: &'w mut [(&str, Result<Peer, String>)],
    (batch, epochs): (usize, usize),
) {
    for (who, peer) in peers {
        match peer {
            Ok(peer) => race.turn(*who, move |seed| {
                let seed = seed as u64;
                Ok(peer.run(Job { batch, epochs, seed })?)
            }),
            Err(why) => race.skip(*who, why.clone()),
        }
    }
}

/// Records the results of a race for all contenders.
///
/// # Errors
/// For a contender that was never added.
pub fn record<'a>(
    r: &mut Recorder,
    keys: &Keys,
    list: ParamList,
    contenders: impl IntoIterator<Item = &'a str>,
    (results, images): (&Results<Answer>, usize),
) -> Result<()> {
    // The median epoch of each training.
    let epochs = results.map(|answer| Samples(answer.seconds.clone()).median());
    for who in contenders {
        let answers = match results.of(who) {
            Ok(answers) => answers,
            Err(Error::Skipped { why, .. }) => {
                for key in [keys.seconds, keys.rate, keys.accuracy, keys.ratio] {
                    r.skip_at(key.at(list).with("who", who), why.clone());
                }
                continue;
            }
            Err(error) => return Err(error),
        };
        let version = answers.first().map_or("", |answer| &answer.framework);
        let of = |key: Key| {
            let threads = parallel::available();
            key.at(list).with("who", who).with("version", version).with("threads", threads)
        };
        let seconds = answers.iter().flat_map(|answer| &answer.seconds).copied().collect();
        let seconds = Samples(seconds);
        r.record(of(keys.rate), seconds.map(|seconds| images as f64 / seconds));
        r.record(of(keys.seconds), seconds);
        let accuracy = answers.iter().map(|answer| answer.accuracy).collect();
        r.record(of(keys.accuracy), Samples(accuracy));
        if who != OURS {
            r.record_or_skip(of(keys.ratio), epochs.ratio(who, OURS))?;
        }
    }
    Ok(())
}
