//! What the GPU part measures: a step launched kernel by kernel and replayed as graphs, and steps begun ahead.

use crate::gpu::run::{Run, launches, seconds_of_launch};
use cpu_gpu::{
    gpu::{self, Gpu, Kind},
    measured::experiments::devices::{DEVICES, why_missing},
};
use lab::{Budget, Experiment, Key, Race, Recorder, Result, Samples, record::ParamList};
use std::{cell::RefCell, time::Instant};
use training::Model;

lab::keys! {
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
    /// Seconds of a step, by what is begun before its scores are asked for.
    pub AHEAD: measured "performance.gpu.ahead", Seconds, ["device", "batch", "way"];
}

/// The batches of the page.
const BATCHES: [usize; 3] = [32, 128, 512];
/// The model of the page.
pub(super) const MODEL: Model = Model::Mlp;
/// Steps between two looks at the clock.
const STEPS: usize = 16;

/// This part's experiments.
pub fn experiments() -> Vec<Experiment> {
    lab::experiments! {
        quick GRAPH.name =>
            &[GRAPH, GRAPH_ISSUED, GRAPH_LAUNCHES, GRAPH_LAUNCH, GRAPH_PREDICTED, GRAPH_GAIN],
            |r| on_each(r, |r, gpu| of_page(r, gpu, graph)),
            "a training step of the engine launched kernel by kernel and replayed as CUDA graphs, at three sizes of a batch";
        quick AHEAD.name => &[AHEAD], |r| on_each(r, |r, gpu| of_page(r, gpu, ahead)),
            "a training that waits for each step's scores, and one that begins two steps ahead";
    }
}

/// Measures on each device found, and says of each that the page names why it is not there.
///
/// # Errors
/// The device's own.
pub fn on_each(
    r: &mut Recorder,
    work: impl Fn(&mut Recorder, &dyn Gpu) -> Result<()>,
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

/// What an experiment does on a device, for each of these batches.
pub type Work = fn(&mut Recorder, &dyn Gpu, &[usize]) -> Result<()>;

fn of_page(r: &mut Recorder, gpu: &dyn Gpu, work: Work) -> Result<()> {
    // A CPU that runs the kernels has no launches to save; the quick budget shows it once.
    let once = gpu.about().kind == Kind::Cpu && r.budget == Budget::Quick;
    work(r, gpu, if once { &BATCHES[..1] } else { &BATCHES })
}

/// Seconds of one `work` when `times` of them are started before the wait; the budget sets the number of samples.
pub(super) fn timed(
    r: &Recorder,
    gpu: &dyn Gpu,
    times: usize,
    mut work: impl FnMut() -> Result<()>,
) -> Result<Samples> {
    let mut race = Race::new();
    race.turn("alone", |_| {
        gpu.finish()?;
        let began = Instant::now();
        (0..times).try_for_each(|_| work())?;
        gpu.finish()?;
        Ok(began.elapsed().as_secs_f64() / times as f64)
    });
    race.run(r.budget.plan())?.samples("alone")
}

/// Steps launched one by one and as graphs, for each of these batches.
///
/// # Errors
/// The device's own.
pub fn graph(r: &mut Recorder, gpu: &dyn Gpu, batches: &[usize]) -> Result<()> {
    let id = &gpu.about().id;
    let row = if gpu.about().kind == Kind::Cpu { 100 } else { 2000 };
    let (count, launch) = (launches(gpu, MODEL, batches[0])? as f64, seconds_of_launch(gpu, row)?);
    r.one(GRAPH_LAUNCH.at(&[("device", id)]), launch);
    r.one(GRAPH_LAUNCHES.at(&[("device", id)]), count);
    r.one(GRAPH_PREDICTED.at(&[("device", id)]), count * launch);
    for batch in batches {
        let list: ParamList = &[("device", id), ("batch", batch)];
        let mut medians = Vec::new();
        for way in ["launched", "replayed"] {
            let of = |key: Key| key.at(list).with("way", way);
            if way == "replayed" && gpu.as_cuda().is_none() {
                let why = format!("{} has no graphs", gpu.about().name);
                r.skip_at(of(GRAPH), why.clone());
                r.skip_at(GRAPH_GAIN.at(list), why);
                continue;
            }
            r.note_at(of(GRAPH));
            let mut run = Run::new(gpu, MODEL, *batch, way == "replayed")?;
            let seconds = timed(r, gpu, STEPS, || run.launch().map(drop))?;
            let mut issued = Samples::default();
            for _ in 0..if gpu.about().kind == Kind::Cpu { 1 } else { 20 } {
                // The trap: the time after which the calls have returned.
                // ANCHOR: trap
                let began = Instant::now();
                (0..STEPS).try_for_each(|_| run.launch().map(drop))?; // nothing is done
                let seconds = began.elapsed().as_secs_f64();
                gpu.finish()?; // now it is
                // ANCHOR_END: trap
                issued.0.push(seconds / STEPS as f64);
            }
            r.record(of(GRAPH_ISSUED), issued);
            medians.push(r.record(of(GRAPH), seconds));
        }
        if let [launched, replayed] = medians[..] {
            r.one(GRAPH_GAIN.at(list), launched / replayed);
        }
        r.keep()?;
    }
    Ok(())
}

/// Steps whose scores are waited for, each before the next one, and steps that are begun ahead as `train` does it.
///
/// # Errors
/// The device's own.
pub fn ahead(r: &mut Recorder, gpu: &dyn Gpu, batches: &[usize]) -> Result<()> {
    for batch in batches {
        let list: ParamList = &[("device", &gpu.about().id), ("batch", batch)];
        r.note_at(AHEAD.at(list));
        let run = RefCell::new(Run::new(gpu, MODEL, *batch, true)?);
        let mut race = Race::new();
        for (way, ahead) in [("waiting", 0), ("ahead", 2)] {
            let run = &run;
            race.turn(way, move |_| {
                let began = Instant::now();
                run.borrow_mut().steps(STEPS, ahead)?;
                Ok(began.elapsed().as_secs_f64() / STEPS as f64)
            });
        }
        let results = race.run(r.budget.plan())?;
        for way in ["waiting", "ahead"] {
            r.record(AHEAD.at(list).with("way", way), results.samples(way)?);
        }
        r.keep()?;
    }
    Ok(())
}
