//! The simulator's counts next to the hardware's, for each portable rung.

use super::{counts::of_rung, devices::number_or};
use crate::{
    counters::{self, Counter, CounterValues, Target},
    gpu, ladder,
};
use lab::{Experiment, Key, Recorder, Result, Samples};
use std::path::{Path, PathBuf};

const KEY: &str = "cpu_gpu.counters";
lab::keys! {
    /// What the hardware counted.
    pub HARDWARE: measured "cpu_gpu.counters.hardware", Count, ["rung", "n", "counter"];
    /// What the simulator counted.
    pub SIMULATED: simulated "cpu_gpu.counters.simulated", Count, ["rung", "n", "counter"];
    /// How far the simulator is off, as a fraction of the hardware's count.
    pub ERROR: measured "cpu_gpu.counters.error", Share, ["rung", "n", "counter"];
}

/// The n at which both count: the simulator runs every thread by itself.
pub const N: usize = 256;

/// The experiments of this file.
pub fn all() -> Vec<Experiment> {
    lab::experiments! {
        full KEY => &[HARDWARE, SIMULATED, ERROR], run,
            "what the simulator counts for each rung, next to the hardware's own counters";
    }
}

fn run(recorder: &mut Recorder) -> Result<()> {
    // This program, started once more by `ncu`, has one launch to make and nothing to measure.
    if counters::run_if_asked()? {
        return Ok(());
    }
    // Where that program's own records go: a temporary folder.
    let folder = std::env::temp_dir().join(format!("throughput-counters-{}", std::process::id()));
    let ready = ready(&folder);
    for rung in &ladder::LADDER {
        let hardware = ready.as_ref().map_err(ToString::to_string).and_then(|(ncu, target)| {
            recorder.note_at(HARDWARE.at(&[("rung", &rung.name), ("n", &N)]));
            counters::profile(ncu, target, rung.name, N).map_err(|error| error.to_string())
        });
        record(recorder, rung.name, N, hardware, || simulated(rung.name, N));
        recorder.keep()?;
    }
    let _ = std::fs::remove_dir_all(&folder);
    Ok(())
}

/// What there must be: a GPU that CUDA drives, `ncu`, and this program's own path.
fn ready(records: &Path) -> crate::Result<(PathBuf, Target)> {
    gpu::open("cuda")?;
    Ok((counters::find()?, Target::this(KEY, records)?))
}

/// Records one rung's counts, or for each why there is none.
pub fn record(
    recorder: &mut Recorder,
    rung: &str,
    n: usize,
    hardware: std::result::Result<CounterValues, String>,
    simulated: impl FnOnce() -> Result<CounterValues>,
) {
    let both = hardware.and_then(|hardware| match simulated() {
        Ok(simulated) => Ok((hardware, simulated)),
        Err(error) => Err(format!("the simulator could not run this rung: {error}")),
    });
    for counter in Counter::ALL {
        let at = |key: Key| key.at(&[("rung", &rung), ("n", &n), ("counter", &counter.name())]);
        let of =
            |counts: &CounterValues, why: &str| counts.get(&counter).copied().ok_or(why.to_owned());
        let counts = both.clone().and_then(|(hardware, simulated)| {
            let hardware = of(&hardware, "this GPU has no such counter")?;
            Ok((hardware, of(&simulated, "the simulator does not count this")?))
        });
        let (hardware, simulated) = match counts {
            Ok(counts) => counts,
            Err(why) => {
                for key in [HARDWARE, SIMULATED, ERROR] {
                    recorder.skip_at(at(key), &why);
                }
                continue;
            }
        };
        recorder.record(at(HARDWARE), Samples::one(hardware));
        recorder.record(at(SIMULATED), Samples::one(simulated));
        let error = counters::error(simulated, hardware);
        number_or(recorder, at(ERROR), error, "the hardware counted none");
    }
}

/// What the simulator counts in the same launch.
///
/// # Errors
/// What is measured fails.
pub fn simulated(rung: &str, n: usize) -> Result<CounterValues> {
    Ok(counters::simulated(&of_rung(rung, n)?))
}
