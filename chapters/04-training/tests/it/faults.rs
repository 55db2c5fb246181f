//! Whatever ends a run, and at whatever operation on the disk: gone on with, it leaves what a run leaves that was never ended.

use lab::{
    data::{self, DataSet},
    testing::timeless,
};
use std::{
    fs,
    panic::{AssertUnwindSafe, catch_unwind},
    path::Path,
    time::Duration,
};
use training::{
    Config, Model, Result, Settings, Start, Watcher,
    checkpoint::Checkpoint,
    disk::{Fault, fail},
    run::CURVES,
    runner::{
        events::{self, log},
        files::{METRICS, MODEL},
    },
    train_on,
};

/// Never stops, or after this many steps.
struct Stop(Option<usize>);

impl Watcher for Stop {
    fn stop(&mut self) -> bool {
        self.0 = self.0.map(|left| left - 1);
        self.0 == Some(0)
    }
}

/// Trains two epochs of two steps in this folder, or goes on with what is there, until so many steps are taken.
fn train(run: &Path, data: &DataSet, stop: Option<usize>) -> Result<()> {
    let settings = Settings { epochs: 2, batch: 20, seed: 3, ..Settings::of(Model::Linear) };
    let start = if run.join("checkpoint").exists() { Start::Resume } else { Start::New };
    // A checkpoint after every step.
    let checkpoint_every = Duration::ZERO;
    let config =
        Config { settings, run: Some(run.into()), start, checkpoint_every, ..Config::default() };
    train_on(&config, data, &mut Stop(stop)).map(|_| ())
}

/// All that a run's folder contains, but for clocks and rates, and for the programs that wrote it.
fn state(run: &Path) -> Vec<(String, String)> {
    let saved = Checkpoint::load(run).unwrap();
    let mut all: Vec<_> = fs::read_dir(run)
        .unwrap()
        .map(|entry| {
            let name = entry.unwrap().file_name().into_string().unwrap();
            let bytes = fs::read(run.join(&name)).unwrap();
            let hex = |bytes: &[u8]| format!("{bytes:02x?}");
            match name.as_str() {
                "checkpoint" => {
                    let header = timeless(serde_json::to_value(&saved.header).unwrap());
                    let rest = (&saved.weights, &saved.optimizer, &saved.best);
                    (name, format!("{header} {rest:?}"))
                }
                METRICS => {
                    let text = String::from_utf8(bytes).unwrap();
                    let line = |line| timeless(serde_json::from_str(line).unwrap()).to_string();
                    (name, text.lines().map(line).collect::<Vec<_>>().join("\n"))
                }
                // The entries about the model have no order.
                MODEL => {
                    let model = training::Classifier::load(&run.join(&name)).unwrap();
                    (name, format!("{:?} {:?}", model.weights().unwrap(), model.tested()))
                }
                CURVES => (name, String::from_utf8(bytes).unwrap()),
                // Two records of the file, then the points of the checkpoint.
                events if events.starts_with("events.out.tfevents.") => {
                    let points = log(&saved.header.events);
                    assert!(bytes.ends_with(&points), "the event file is not the checkpoint's");
                    ("events".to_owned(), (bytes.len() - points.len()).to_string())
                }
                _ => (name, hex(&bytes)),
            }
        })
        .collect();
    all.sort();
    all
}

#[test]
fn a_run_that_ends_anywhere_and_goes_on_leaves_what_a_whole_one_does() {
    let data = data::drawn(40, 20, 1);
    let folder = tempfile::tempdir().unwrap();
    let whole = folder.path().join("whole");
    fail(None);
    train(&whole, &data, None).unwrap();
    let operations = fail(None);
    assert!(operations > 60, "{operations}");
    let wanted = state(&whole);
    let names: Vec<&str> = wanted.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, [".lock", "checkpoint", CURVES, "events", METRICS, MODEL]);
    assert_eq!(wanted[4].1.lines().count(), 3, "{}", wanted[4].1);
    // Nothing is left to do: nothing changes.
    train(&whole, &data, None).unwrap();
    assert_eq!(state(&whole), wanted);
    for fault in [Fault::Full, Fault::Killed] {
        for at in 0..operations {
            let run = folder.path().join(format!("{fault:?}{at}"));
            fail(Some((at, fault)));
            let ended = catch_unwind(AssertUnwindSafe(|| train(&run, &data, None)));
            fail(None);
            match ended {
                // That the folder's entry is on the disk is the last that can fail, and not every system can say so.
                Ok(Ok(())) => assert_eq!((at + 1, fault), (operations, Fault::Full), "no error"),
                Ok(Err(error)) => {
                    let said = error.to_string();
                    let way =
                        if run.join("checkpoint").exists() { "--resume" } else { "start again" };
                    assert!(fault == Fault::Full && said.contains(way), "{at}: {said}");
                }
                Err(_) => assert_eq!(fault, Fault::Killed, "{at}: a panic"),
            }
            train(&run, &data, None).unwrap_or_else(|error| panic!("{fault:?} at {at}: {error}"));
            assert!(state(&run) == wanted, "{fault:?} at {at}: {:#?}", state(&run));
            assert_eq!(events::files(&run).len(), 1);
        }
    }
    for stop in 1..=4 {
        let run = folder.path().join(format!("stopped{stop}"));
        train(&run, &data, Some(stop)).unwrap();
        assert!(run.join(MODEL).exists());
        train(&run, &data, None).unwrap();
        assert!(state(&run) == wanted, "stopped after {stop}: {:#?}", state(&run));
    }
}
