//! What the part measures: fusion, launches against a graph, and copies during the compute.

use crate::gpu::{
    fused::{Costs, Mode, Operation, Task},
    overlap::{self, Feed, Pinned},
    step::Step,
};
use backprop::{adam::Adam, mlp::Mlp, random::SplitMix64};
use cpu_gpu::{
    gpu::{self, Gpu, Kind},
    measured::experiments::devices::{DEVICES, why_missing},
};
use lab::{Budget, Experiment, Key, Race, Recorder, Result, Samples, record::ParamList};
use std::time::Instant;

lab::keys! {
    /// Seconds of an operation.
    FUSED: measured "performance.gpu.fused", Seconds, ["device", "operation", "size", "way"];
    /// Its kernels.
    FUSED_LAUNCHES: counted "performance.gpu.fused.launches", Count, ["device", "operation", "size", "way"];
    /// What they move.
    FUSED_BYTES: counted "performance.gpu.fused.bytes", Bytes, ["device", "operation", "size", "way"];
    /// The seconds that launches and bytes lead to expect.
    FUSED_PREDICTED: calculated "performance.gpu.fused.predicted", Seconds, ["device", "operation", "size", "way"];
    /// What fusion gains.
    FUSED_GAIN: measured "performance.gpu.fused.speedup", Ratio, ["device", "operation", "size"];
    /// Seconds of a launch.
    FUSED_LAUNCH: measured "performance.gpu.fused.launch", Seconds, ["device"];
    /// The device's bandwidth.
    FUSED_BANDWIDTH: measured "performance.gpu.fused.bandwidth", BytesPerSecond, ["device"];
    /// Seconds of a step.
    pub GRAPH: measured "performance.gpu.graph", Seconds, ["device", "batch", "way"];
    /// Seconds after which its calls have returned.
    GRAPH_ISSUED: measured "performance.gpu.graph.issued", Seconds, ["device", "batch", "way"];
    /// What a graph gains.
    GRAPH_GAIN: measured "performance.gpu.graph.speedup", Ratio, ["device", "batch"];
    /// A step's launches.
    pub GRAPH_LAUNCHES: counted "performance.gpu.graph.launches", Count, ["device"];
    /// Seconds of one of them.
    pub GRAPH_LAUNCH: measured "performance.gpu.graph.launch", Seconds, ["device"];
    /// Seconds of all.
    pub GRAPH_PREDICTED: calculated "performance.gpu.graph.predicted", Seconds, ["device"];
    /// Seconds of a step, by where its batch comes from.
    pub OVERLAP: measured "performance.gpu.overlap", Seconds, ["device", "batch", "way"];
    /// Bytes of its batch.
    OVERLAP_BYTES: counted "performance.gpu.overlap.bytes", Bytes, ["device", "batch"];
    /// The fraction of a step that plain copies take.
    COPIES: measured "performance.gpu.overlap.copies", Share, ["device", "batch"];
}

/// The batches of the page.
const BATCHES: [usize; 3] = [32, 128, 512];
/// The network of the page.
pub(super) const SIZES: [usize; 3] = [784, 128, 10];
/// Steps between two looks at the clock.
const STEPS: usize = 16;

/// This part's experiments.
pub fn experiments() -> Vec<Experiment> {
    lab::experiments! {
        quick FUSED.name =>
            &[FUSED, FUSED_LAUNCHES, FUSED_BYTES, FUSED_PREDICTED, FUSED_GAIN, FUSED_LAUNCH, FUSED_BANDWIDTH],
            |r| on_each(r, fused),
            "four operations of a training step in one kernel each and one at a time, against launches and bytes";
        quick GRAPH.name => &[GRAPH, GRAPH_ISSUED, GRAPH_LAUNCHES, GRAPH_LAUNCH, GRAPH_PREDICTED, GRAPH_GAIN], |r| {
                on_each(r, |r, gpu| {
                    // A CPU that runs the kernels has no launches to save; the quick budget shows it once.
                    let once = gpu.about().kind == Kind::Cpu && r.budget == Budget::Quick;
                    graph(r, gpu, if once { &BATCHES[..1] } else { &BATCHES })
                })
            },
            "a training step launched kernel by kernel and replayed as a CUDA graph, at three sizes of a batch";
        quick OVERLAP.name => &[OVERLAP, OVERLAP_BYTES, COPIES], overlap,
            "a training step whose batch is on the GPU already, is copied before it, or is copied during the step before";
    }
}

