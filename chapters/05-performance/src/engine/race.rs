//! The race: stock dfdx, chapter 4, chapter 3 and this chapter against PyTorch, in one run, taking turns.

use crate::engine::{
    ladder::{MODELS, fastest, stock},
    networks::{FastDeep, FastMlp, StockDeep},
};
use backprop::{
    Error, Result,
    fast::{Fast, Ways},
    flat::{Flat, Habits},
    peers::{self, Job, Peer},
    train::{Examples, Learner, Settings, fit},
};
use dfdx::prelude::Cpu;
use lab::{
    Recorder, Samples, Unit,
    data::{self, DataSet, Options, Source},
    record::ParamList,
};
use matmul::{Threads, parallel};
use training::{Config, Silent, mlp::Mlp, model::Network, train_network};

/// The race's key.
pub const KEY: &str = "performance.race";
/// Batches of the race.
pub const BATCHES: [usize; 2] = [128, 512];
/// Runs of each contender, from other random numbers.
const SEEDS: u64 = 5;
/// Epochs of a run.
const EPOCHS: usize = 3;

/// The contenders, and their names on a page.
pub const RACERS: [(&str, &str); 7] = [
    ("ours", "this chapter"),
    ("chapter3", "chapter 3, from scratch"),
    ("train", "chapter 4 with fast layers"),
    ("chapter4", "chapter 4"),
    ("stock", "stock dfdx"),
    ("pytorch-fused", "PyTorch, fused Adam"),
    ("pytorch", "PyTorch"),
];

/// Seconds of each epoch, and the accuracy at the end.
type Outcome = (Vec<f64>, f64);
/// Trains once with these settings.
type Run<'a> = Box<dyn FnMut(&Settings) -> Result<Outcome> + 'a>;

/// One who takes part.
struct Contender<'a> {
    who: &'static str,
    version: String,
    run: Run<'a>,
}

/// One of chapter 3's learners.
fn learner<'a>(
    (train, tested): (&'a Examples, &'a Examples),
    make: fn(Settings) -> Result<Box<dyn Learner>>,
) -> Run<'a> {
    Box::new(move |settings| {
        let mut learner = make(settings.clone())?;
        let history = fit(&mut *learner, (train, tested), settings, |_| {})?;
        let accuracy = history.last().map_or(f64::NAN, |epoch| epoch.accuracy);
        Ok((history.iter().map(|epoch| epoch.seconds).collect(), accuracy))
    })
}

/// Chapter 4's loop with a network.
fn chapter4<M: Network<Cpu>>(data: &DataSet) -> Run<'_> {
    Box::new(move |settings| {
        let Settings { batch, epochs, dropout, seed, .. } = *settings;
        let lr = settings.rule.lr;
        let settings = training::Settings {
            batch,
            epochs,
            dropout,
            seed,
            lr,
            ..training::Settings::default()
        };
        let config = Config { settings, ..Config::default() };
        let dev = Cpu::seed_from_u64(seed);
        let outcome = train_network::<M, Cpu>(&dev, &config, data, &mut Silent);
        let outcome = outcome.map_err(|e| Error::Config(e.to_string()))?;
        let seconds = outcome.history.iter().map(|epoch| epoch.seconds).collect();
        Ok((seconds, outcome.test_accuracy().unwrap_or(f64::NAN)))
    })
}

/// Chapter 3's fastest network of these sizes: its fast one has exactly one hidden layer.
fn chapter3(settings: Settings) -> Result<Box<dyn Learner>> {
    if settings.sizes.len() == 3 {
        return Ok(Box::new(Fast::new(settings, Ways::default())?));
    }
    let habits = Habits { fused_adam: true, keep_buffers: true, threads: Threads::All };
    Ok(Box::new(Flat::new(settings, habits)?))
}

/// The contenders that need no Python.
fn crates<'a>(
    sizes: &[usize],
    data: &'a DataSet,
    examples: (&'a Examples, &'a Examples),
) -> Vec<Contender<'a>> {
    let deep = sizes.len() > 3;
    let runs: [(&str, Run); 5] = [
        ("ours", learner(examples, fastest)),
        ("chapter3", learner(examples, chapter3)),
        if deep {
            ("train", chapter4::<FastDeep<f32, Cpu>>(data))
        } else {
            ("train", chapter4::<FastMlp<f32, Cpu>>(data))
        },
        if deep {
            ("chapter4", chapter4::<StockDeep<f32, Cpu>>(data))
        } else {
            ("chapter4", chapter4::<Mlp<Cpu>>(data))
        },
        ("stock", learner(examples, stock)),
    ];
    let version = "this course".to_owned();
    runs.into_iter().map(|(who, run)| Contender { who, version: version.clone(), run }).collect()
}

