//! The whole training step on each device that chapter 2 finds, beside the same step on this machine's cores.

use super::{
    count::{BATCH, SIZES},
    step::Case,
};
use crate::{count::Operations, gpu::Step};
use backprop::check::error_f32;
use cpu_gpu::{
    gpu::{self, Gpu, Kind},
    measured::experiments::devices::{DEVICES, why_missing},
};
use lab::{Budget, Experiment, Key, Race, Recorder, Samples, Unit, record::ParamList};

/// Tokens a second.
pub const RATE: Key =
    Key::measured("language_model.gpu", Unit::TokensPerSecond, &["device", "size"]);
/// Operations a second.
pub const FLOPS: Key =
    Key::measured("language_model.gpu.flops", Unit::FlopsPerSecond, &["device", "size"]);
/// The cores' time over the device's, in turns.
pub const GAIN: Key = Key::measured("language_model.gpu.gain", Unit::Ratio, &["device", "size"]);
/// How far the first step's gradient is from the cores', over its length.
pub const ERROR: Key = Key::measured("language_model.gpu.error", Unit::Number, &["device", "size"]);

/// The experiment of this file.
pub fn experiments() -> Vec<Experiment> {
    vec![Experiment {
        key: RATE.name,
        shows: "a language model's training step as portable kernels on each device, beside this machine's cores",
        values: &[RATE, FLOPS, GAIN, ERROR],
        quick: false,
        run: |r| Ok(run(r)?),
    }]
}

fn run(r: &mut Recorder) -> crate::Result<()> {
    let devices = gpu::devices();
    for id in DEVICES {
        for (size, config) in SIZES {
            let list: ParamList = &[("device", &id), ("size", &size)];
            if !devices.found.iter().any(|about| about.id == id) {
                r.skip_all(list, why_missing(&devices, id));
                continue;
            }
            let gpu = gpu::open(id)?;
            if gpu.about().kind == Kind::Cpu && size != "tiny" {
                r.skip_all(
                    list,
                    "a CPU behind a GPU's interface is slow, and shows as much with the tiny model",
                );
                continue;
            }
            r.note_at(RATE.at(list));
            let rounds = if r.budget == Budget::Full { 7 } else { 2 };
            step(r, &*gpu, &Case::new(config(), BATCH, 100), list, rounds)?;
            r.keep()?;
        }
    }
    Ok(())
}

/// The first step on both sides, whose gradients are compared; then steps in turns.
fn step(
    r: &mut Recorder,
    gpu: &dyn Gpu,
    case: &Case,
    list: ParamList,
    rounds: usize,
) -> crate::Result<()> {
    let mut cores = case.trainer()?;
    let mut device = Step::new(gpu, &cores, case.stream())?;
    cores.step(case.stream())?;
    device.step(case.stream())?;
    let error = error_f32(&device.gradient()?, cores.gradient());
    r.record(ERROR.at(list), Samples::one(error));
    let tokens = cores.tokens() as f64;
    let operations = Operations::of(&cores.model.config, cores.settings.length).training();
    let mut race = Race::new();
    race.add("cores", || Ok(cores.step(case.stream()).map(drop)?));
    race.add("device", || {
        device.step(case.stream())?;
        Ok(gpu.finish().map_err(crate::Error::from)?) // the update, too
    });
    let results = race.rounds(rounds)?;
    let rate = results.rate("device", tokens)?;
    r.record(FLOPS.at(list), rate.clone().map(|rate| rate * operations));
    r.record(RATE.at(list), rate);
    r.record(GAIN.at(list), results.ratio("cores", "device")?);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Config;
    use cpu_gpu::gpu::testing;
    use lab::testing as recorded;

    #[test]
    fn a_device_is_measured_and_computes_the_same() {
        if testing::opencl().is_none() {
            return;
        }
        let run = |r: &mut Recorder| {
            let Some(gpu) = testing::opencl() else { return Ok(()) };
            let config =
                Config { vocabulary: 30, context: 8, width: 8, heads: 2, layers: 1, hidden: 6 };
            let list: ParamList = &[("device", &"opencl-cpu"), ("size", &"tiny")];
            Ok(step(r, &*gpu, &Case::new(config, 2, 10), list, 2)?)
        };
        let found = recorded::run(&Experiment { run, ..experiments().swap_remove(0) });
        let of = |key: Key| found.values.iter().find(|value| value.key == key.name);
        assert!(of(ERROR).unwrap().median < 1e-4, "{}", of(ERROR).unwrap().median);
        assert!(of(RATE).unwrap().median > 0.0 && of(GAIN).unwrap().median > 0.0);
        assert!(of(FLOPS).unwrap().median > of(RATE).unwrap().median);
    }
}