/// Measures on each device found, and says of each that the page names why it is not there.
pub(super) fn on_each(
    r: &mut Recorder,
    work: fn(&mut Recorder, &dyn Gpu) -> Result<()>,
) -> Result<()> {
    let devices = gpu::devices();
    for id in DEVICES {
        if devices.found.iter().any(|about| about.id == id) {
            work(r, &*gpu::open(id)?)?;
        } else {
            r.skip_all(&[("device", &id)], why_missing(&devices, id));
        }
    }
    Ok(())
}

/// Seconds of one `work` when `times` of them are started before the wait; the budget sets the number of samples.
/// `before` each sample the clock is stopped.
pub(super) fn timed(
    r: &Recorder,
    gpu: &dyn Gpu,
    times: usize,
    before: impl Fn() -> cpu_gpu::Result<()>,
    work: impl Fn() -> cpu_gpu::Result<()>,
) -> Result<Samples> {
    let mut race = Race::new();
    race.turn("alone", |_| {
        before()?;
        gpu.finish()?;
        let began = Instant::now();
        (0..times).try_for_each(|_| work())?;
        gpu.finish()?;
        Ok(began.elapsed().as_secs_f64() / times as f64)
    });
    race.run(r.budget.plan())?.samples("alone")
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
    r.one(FUSED_LAUNCH.at(device), costs.launch);
    r.one(FUSED_BANDWIDTH.at(device), costs.bandwidth);
    for operation in Operation::ALL {
        for (size, shape) in sizes(operation, gpu, r.budget) {
            let list: ParamList =
                &[("device", id), ("operation", &operation.name()), ("size", &size)];
            let mut medians = Vec::new();
            for way in Mode::ALL {
                let of = |key: Key| key.at(list).with("way", way.name());
                r.note_at(of(FUSED));
                let task = Task::new(gpu, operation, way, shape)?;
                task.fill()?;
                task.run()?;
                task.check(1e-4)?; // a wrong kernel does not count as fast
                // A GPU is fast enough that two large ones would time the wait at the end.
                let few = size == "large" && gpu.about().kind == Kind::Cpu;
                let times = if few { 2 } else { 20 };
                let seconds = timed(r, gpu, times, || task.fill(), || task.run())?;
                let bytes = operation.bytes(way, shape);
                medians.push(r.record(of(FUSED), seconds));
                for (key, number) in [
                    (FUSED_LAUNCHES, task.launched() as f64),
                    (FUSED_BYTES, bytes.iter().sum()),
                    (FUSED_PREDICTED, costs.predict(&bytes)),
                ] {
                    r.one(of(key), number);
                }
            }
            r.one(FUSED_GAIN.at(list), medians[1] / medians[0]);
            r.keep()?;
        }
    }
    Ok(())
}

/// Random images: the time of a step does not depend on what they show.
pub(super) fn images([inputs, _, classes]: [usize; 3], count: usize) -> (Vec<u8>, Vec<u8>) {
    let mut random = SplitMix64::new(1);
    let pixels = (0..count * inputs).map(|_| random.below(256) as u8).collect();
    (pixels, (0..count).map(|_| random.below(classes) as u8).collect())
}

pub(super) fn model(sizes: &[usize]) -> Result<Mlp<f32>> {
    Ok(Mlp::new(sizes, 1)?)
}

