//! What the part measures: fusion, launches against a graph, and copies beside the compute.

use crate::gpu::{
    fused::{Costs, Operation, Task, Way},
    graph::Graph,
    overlap::{self, Feed, Pinned},
    step::Step,
};
use backprop::{adam::Adam, mlp::Mlp, random::SplitMix64};
use cpu_gpu::{
    Result,
    gpu::{self, Api, Gpu, Kind},
};
use lab::{Budget, Experiment, Recorder, Samples, Unit, record::ParamList};
use std::time::Instant;

/// Devices that the page names, whether this machine has them or not.
pub const EXPECTED: [&str; 3] = ["opencl-cpu", "opencl-gpu", "cuda"];
/// The batches of the page.
pub const BATCHES: [usize; 3] = [32, 128, 512];
/// The network of the page.
const SIZES: [usize; 3] = [784, 128, 10];
/// Steps between two looks at the clock.
const STEPS: usize = 16;

/// This part's experiments.
pub fn experiments() -> Vec<Experiment> {
    vec![
        Experiment {
            key: "performance.gpu.fused",
            shows: "four operations of a training step in one kernel each and one at a time, against launches and bytes",
            values: &[
                "performance.gpu.fused",
                "performance.gpu.fused.launches",
                "performance.gpu.fused.bytes",
                "performance.gpu.fused.predicted",
                "performance.gpu.fused.speedup",
                "performance.gpu.fused.launch",
                "performance.gpu.fused.bandwidth",
            ],
            quick: true,
            run: |r| Ok(on_each(r, "performance.gpu.fused", fused)?),
        },
        Experiment {
            key: "performance.gpu.graph",
            shows: "a training step launched kernel by kernel and replayed as a CUDA graph, at three sizes of a batch",
            values: &[
                "performance.gpu.graph",
                "performance.gpu.graph.issued",
                "performance.gpu.graph.launches",
                "performance.gpu.graph.launch",
                "performance.gpu.graph.predicted",
                "performance.gpu.graph.speedup",
            ],
            quick: true,
            run: |r| Ok(on_each(r, "performance.gpu.graph", graph)?),
        },
        Experiment {
            key: "performance.gpu.overlap",
            shows: "a training step whose batch is on the GPU already, is copied before it, or is copied beside the step before",
            values: &[
                "performance.gpu.overlap",
                "performance.gpu.overlap.bytes",
                "performance.gpu.overlap.copies",
            ],
            quick: true,
            run: |r| Ok(overlap(r)?),
        },
    ]
}

/// Why this machine has no device of this name: a clause.
fn why_missing(devices: &gpu::Devices, id: &str) -> String {
    let api = if id == "cuda" { Api::Cuda } else { Api::OpenCl };
    match devices.missing.iter().find(|missing| missing.api == api) {
        Some(missing) => missing.why.clone(),
        None => format!("this machine has no device {id}"),
    }
}

/// Measures on each device found, and says of each that the page names why it is not there.
fn on_each(
    r: &mut Recorder,
    key: &str,
    work: fn(&mut Recorder, &dyn Gpu) -> Result<()>,
) -> Result<()> {
    let devices = gpu::devices();
    for id in EXPECTED {
        if devices.found.iter().any(|about| about.id == id) {
            let gpu = gpu::open(id)?;
            work(r, &*gpu)?;
        } else {
            let why = why_missing(&devices, id);
            for value in experiments().iter().filter(|e| e.key == key).flat_map(|e| e.values) {
                r.skip(value, &[("device", &id)], why.clone());
            }
        }
    }
    Ok(())
}

/// Seconds of one `work` when `times` of them are started before somebody waits; the budget says how many samples.
/// `before` each sample the clock stands still.
fn timed(
    r: &Recorder,
    gpu: &dyn Gpu,
    times: usize,
    before: &dyn Fn() -> Result<()>,
    work: &mut dyn FnMut() -> Result<()>,
) -> Result<Samples> {
    let plan = r.budget.plan();
    let sample = |work: &mut dyn FnMut() -> Result<()>| -> Result<f64> {
        before()?;
        gpu.finish()?;
        let began = Instant::now();
        (0..times).try_for_each(|_| work())?;
        gpu.finish()?;
        Ok(began.elapsed().as_secs_f64() / times as f64)
    };
    sample(work)?;
    let (mut samples, began) = (Vec::new(), Instant::now());
    while samples.len() < plan.min_samples
        || (samples.len() < plan.max_samples && began.elapsed() < plan.time)
    {
        samples.push(sample(work)?);
    }
    Ok(Samples(samples))
}

/// Numbers of the array that a device's bandwidth is measured with; the operations take a quarter. It is more than the
/// caches hold, except with the quick budget on a CPU, whose third level may.
fn large(gpu: &dyn Gpu, budget: Budget) -> usize {
    match (gpu.about().kind, budget) {
        (Kind::Cpu, Budget::Quick) => 1 << 22,
        (Kind::Cpu, Budget::Full) => 1 << 26,
        (Kind::Gpu, _) => 1 << 27,
    }
}

