//! What this machine computes with: how many units, how wide, how fast.

#![allow(clippy::unnecessary_wraps)] // Experiments have one signature, whether they can fail or not.

use crate::{
    devices,
    gpu::{self, About, Kind},
};
use lab::{Budget, Experiment, Plan, Recorder, Result, Samples, Unit, machine, record::ParamList};
use std::time::Duration;

/// The devices that the page names, whether this machine has them or not.
pub const DEVICES: [&str; 3] = ["opencl-cpu", "opencl-gpu", "cuda"];

/// This file's experiments.
pub fn all() -> Vec<Experiment> {
    vec![Experiment {
        key: "cpu_gpu.devices",
        shows: "cores, lanes, clocks and memory of the CPU and of every device",
        values: &[
            "cpu_gpu.devices.units",
            "cpu_gpu.devices.clock",
            "cpu_gpu.devices.lanes",
            "cpu_gpu.devices.lanes.ratio",
            "cpu_gpu.devices.memory",
        ],
        quick: true,
        run,
    }]
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

fn one(value: f64) -> Samples {
    Samples(vec![value])
}

fn run(r: &mut Recorder) -> Result<()> {
    let of_cpu = cpu(r);
    let found = gpu::devices();
    for id in DEVICES.iter().filter(|id| !found.found.iter().any(|about| about.id == **id)) {
        let why = why_missing(&found, id);
        for key in ["units", "clock", "lanes", "lanes.ratio", "memory"] {
            r.skip(&format!("cpu_gpu.devices.{key}"), &[("device", id)], why.clone());
        }
    }
    for about in &found.found {
        device(r, about, of_cpu);
    }
    Ok(())
}

/// Records the CPU. Returns the lanes of one core and of all, where its clock can be measured.
fn cpu(r: &mut Recorder) -> Option<[f64; 2]> {
    let (cores, memory) = (machine::cores(), machine::caches_and_memory().1);
    r.value("cpu_gpu.devices.units", &[("device", &"cpu")], Unit::Count, one(cores as f64));
    r.value("cpu_gpu.devices.memory", &[("device", &"cpu")], Unit::Bytes, one(memory as f64));
    let time = Duration::from_millis(if r.budget == Budget::Quick { 50 } else { 500 });
    let plan = Plan { warm_up: time, time, min_samples: 5, max_samples: 300 };
    r.note("cpu_gpu.devices.clock", &[("device", &"cpu")]);
    let Some(samples) = devices::clock(plan) else {
        let why = "the course has no chain of additions for this kind of CPU";
        r.skip("cpu_gpu.devices.clock", &[("device", &"cpu")], why);
        r.skip("cpu_gpu.devices.lanes", &[("device", &"core")], why);
        r.skip("cpu_gpu.devices.lanes", &[("device", &"cpu")], why);
        return None;
    };
    // The best sample is the one that nothing disturbed; the peak is taken in the same way.
    let fastest = samples.quantile(1.0);
    r.value("cpu_gpu.devices.clock", &[("device", &"cpu")], Unit::Hertz, samples);
    let lanes = [1, cores].map(|threads| devices::lanes_of_cpu(threads, fastest));
    for (device, lanes) in ["core", "cpu"].into_iter().zip(lanes) {
        r.value("cpu_gpu.devices.lanes", &[("device", &device)], Unit::Number, one(lanes));
    }
    Some(lanes)
}

/// Records a device, and its lanes beside the CPU's.
fn device(r: &mut Recorder, about: &About, of_cpu: Option<[f64; 2]>) {
    let id = &about.id;
    let list: ParamList = &[("device", id)];
    let units = f64::from(about.compute_units);
    r.value("cpu_gpu.devices.units", list, Unit::Count, one(units));
    r.value("cpu_gpu.devices.memory", list, Unit::Bytes, one(about.memory as f64));
    if let Some(clock) = about.clock_hz {
        r.value("cpu_gpu.devices.clock", list, Unit::Hertz, one(clock));
    } else {
        r.skip("cpu_gpu.devices.clock", list, "its driver does not tell the clock");
    }
    let Some(lanes) = devices::lanes_of(about) else {
        let why = if about.kind == Kind::Cpu {
            "it is the CPU itself, with the CPU's lanes"
        } else {
            "its driver does not tell how wide a compute unit is"
        };
        r.skip("cpu_gpu.devices.lanes", list, why);
        r.skip("cpu_gpu.devices.lanes.ratio", list, why);
        return;
    };
    r.value("cpu_gpu.devices.lanes", list, Unit::Number, one(lanes));
    for (at, over) in ["core", "cpu"].into_iter().enumerate() {
        let list: ParamList = &[("device", id), ("over", &over)];
        if let Some(of_cpu) = of_cpu {
            let ratio = one(lanes / of_cpu[at]);
            r.value("cpu_gpu.devices.lanes.ratio", list, Unit::Ratio, ratio);
        } else {
            r.skip("cpu_gpu.devices.lanes.ratio", list, "the CPU's lanes are not known");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gpu::testing;
    use lab::{Device, progress::Progress};

    #[test]
    fn every_device_has_its_numbers_or_a_reason() -> Result<()> {
        let _turn = testing::turn();
        let experiments = all();
        let progress = Progress::hidden();
        let mut r = Recorder::new(&experiments[0], Budget::Quick, Device::Cpu, &progress);
        run(&mut r)?;
        let (values, skipped) = r.finish();
        let about = |key: &str, device: &str| {
            let is =
                |params: &lab::record::Params| params.get("device").is_some_and(|d| d == device);
            values.iter().any(|v| v.key == key && is(&v.params))
                || skipped.iter().any(|s| s.key == key && !s.why.is_empty() && is(&s.params))
        };
        for key in ["units", "clock", "lanes", "memory"] {
            for device in DEVICES.into_iter().chain(["cpu"]) {
                assert!(about(&format!("cpu_gpu.devices.{key}"), device), "{key} of {device}");
            }
        }
        assert!(about("cpu_gpu.devices.lanes", "core"));
        assert!(values.iter().all(|v| v.median.is_finite() && v.median > 0.0), "{values:?}");
        Ok(())
    }

    #[test]
    fn what_is_missing_has_the_reason_of_its_interface() {
        let found = gpu::Devices {
            missing: vec![gpu::Missing { api: gpu::Api::Cuda, why: "no driver".to_owned() }],
            ..gpu::Devices::default()
        };
        assert_eq!(why_missing(&found, "cuda"), "no driver");
        assert!(why_missing(&found, "opencl-gpu").contains("no GPU"));
        assert!(why_missing(&found, "opencl-cpu").contains("no CPU"));
    }
}