/// PyTorch, with Adam's default kernel and with its fused one, warmed up: a program that still starts would take the time
/// of the others.
fn pytorch<'a>(
    r: &mut Recorder,
    (name, sizes): (&str, &[usize]),
    source: &Source,
) -> Result<Vec<Contender<'a>>> {
    let mut contenders = Vec::new();
    for (who, more) in [("pytorch-fused", &["--fused"][..]), ("pytorch", &[])] {
        let why = match (peers::python(), source) {
            (None, _) => "PyTorch was not asked for; `measure --peers` does",
            (_, Source::Drawn) => "there is no MNIST on this machine for both to learn from",
            (Some(python), Source::Mnist(folder) | Source::Files(folder)) => {
                let script = peers::folder().join("pytorch.py");
                let (script, folder) = (script.to_string_lossy(), folder.to_string_lossy());
                let threads = parallel::available().to_string();
                let sizes = sizes.iter().map(usize::to_string).collect::<Vec<_>>().join(",");
                let mut list = vec![&*script, &*folder, "--threads", &threads, "--sizes", &sizes];
                list.extend(more);
                let mut peer = Peer::start(python, &list, None)?;
                r.note(KEY, &[("model", &name), ("warming up", &who)]);
                let version = peer.run(Job { batch: 512, epochs: 1, seed: 0 })?.framework;
                let run: Run = Box::new(move |settings| {
                    let Settings { batch, epochs, seed, .. } = *settings;
                    let answer = peer.run(Job { batch, epochs, seed })?;
                    Ok((answer.seconds, answer.accuracy))
                });
                contenders.push(Contender { who, version, run });
                continue;
            }
        };
        for batch in BATCHES {
            for key in VALUES {
                r.skip(key, &[("model", &name), ("batch", &batch), ("who", &who)], why);
            }
        }
    }
    Ok(contenders)
}

/// What the race leaves: seconds an epoch, pictures a second, right answers, and the seconds over ours.
pub const VALUES: [&str; 4] =
    [KEY, "performance.race.rate", "performance.race.accuracy", "performance.race.ratio"];

/// The whole race.
///
/// # Errors
/// A peer that ends, or a data set that is not there.
pub fn measure(r: &mut Recorder) -> lab::Result<()> {
    let data = data::load(&Options { folder: r.data.clone(), ..Options::default() })?;
    let examples = (Examples::of(&data.train), Examples::of(&data.test));
    let threads = parallel::available();
    for (name, sizes) in MODELS {
        let mut contenders = crates(sizes, &data, (&examples.0, &examples.1));
        contenders.extend(pytorch(r, (name, sizes), &data.source)?);
        for batch in BATCHES {
            let mut results: Vec<Vec<Outcome>> = vec![Vec::new(); contenders.len()];
            for seed in 0..SEEDS {
                let sizes = sizes.to_vec();
                let settings =
                    Settings { sizes, batch, seed, epochs: EPOCHS, ..Settings::default() };
                for (contender, results) in contenders.iter_mut().zip(&mut results) {
                    let list: ParamList = &[
                        ("model", &name),
                        ("batch", &batch),
                        ("seed", &seed),
                        ("who", &contender.who),
                    ];
                    r.note(KEY, list);
                    results.push((contender.run)(&settings)?);
                }
            }
            let middle = |runs: &[Outcome]| -> Vec<f64> {
                runs.iter().map(|(seconds, _)| Samples(seconds.clone()).median()).collect()
            };
            let ours = results.first().map_or_else(Vec::new, |runs| middle(runs));
            for (contender, runs) in contenders.iter().zip(&results) {
                let Contender { who, version, .. } = contender;
                let list: ParamList = &[
                    ("model", &name),
                    ("batch", &batch),
                    ("who", who),
                    ("version", version),
                    ("threads", &threads),
                ];
                let seconds = Samples(runs.iter().flat_map(|(s, _)| s).copied().collect());
                let rate = seconds.map(|s| data.train.len() as f64 / s);
                let accuracy = Samples(runs.iter().map(|(_, accuracy)| *accuracy).collect());
                r.value(VALUES[0], list, Unit::Seconds, seconds);
                r.value(VALUES[1], list, Unit::ImagesPerSecond, rate);
                r.value(VALUES[2], list, Unit::Share, accuracy);
                if *who != "ours" {
                    let ratios = middle(runs).iter().zip(&ours).map(|(s, ours)| s / ours).collect();
                    r.value(VALUES[3], list, Unit::Ratio, Samples(ratios));
                }
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everyone_without_python_runs() {
        let data = data::drawn(120, 40, 1);
        let examples = (Examples::of(&data.train), Examples::of(&data.test));
        for (_, sizes) in MODELS {
            let settings =
                Settings { sizes: sizes.to_vec(), batch: 50, epochs: 2, ..Settings::default() };
            for mut contender in crates(sizes, &data, (&examples.0, &examples.1)) {
                let (seconds, accuracy) = (contender.run)(&settings).unwrap();
                assert_eq!(seconds.len(), 2, "{}", contender.who);
                assert!((0.0..=1.0).contains(&accuracy), "{}: {accuracy}", contender.who);
                assert!(RACERS.iter().any(|(who, _)| *who == contender.who));
            }
        }
    }
}
