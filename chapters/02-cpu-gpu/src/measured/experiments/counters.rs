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
fn record(
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
fn simulated(rung: &str, n: usize) -> Result<CounterValues> {
    Ok(counters::simulated(&of_rung(rung, n)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use lab::{Budget, Device, progress::Progress, record::Run};

    fn recorded(
        hardware: std::result::Result<CounterValues, String>,
        simulated: Result<CounterValues>,
    ) -> (Vec<lab::record::Value>, Vec<lab::record::Skipped>) {
        let experiment = &all()[0];
        let progress = Progress::hidden();
        let mut recorder = Recorder::new(experiment, Budget::Full, Device::Cpu, &progress);
        record(&mut recorder, "shared", 64, hardware, || simulated);
        recorder.finish()
    }

    #[test]
    fn both_counts_and_the_error_are_recorded() {
        let simulated: CounterValues =
            Counter::ALL.into_iter().map(|counter| (counter, 50.0)).collect();
        let mut hardware: CounterValues =
            Counter::ALL.into_iter().map(|counter| (counter, 40.0)).collect();
        hardware.insert(Counter::BankConflicts, 0.0);
        hardware.remove(&Counter::Divergences);
        let (values, skipped) = recorded(Ok(hardware), Ok(simulated));
        let of = |key: Key, counter: Counter| {
            let named = |v: &&lab::record::Value| {
                v.key == key.name && v.params["counter"] == counter.name()
            };
            values.iter().find(named).map(|value| value.median)
        };
        assert_eq!(of(HARDWARE, Counter::Fma), Some(40.0));
        assert_eq!(of(SIMULATED, Counter::Fma), Some(50.0));
        assert_eq!(of(ERROR, Counter::Fma), Some(0.25));
        assert_eq!(of(HARDWARE, Counter::BankConflicts), Some(0.0));
        assert_eq!(of(ERROR, Counter::BankConflicts), None);
        assert_eq!(of(HARDWARE, Counter::Divergences), None);
        // Seven counters with both counts, six of them with an error; the rest has a reason.
        assert_eq!((values.len(), skipped.len()), (7 + 7 + 6, 1 + 3));
        assert!(values.iter().all(|value| value.params["rung"] == "shared"));
    }

    #[test]
    fn what_is_missing_is_said_of_every_value() {
        let why = "this machine has no Nsight Compute";
        let (values, skipped) = recorded(Err(why.to_owned()), Ok(CounterValues::new()));
        assert!(values.is_empty());
        assert_eq!(skipped.len(), 3 * Counter::ALL.len());
        assert!(skipped.iter().all(|skipped| skipped.why == why));
        let fault = Err(lab::Error::message("a race"));
        let (_, skipped) = recorded(Ok(CounterValues::from([(Counter::Fma, 1.0)])), fault);
        assert!(skipped.iter().all(|skipped| skipped.why.contains("a race")));
    }

    #[test]
    fn the_simulator_runs_every_rung_that_the_hardware_runs() {
        for rung in &ladder::LADDER {
            let n = 32;
            let counts = simulated(rung.name, n).unwrap();
            // Every element is a sum of n products; those in tiles beyond the edge count too.
            assert!(counts[&Counter::Fma] >= (n * n * n) as f64, "{}", rung.name);
            assert!(counts[&Counter::LoadSectors] >= counts[&Counter::LoadRequests]);
            assert!(counts[&Counter::StoreRequests] > 0.0);
        }
        assert!(simulated("no-such-rung", 8).is_err());
    }

    #[test]
    fn without_a_gpu_every_rung_has_its_reason() {
        if gpu::open("cuda").is_ok() {
            return; // then there is nothing to leave out
        }
        let Run { values, skipped, .. } = lab::testing::run(&all()[0]);
        assert!(values.is_empty());
        assert_eq!(skipped.len(), 3 * Counter::ALL.len() * ladder::LADDER.len());
        assert!(skipped.iter().all(|skipped| skipped.why.contains("no device cuda")));
    }
}
