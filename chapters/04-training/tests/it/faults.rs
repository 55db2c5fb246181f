//! Whatever ends a run, and at whatever operation on the disk: gone on with, it leaves what a run leaves that was never ended.

use crate::runs::StopAfter;
use lab::{
    data,
    run::{CHECKPOINT, METRICS, MODEL},
    testing::runs,
};
use std::{fs, path::Path, time::Duration};
use training::{Config, Model, Result, Settings, Start, train_on};

#[test]
fn a_run_that_ends_anywhere_and_goes_on_leaves_what_a_whole_one_does() {
    let data = data::drawn(40, 20, 1);
    // Two epochs of two steps, and a checkpoint after every step.
    let train = |run: &Path, stop: Option<usize>| -> Result<bool> {
        let settings = Settings { epochs: 2, batch: 20, seed: 3, ..Settings::of(Model::Linear) };
        let start = if run.join(CHECKPOINT).exists() { Start::Resume } else { Start::New };
        let checkpoint_every = Duration::ZERO;
        let run = Some(run.to_owned());
        let config = Config { settings, run, start, checkpoint_every, ..Config::default() };
        Ok(train_on(&config, &data, &mut StopAfter(stop.unwrap_or(usize::MAX)))?.stopped.is_none())
    };
    let folder = tempfile::tempdir().unwrap();
    let whole = runs::goes_on_from_anywhere(folder.path(), 1, &train);
    assert_eq!(fs::read_dir(&whole).unwrap().count(), 6);
    assert_eq!(fs::read_to_string(whole.join(METRICS)).unwrap().lines().count(), 3);
    for stop in 1..=4 {
        let run = folder.path().join(format!("stopped{stop}"));
        train(&run, Some(stop)).unwrap();
        assert!(run.join(MODEL).exists());
        train(&run, None).unwrap();
        assert!(runs::state(&run) == runs::state(&whole), "stopped after {stop}");
    }
}