/// Steps launched one by one and as a graph, for each of these batches.
///
/// # Errors
/// The device's own.
pub fn graph(r: &mut Recorder, gpu: &dyn Gpu, batches: &[usize]) -> Result<()> {
    let id = &gpu.about().id;
    let rows = if gpu.about().kind == Kind::Cpu { 100 } else { 2000 };
    let launch = Costs::measure(gpu, rows, 1 << 10)?.launch;
    let launches = Step::LAUNCHES as f64;
    for (key, number) in
        [(GRAPH_LAUNCH, launch), (GRAPH_LAUNCHES, launches), (GRAPH_PREDICTED, launches * launch)]
    {
        r.one(key.at(&[("device", id)]), number);
    }
    let (pixels, labels) = images(SIZES, 8 * batches.iter().max().copied().unwrap_or(1));
    let model = model(&SIZES)?;
    for batch in batches {
        let step = Step::new(gpu, &model, (&pixels, &labels), *batch, Adam::default())?;
        let list: ParamList = &[("device", id), ("batch", batch)];
        let record = |r: &mut Recorder, way: &str, work: &dyn Fn() -> cpu_gpu::Result<()>| {
            let of = |key: Key| key.at(list).with("way", way);
            r.note_at(of(GRAPH));
            let seconds = timed(r, gpu, STEPS, || step.reset(&model), work)?;
            let mut issued = Samples::default();
            for _ in 0..if gpu.about().kind == Kind::Cpu { 1 } else { 20 } {
                // The trap: the time after which the calls have returned.
                // ANCHOR: trap
                let began = Instant::now();
                (0..STEPS).try_for_each(|_| work())?; // returns, and nothing is done
                let seconds = began.elapsed().as_secs_f64();
                gpu.finish()?; // now it is
                // ANCHOR_END: trap
                issued.0.push(seconds / STEPS as f64);
            }
            r.record(of(GRAPH_ISSUED), issued);
            Ok::<f64, lab::Error>(r.record(of(GRAPH), seconds))
        };
        let launched = record(r, "launched", &|| step.launch())?;
        match step.graph() {
            Ok(graph) => {
                let replayed = record(r, "replayed", &|| graph.replay())?;
                r.one(GRAPH_GAIN.at(list), launched / replayed);
            }
            Err(error) => {
                r.skip_at(GRAPH.at(list).with("way", "replayed"), error.to_string());
                r.skip_at(GRAPH_GAIN.at(list), error.to_string());
            }
        }
    }
    Ok(())
}

fn overlap(r: &mut Recorder) -> Result<()> {
    let Ok(gpu) = gpu::open("cuda") else {
        r.skip_all(&[("device", &"cuda")], why_missing(&gpu::devices(), "cuda"));
        return Ok(());
    };
    let Some(cuda) = gpu.as_cuda() else { return Ok(()) };
    let (feed, model) = (Feed::new(cuda)?, model(&SIZES)?);
    for batch in BATCHES {
        let (pixels, labels) = images(SIZES, STEPS * batch);
        let places = (&pixels[..2 * batch * SIZES[0]], &labels[..2 * batch]);
        let step = Step::new(&*gpu, &model, places, batch, Adam::default())?;
        let pinned = Pinned::new(cuda, &pixels)?;
        let list: ParamList = &[("device", &"cuda"), ("batch", &batch)];
        let mut medians = Vec::new();
        for way in overlap::Transfer::ALL {
            let source = if way.pins() { pinned.bytes() } else { &pixels };
            let batches: Vec<&[u8]> = source.chunks_exact(batch * SIZES[0]).collect();
            let quantity = OVERLAP.at(list).with("way", way.name());
            r.note_at(&quantity);
            let work = || overlap::train(&feed, way, &batches, &step);
            let seconds = timed(r, &*gpu, 1, || step.reset(&model), work)?;
            medians.push(r.record(quantity, seconds.map(|seconds| seconds / STEPS as f64)));
        }
        r.one(OVERLAP_BYTES.at(list), (batch * SIZES[0]) as f64);
        // The fraction of a step that plain copies take. Neither side waits for the GPU after a step: a wait would
        // count the launches that it holds back as a copy.
        let [resident, _, pageable, ..] = medians[..] else { continue };
        r.one(COPIES.at(list), 1.0 - resident / pageable);
    }
    Ok(())
}