/// The sizes of an operation: as in the network of the page with a batch of 128, and one that leaves the caches.
fn sizes(operation: Operation, gpu: &dyn Gpu, budget: Budget) -> [(&'static str, [usize; 2]); 2] {
    let small = match operation {
        Operation::BiasRelu | Operation::BiasReluBackward => [128, 128],
        Operation::Loss => [128, 10],
        Operation::Adam => [1, 101_770],
    };
    [("small", small), ("large", [large(gpu, budget) / 4 / 1024, 1024])]
}

fn fused(r: &mut Recorder, gpu: &dyn Gpu) -> Result<()> {
    let id = &gpu.about().id;
    let launches = if gpu.about().kind == Kind::Cpu { 100 } else { 2000 };
    let costs = Costs::measure(gpu, launches, large(gpu, r.budget))?;
    let device: ParamList = &[("device", id)];
    r.value("performance.gpu.fused.launch", device, Unit::Seconds, Samples::one(costs.launch));
    r.value(
        "performance.gpu.fused.bandwidth",
        device,
        Unit::BytesPerSecond,
        Samples::one(costs.bandwidth),
    );
    for operation in Operation::ALL {
        for (size, shape) in sizes(operation, gpu, r.budget) {
            let mut medians = Vec::new();
            for way in Way::ALL {
                let (name, way_name) = (operation.name(), way.name());
                let list: ParamList =
                    &[("device", id), ("operation", &name), ("size", &size), ("way", &way_name)];
                r.note("performance.gpu.fused", list);
                let task = Task::new(gpu, operation, way, shape)?;
                task.fill()?;
                task.run()?;
                task.check(1e-4)?; // a wrong kernel is no fast one
                // A GPU is fast enough that two large ones would time the wait at the end.
                let few = size == "large" && gpu.about().kind == Kind::Cpu;
                let times = if few { 2 } else { 20 };
                let seconds = timed(r, gpu, times, &|| task.fill(), &mut || task.run())?;
                let bytes = operation.bytes(way, shape);
                let predicted = costs.predict(&bytes);
                medians.push(r.value("performance.gpu.fused", list, Unit::Seconds, seconds));
                let mut add = |key: &str, unit, x| r.value(key, list, unit, Samples::one(x));
                add("performance.gpu.fused.launches", Unit::Count, task.launched() as f64);
                add("performance.gpu.fused.bytes", Unit::Bytes, bytes.iter().sum());
                add("performance.gpu.fused.predicted", Unit::Seconds, predicted);
            }
            let name = operation.name();
            let list: ParamList = &[("device", id), ("operation", &name), ("size", &size)];
            let speedup = Samples::one(medians[1] / medians[0]);
            r.value("performance.gpu.fused.speedup", list, Unit::Ratio, speedup);
        }
    }
    Ok(())
}

/// Random pictures: how long a step takes does not depend on what is on them.
fn pictures(count: usize) -> (Vec<u8>, Vec<u8>) {
    let mut random = SplitMix64::new(1);
    let pixels = (0..count * SIZES[0]).map(|_| random.below(256) as u8).collect();
    (pixels, (0..count).map(|_| random.below(SIZES[2]) as u8).collect())
}

fn model() -> Result<Mlp<f32>> {
    Mlp::new(&SIZES, 1).map_err(|error| cpu_gpu::Error::message(error.to_string()))
}

fn graph(r: &mut Recorder, gpu: &dyn Gpu) -> Result<()> {
    graph_at(r, gpu, &BATCHES)
}

fn graph_at(r: &mut Recorder, gpu: &dyn Gpu, batches: &[usize]) -> Result<()> {
    let id = &gpu.about().id;
    let rows = if gpu.about().kind == Kind::Cpu { 100 } else { 2000 };
    let launch = Costs::measure(gpu, rows, 1 << 10)?.launch;
    let device: ParamList = &[("device", id)];
    let overhead = Step::LAUNCHES as f64 * launch;
    r.value("performance.gpu.graph.launch", device, Unit::Seconds, Samples::one(launch));
    r.value(
        "performance.gpu.graph.launches",
        device,
        Unit::Count,
        Samples::one(Step::LAUNCHES as f64),
    );
    r.value("performance.gpu.graph.predicted", device, Unit::Seconds, Samples::one(overhead));
    let (pixels, labels) = pictures(8 * batches.iter().max().copied().unwrap_or(1));
    let model = model()?;
    for &batch in batches {
        let step = Step::new(gpu, &model, (&pixels, &labels), batch, Adam::default())?;
        let ways = ["launched", "replayed"];
        let list = |way: usize| {
            [("device", id.clone()), ("batch", batch.to_string()), ("way", ways[way].to_owned())]
        };
        let record = |r: &mut Recorder, way: usize, work: &mut dyn FnMut() -> Result<()>| {
            let list = list(way);
            let list: Vec<(&str, &dyn std::fmt::Display)> =
                list.iter().map(|(name, value)| (*name, value as &dyn std::fmt::Display)).collect();
            r.note("performance.gpu.graph", &list);
            let seconds = timed(r, gpu, STEPS, &|| step.reset(&model), work)?;
            // The trap: the time after which the calls have returned.
            // ANCHOR: trap
            let began = Instant::now();
            (0..STEPS).try_for_each(|_| work())?; // returns, and nothing is done
            let issued = began.elapsed().as_secs_f64() / STEPS as f64;
            gpu.finish()?; // now it is
            // ANCHOR_END: trap
            r.value("performance.gpu.graph.issued", &list, Unit::Seconds, Samples::one(issued));
            Ok::<f64, cpu_gpu::Error>(r.value(
                "performance.gpu.graph",
                &list,
                Unit::Seconds,
                seconds,
            ))
        };
        let launched = record(r, 0, &mut || step.launch())?;
        let params: ParamList = &[("device", id), ("batch", &batch)];
        match Graph::of(&step) {
            Ok(graph) => {
                let replayed = record(r, 1, &mut || graph.replay())?;
                let speedup = Samples::one(launched / replayed);
                r.value("performance.gpu.graph.speedup", params, Unit::Ratio, speedup);
            }
            Err(error) => {
                let why = error.to_string();
                let list: ParamList = &[("device", id), ("batch", &batch), ("way", &"replayed")];
                r.skip("performance.gpu.graph", list, why.clone());
                r.skip("performance.gpu.graph.speedup", params, why);
            }
        }
    }
    Ok(())
}

fn overlap(r: &mut Recorder) -> Result<()> {
    let devices = gpu::devices();
    let device: ParamList = &[("device", &"cuda")];
    let Ok(gpu) = gpu::open("cuda") else {
        let why = why_missing(&devices, "cuda");
        for key in ["", ".bytes", ".copies"] {
            r.skip(&format!("performance.gpu.overlap{key}"), device, why.clone());
        }
        return Ok(());
    };
    let Some(cuda) = gpu.as_cuda() else { return Ok(()) };
    let (feed, model) = (Feed::new(cuda)?, model()?);
    for batch in BATCHES {
        let (pixels, labels) = pictures(STEPS * batch);
        let places = (&pixels[..2 * batch * SIZES[0]], &labels[..2 * batch]);
        let step = Step::new(&*gpu, &model, places, batch, Adam::default())?;
        let pinned = Pinned::new(cuda, &pixels)?;
        let mut medians = Vec::new();
        for way in overlap::Way::ALL {
            let source = if way.pins() { pinned.bytes() } else { &pixels };
            let batches: Vec<&[u8]> = source.chunks_exact(batch * SIZES[0]).collect();
            let name = way.name();
            let list: ParamList = &[("device", &"cuda"), ("batch", &batch), ("way", &name)];
            r.note("performance.gpu.overlap", list);
            let mut work = || overlap::train(&feed, way, &batches, &step);
            let seconds = timed(r, &*gpu, 1, &|| step.reset(&model), &mut work)?;
            let seconds = seconds.map(|seconds| seconds / STEPS as f64);
            medians.push(r.value("performance.gpu.overlap", list, Unit::Seconds, seconds));
        }
        let list: ParamList = &[("device", &"cuda"), ("batch", &batch)];
        let bytes = Samples::one((batch * SIZES[0]) as f64);
        r.value("performance.gpu.overlap.bytes", list, Unit::Bytes, bytes);
        // The share of a step that plain copies take. Neither side waits for the GPU after a step: a wait would count
        // the launches that it holds back as a copy.
        let [resident, _, pageable, ..] = medians[..] else { continue };
        let share = Samples::one(1.0 - resident / pageable);
        r.value("performance.gpu.overlap.copies", list, Unit::Share, share);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use cpu_gpu::gpu::testing;
    use lab::{Device, progress::Progress};

    /// What an experiment leaves, with every key that it declares left or missed.
    fn left(key: &str, run: impl FnOnce(&mut Recorder) -> Result<()>) -> Vec<lab::record::Value> {
        let experiments = experiments();
        let experiment = experiments.iter().find(|e| e.key == key).expect("there is one");
        let progress = Progress::hidden();
        let mut r = Recorder::new(experiment, Budget::Quick, Device::Cpu, &progress);
        run(&mut r).unwrap();
        let (values, skipped) = r.finish();
        for key in experiment.values {
            let left = values.iter().any(|value| value.key == *key)
                || skipped.iter().any(|skipped| skipped.key == *key);
            assert!(left, "{key} is neither left nor missed");
        }
        assert!(values.iter().all(|value| value.median.is_finite()), "{values:?}");
        values
    }

    #[test]
    fn copies_are_measured_or_missed() {
        let _turn = testing::turn();
        left("performance.gpu.overlap", overlap);
    }

    #[test]
    fn a_step_is_measured_on_a_device_with_or_without_graphs() {
        let Some(gpu) = testing::opencl() else { return };
        let values = left("performance.gpu.graph", |r| graph_at(r, &*gpu, &[3]));
        let of = |key: &str| values.iter().find(|value| value.key == key).map(|value| value.median);
        let launches = of("performance.gpu.graph.launches").unwrap();
        let predicted = of("performance.gpu.graph.predicted").unwrap();
        let launch = of("performance.gpu.graph.launch").unwrap();
        assert!((predicted - launches * launch).abs() < 1e-12);
    }
}
