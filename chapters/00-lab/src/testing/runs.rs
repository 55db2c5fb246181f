//! What a training leaves in its folder, whatever ended it on the way.

use crate::{
    Result,
    run::{
        CHECKPOINT, CURVES, METRICS, MODEL,
        disk::{Fault, fail},
        events::log,
    },
    testing::{names, timeless},
};
use serde_json::Value;
use std::{
    fmt::Display,
    fs,
    panic::{AssertUnwindSafe, catch_unwind},
    path::{Path, PathBuf},
};

/// All that a run's folder contains, but for clocks and rates, and for the programs that wrote it: names, and contents.
///
/// # Panics
/// If its event file is not its checkpoint's, or a file can't be read.
pub fn state(run: &Path) -> Vec<(String, String)> {
    let read = |name: &str| fs::read(run.join(name)).expect("a file of the run");
    let json = |text: &[u8]| serde_json::from_slice::<Value>(text).expect("JSON");
    let saved = read(CHECKPOINT);
    let length = u64::from_le_bytes(saved[8..16].try_into().expect("eight bytes")) as usize;
    let (header, values) = saved[16..saved.len() - 32].split_at(length);
    let of = |name: String| match name.as_str() {
        CHECKPOINT => (name, format!("{} {values:?}", timeless(json(header)))),
        METRICS => {
            let text = read(METRICS);
            let lines = text.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
            (name, lines.map(|line| timeless(json(line)).to_string() + "\n").collect())
        }
        // The records of the file's own, then the points of the checkpoint.
        events if events.starts_with("events.") => {
            let all: Vec<_> =
                serde_json::from_value(json(header)["events"].take()).expect("events");
            let (bytes, points) = (read(events), log(&all));
            assert!(bytes.ends_with(&points), "the event file is not the checkpoint's");
            ("events".to_owned(), (bytes.len() - points.len()).to_string())
        }
        other => (name.clone(), format!("{:?}", read(other))),
    };
    let mut all: Vec<_> = names(run).into_iter().map(of).collect();
    all.sort();
    all
}

/// Ends runs in folders within `folder`, each at another operation on the disk and by each [`Fault`], and goes on with them: all
/// come to the state of a whole run, whose folder is returned, and every error has the way out. `run` begins or goes on, stops
/// after so many steps if it is told to, and says whether all are taken; every `stride`-th operation is tried.
///
/// # Panics
/// If it is not so.
pub fn goes_on_from_anywhere<E: Display>(
    folder: &Path,
    stride: usize,
    run: &impl Fn(&Path, Option<usize>) -> Result<bool, E>,
) -> PathBuf {
    let finish = |to: &Path, what: &str| match run(to, None) {
        Ok(finished) => assert!(finished, "{what}: it has stopped"),
        Err(error) => panic!("{what}: {error}"),
    };
    let whole = folder.join("whole");
    fail(None);
    finish(&whole, "whole");
    let operations = fail(None);
    assert!(operations > 60, "{operations}");
    let wanted = state(&whole);
    let names: Vec<&str> = wanted.iter().map(|(name, _)| name.as_str()).collect();
    for name in [".lock", CHECKPOINT, CURVES, "events", METRICS, MODEL] {
        assert_eq!(names.iter().filter(|there| **there == name).count(), 1, "{name}: {names:?}");
    }
    finish(&whole, "nothing is left to do");
    assert!(state(&whole) == wanted, "something has changed");
    for fault in [Fault::Full, Fault::Killed] {
        for at in (0..operations).step_by(stride) {
            let to = folder.join(format!("{fault:?}{at}"));
            fail(Some((at, fault)));
            let ended = catch_unwind(AssertUnwindSafe(|| run(&to, None)));
            fail(None);
            match ended {
                // That the folder's entry is on the disk is the last that can fail, and not every system can say so.
                Ok(Ok(_)) => assert_eq!((at + 1, fault), (operations, Fault::Full), "no error"),
                Ok(Err(error)) => {
                    let said = error.to_string();
                    let begun = to.join(CHECKPOINT).exists();
                    let way = if begun { "--resume" } else { "start again" };
                    assert!(fault == Fault::Full && said.contains(way), "{at}: {said}");
                }
                Err(_) => assert_eq!(fault, Fault::Killed, "{at}: a panic"),
            }
            finish(&to, &format!("{fault:?} at {at}"));
            assert!(state(&to) == wanted, "{fault:?} at {at}: {:#?}", state(&to));
        }
    }
    whole
}
