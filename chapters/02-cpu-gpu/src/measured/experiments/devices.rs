//! What this machine computes with: how many units, how wide, how fast.

#![allow(clippy::unnecessary_wraps)] // Experiments have one signature, whether they can fail or not.

use crate::{
    devices,
    gpu::{self, About, Gpu, Kind},
};
use lab::{Budget, Experiment, Key, Plan, Recorder, Result, Samples, key::Quantity, machine};
use std::time::Duration;

/// The devices that the page names, whether this machine has them or not.
pub const DEVICES: [&str; 3] = ["opencl-cpu", "opencl-gpu", "cuda"];

lab::keys! {
    /// Cores of a CPU, multiprocessors of a device.
    pub UNITS: counted "cpu_gpu.devices.units", Count, ["device"];
    /// The CPU's as measured, a device's as its driver reports it.
    pub CLOCK: measured "cpu_gpu.devices.clock", Hertz, ["device"];
    /// Multiply-adds in f32 in a cycle.
    pub LANES: measured "cpu_gpu.devices.lanes", Number, ["device"];
    /// Bytes of memory.
    pub MEMORY: counted "cpu_gpu.devices.memory", Bytes, ["device"];
}

/// This file's experiments.
pub fn all() -> Vec<Experiment> {
    lab::experiments! {
        quick "cpu_gpu.devices" => &[UNITS, CLOCK, LANES, MEMORY], run,
            "cores, lanes, clocks and memory of the CPU and of every device";
    }
}

/// The device of this name.
///
/// # Errors
/// Why there is none.
pub fn open(id: &str) -> std::result::Result<Box<dyn Gpu>, String> {
    let devices = gpu::devices();
    if devices.found.iter().all(|about| about.id != id) {
        return Err(why_missing(&devices, id));
    }
    gpu::open(id).map_err(|error| error.to_string())
}

/// Records a number, or why there is none.
pub fn number_or(r: &mut Recorder, what: Quantity, found: Option<f64>, why: &str) {
    match found {
        Some(number) => {
            r.record(what, Samples::one(number));
        }
        None => r.skip_at(what, why),
    }
}

/// Leaves out what these keys would have had of a device.
pub fn skip_device(r: &mut Recorder, id: &str, why: &str, keys: &[Key]) {
    for key in keys {
        r.skip_at(key.at(&[("device", &id)]), why);
    }
}

/// The same of each of [`DEVICES`] that is not there.
pub fn skip_missing(r: &mut Recorder, devices: &gpu::Devices, keys: &[Key]) {
    for id in DEVICES.iter().filter(|id| !devices.found.iter().any(|about| about.id == **id)) {
        skip_device(r, id, &why_missing(devices, id), keys);
    }
}

/// Why this machine has no device of this name: a clause.
pub fn why_missing(devices: &gpu::Devices, id: &str) -> String {
    let api = if id == "cuda" { gpu::Api::Cuda } else { gpu::Api::OpenCl };
    let missing = devices.missing.iter().find(|missing| missing.api == api);
    missing.map_or_else(
        || match id {
            "opencl-gpu" => "OpenCL shows no GPU on this machine".to_owned(),
            "opencl-cpu" => "OpenCL shows no CPU on this machine".to_owned(),
            _ => format!("this machine has no device {id}"),
        },
        |missing| missing.why.clone(),
    )
}

fn run(r: &mut Recorder) -> Result<()> {
    cpu(r);
    let found = gpu::devices();
    skip_missing(r, &found, &[UNITS, CLOCK, LANES, MEMORY]);
    for about in &found.found {
        device(r, about);
    }
    Ok(())
}

/// Records the CPU.
fn cpu(r: &mut Recorder) {
    let (cores, memory) = (machine::cores(), machine::caches_and_memory().1);
    r.record(UNITS.at(&[("device", &"cpu")]), Samples::one(cores as f64));
    r.record(MEMORY.at(&[("device", &"cpu")]), Samples::one(memory as f64));
    let time = Duration::from_millis(if r.budget == Budget::Quick { 50 } else { 500 });
    let plan = Plan { warm_up: time, time, min_samples: 5, max_samples: 300 };
    let clock = CLOCK.at(&[("device", &"cpu")]);
    r.note_at(&clock);
    let Some(samples) = devices::clock(plan) else {
        let why = "the course has no chain of additions for this kind of CPU";
        r.skip_at(clock, why);
        for device in ["core", "cpu"] {
            r.skip_at(LANES.at(&[("device", &device)]), why);
        }
        return;
    };
    // The best sample is the one that nothing disturbed; the peak is taken in the same way.
    let fastest = samples.quantile(1.0);
    r.record(clock, samples);
    for (device, threads) in [("core", 1), ("cpu", cores)] {
        let lanes = devices::lanes_of_cpu(threads, fastest);
        r.record(LANES.at(&[("device", &device)]), Samples::one(lanes));
    }
}

/// Records a device.
fn device(r: &mut Recorder, about: &About) {
    let at = |key: Key| key.at(&[("device", &about.id)]);
    r.record(at(UNITS), Samples::one(f64::from(about.compute_units)));
    r.record(at(MEMORY), Samples::one(about.memory as f64));
    number_or(r, at(CLOCK), about.clock_hz, "its driver does not report the clock");
    let why = if about.kind == Kind::Cpu {
        "it is the CPU itself, with the CPU's lanes"
    } else {
        "its driver does not report how wide a compute unit is"
    };
    number_or(r, at(LANES), devices::lanes_of(about), why);
}
