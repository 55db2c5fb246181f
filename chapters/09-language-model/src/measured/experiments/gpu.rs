//! The engine's training step on each device that chapter 2 finds, beside the same step on this machine's cores.

use super::{
    count::{BATCH, SIZES},
    step::{Answer, Case, PROGRAM, asked},
};
use crate::{Config, count::Operations, gpu::trainer};
use backprop::{check::error_f32, measured::peers::Peer};
use cpu_gpu::gpu::{Gpu, Kind};
use lab::{Budget, Experiment, Key, Race, Recorder, Samples, record::ParamList};
use performance::measured::experiments::gpu::on_each;
use std::{cell::RefCell, env, path::Path};

lab::keys! {
    /// Tokens a second.
    pub RATE: measured "language_model.gpu", TokensPerSecond, ["device", "size"];
    /// Operations a second.
    pub FLOPS: measured "language_model.gpu.flops", FlopsPerSecond, ["device", "size"];
    /// The cores' time over the device's, in turns.
    pub GAIN: measured "language_model.gpu.gain", Ratio, ["device", "size"];
    /// How far the first step's gradient is from the cores', over its length.
    pub ERROR: measured "language_model.gpu.error", Number, ["device", "size"];
    /// PyTorch's tokens a second on the same NVIDIA GPU, by the numbers that its products multiply.
    pub PYTORCH: measured "language_model.gpu.pytorch", TokensPerSecond, ["device", "size", "type", "version"];
    /// Its time over ours, in turns.
    pub PYTORCH_RATIO: measured "language_model.gpu.pytorch.ratio", Ratio, ["device", "size", "type"];
}

/// PyTorch's ways to multiply, and the options of its program for each.
pub const TYPES: [(&str, &[&str]); 3] = [("f32", &[]), ("tf32", &["tf32"]), ("bf16", &["bf16"])];
/// The one that takes long to start.
const COMPILED: (&str, &[&str]) = ("bf16-compiled", &["bf16", "compile"]);

/// The experiment of this file.
pub fn experiments() -> Vec<Experiment> {
    lab::experiments! {
        full RATE.name => &[RATE, FLOPS, GAIN, ERROR, PYTORCH, PYTORCH_RATIO], run,
            "a language model's training step by the engine on each device, beside this machine's cores, and on an \
                NVIDIA GPU beside PyTorch (with `measure --peers`)";
    }
}

fn run(r: &mut Recorder) -> lab::Result<()> {
    let peer = asked(PROGRAM, &["--device", "cuda"]).map(RefCell::new);
    let folder = tempfile::tempdir().map_err(|e| lab::Error::io(&env::temp_dir(), e))?;
    on_each(r, |r, gpu| {
        let id = &gpu.about().id;
        for (size, config) in SIZES {
            let list: ParamList = &[("device", id), ("size", &size)];
            if gpu.about().kind == Kind::Cpu && size != "tiny" {
                r.skip_all(
                    list,
                    "a CPU behind a GPU's interface is slow, and shows as much with the tiny model",
                );
                continue;
            }
            r.note_at(RATE.at(list));
            let rounds = if r.budget == Budget::Full { 7 } else { 2 };
            let peer = (id == "cuda").then_some((&peer, folder.path()));
            step(r, gpu, &Case::new(config(), BATCH, 100), list, rounds, peer)?;
            r.keep()?;
        }
        Ok(())
    })
}

/// PyTorch's program, or why there is none, and a folder for its files.
type Twin<'a> = (&'a Result<RefCell<Peer>, String>, &'a Path);

/// PyTorch's seconds of so many steps behind a first one, which finds cold caches and a new optimizer.
fn theirs(
    (peer, folder): Twin,
    case: &Case,
    steps: u64,
    options: &[&'static str],
) -> lab::Result<(Samples, String)> {
    let peer = peer.as_ref().map_err(|why| lab::Error::message(why.clone()))?;
    let job = case.job(folder, 1 + steps, options)?;
    let answer = peer.borrow_mut().answer(&job);
    let answer: Answer = answer.map_err(|why| lab::Error::message(format!("PyTorch {why}")))?;
    let version = answer.framework.split(',').next().unwrap_or_default();
    Ok((Samples(answer.seconds.get(1..).unwrap_or_default().to_vec()), version.to_owned()))
}

/// The first step on both sides, whose gradients are compared; then steps in turns.
///
/// # Errors
/// If it can't be measured.
pub fn step(
    r: &mut Recorder,
    gpu: &dyn Gpu,
    case: &Case,
    list: ParamList,
    rounds: usize,
    twin: Option<Twin>,
) -> crate::Result<()> {
    let mut cores = case.trainer()?;
    let mut device = trainer(gpu, &cores, &case.stream)?;
    cores.step(&case.stream)?;
    device.step(&case.stream)?;
    r.one(ERROR.at(list), error_f32(&device.gradient(), &cores.gradient()));
    let tokens = cores.tokens() as f64;
    let operations = Operations::of(&cores.config, cores.settings.length).training();
    let version = RefCell::new(String::new());
    let mut race = Race::new();
    race.add("cores", || Ok(cores.step(&case.stream).map(drop)?));
    race.add("device", || {
        device.step(&case.stream)?;
        Ok(gpu.finish().map_err(crate::Error::from)?) // the update, too
    });
    if let Some(twin) = twin {
        for (kind, options) in TYPES {
            let version = &version;
            let turn = move |_| {
                let (seconds, framework) = theirs(twin, case, 4, options)?;
                version.replace(framework);
                Ok(seconds.median())
            };
            race.peer(kind, Ok(turn));
        }
    }
    let results = race.rounds(rounds)?;
    let rate = results.rate("device", tokens)?;
    r.record(FLOPS.at(list), rate.clone().map(|rate| rate * operations));
    r.record(RATE.at(list), rate);
    r.record(GAIN.at(list), results.ratio("cores", "device")?);
    let Some(twin) = twin else { return Ok(()) };
    let at = |key: Key, kind: &str| key.at(list).with("type", kind);
    for (kind, _) in TYPES {
        let version = &*version.borrow();
        r.record_or_skip(at(PYTORCH, kind).with("version", version), results.rate(kind, tokens))?;
        r.record_or_skip(at(PYTORCH_RATIO, kind), results.ratio(kind, "device"))?;
    }
    r.keep()?;
    let (kind, options) = COMPILED;
    if cores.config == Config::small() {
        match theirs(twin, case, 20, options) {
            Ok((seconds, version)) => {
                let rate = seconds.map(|seconds| tokens / seconds);
                r.record(at(PYTORCH, kind).with("version", version), rate);
            }
            Err(why) => r.skip_at(at(PYTORCH, kind), why.to_string()),
        }
    }
    Ok(())
}
