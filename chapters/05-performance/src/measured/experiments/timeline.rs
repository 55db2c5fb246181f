//! A step of the GPU part, call by call.

use super::gpu::{MODEL, on_each, timed};
use crate::gpu::{
    run::Run,
    timeline::{self, Timeline},
};
use cpu_gpu::gpu::{Gpu, Kind, trace::Traced};
use lab::{Budget, Experiment, Recorder, Result, record::ParamList};

lab::keys! {
    /// Seconds that the device worked on a call, in the step of median length.
    pub RAN: measured "performance.gpu.timeline", Seconds, ["device", "batch", "at", "call"];
    /// When it began, in seconds from the step's start.
    pub BEGAN: measured "performance.gpu.timeline.began", Seconds, ["device", "batch", "at", "call"];
    /// Seconds until the call had returned.
    pub CALLED: measured "performance.gpu.timeline.called", Seconds, ["device", "batch", "at", "call"];
    /// When it was called.
    pub ASKED: measured "performance.gpu.timeline.asked", Seconds, ["device", "batch", "at", "call"];
    /// Seconds of the step.
    pub WHOLE: measured "performance.gpu.timeline.step", Seconds, ["device", "batch"];
    /// The fraction of it in which the device worked.
    pub BUSY: measured "performance.gpu.timeline.busy", Share, ["device", "batch"];
    /// The step with a recording over one without.
    pub OVERHEAD: measured "performance.gpu.timeline.overhead", Ratio, ["device", "batch"];
}

/// The batches whose steps are recorded: on a GPU a step of the smaller one hardly fills it.
pub const BATCHES: [usize; 2] = [32, 512];

/// The experiment of this file.
pub fn experiments() -> Vec<Experiment> {
    lab::experiments! {
        quick RAN.name => &[RAN, BEGAN, CALLED, ASKED, WHOLE, BUSY, OVERHEAD], |r| {
            on_each(r, |r, gpu| {
                // A CPU that runs the kernels is shown once with the quick budget.
                let once = gpu.about().kind == Kind::Cpu && r.budget == Budget::Quick;
                let batches = if once { &BATCHES[..1] } else { &BATCHES };
                batches.iter().try_for_each(|batch| record(r, gpu, *batch))
            })
        },
            "when each kernel of a training step runs on a device, and when the CPU asks for it";
    }
}

/// Records a step on a batch.
///
/// # Errors
/// The device's own.
pub fn record(r: &mut Recorder, gpu: &dyn Gpu, batch: usize) -> Result<()> {
    let list: ParamList = &[("device", &gpu.about().id), ("batch", &batch)];
    r.note_at(RAN.at(list));
    let steps = if r.budget == Budget::Full { 25 } else { 5 };
    let traced = Traced::new(gpu);
    let mut run = Run::new(&traced, MODEL, batch, false)?; // each kernel is to be seen
    let line = Timeline::of(&traced, steps, &mut || run.launch().map(drop))?;
    let alone = timed(r, gpu, 1, || run.launch().map(drop))?;
    r.one(OVERHEAD.at(list), line.steps.median() / alone.median());
    r.one(BUSY.at(list), line.busy());
    for (at, span) in line.spans.iter().enumerate() {
        // Two digits, so that names sort as numbers do.
        let at = format!("{at:02}");
        for (key, seconds) in [
            (RAN, timeline::seconds(span)),
            (BEGAN, span.ran[0]),
            (CALLED, span.called[1] - span.called[0]),
            (ASKED, span.called[0]),
        ] {
            let quantity = key.at(list).with("at", &at).with("call", &span.name);
            r.one(quantity, (seconds * 1e9).round() / 1e9);
        }
    }
    r.record(WHOLE.at(list), line.steps);
    r.keep()
}
