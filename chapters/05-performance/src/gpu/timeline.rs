//! When each kernel of a step runs on a device, when the CPU asks for it, and what it costs.

use crate::profile::{
    cost::Cost,
    engine::named,
    report::{self, Moment, Profile},
    tape::Phase,
};
use cpu_gpu::{
    Error, Result,
    devices::{Precision, peak_of},
    gpu::{
        Gpu, Kind, copying,
        trace::{Label, Span, Traced},
    },
};
use lab::Samples;

/// A step on a device, call by call.
#[derive(Clone, Debug)]
pub struct Timeline {
    /// What the device was given, in its order: in the step of median length among those that were recorded.
    pub spans: Vec<Span>,
    /// Seconds of each step that was recorded, from its first call to the end of its last work.
    pub steps: Samples,
}

/// Steps before the first that counts: they meet cold caches, and code that was never loaded.
const WARM_UP: usize = 3;

/// Seconds of a span on the device.
pub fn seconds(span: &Span) -> f64 {
    span.ran[1] - span.ran[0]
}

/// Seconds from the first call to the end of the last work.
fn whole(spans: &[Span]) -> f64 {
    let ends = spans.iter().map(|span| span.ran[1].max(span.called[1]));
    ends.fold(0.0, f64::max)
}

/// A device's limits, with all it has: peak in FLOP/s, infinite if its maker's number is not known, and bandwidth in B/s.
///
/// # Errors
/// The device's.
pub fn limits(gpu: &dyn Gpu) -> Result<[f64; 2]> {
    if gpu.about().kind == Kind::Cpu {
        return Ok(report::limits().map(|limit| limit.value));
    }
    let peak = peak_of(gpu.about(), Precision::F32).map_or(f64::INFINITY, |limit| limit.value);
    let count = (gpu.about().memory as usize / 64).min(COPIED) / 4 * 4;
    Ok([peak, copying::bandwidth(gpu, count, 8, 5)?.median()])
}

/// Numbers that are copied to see a bandwidth, where there is room: more than a cache has.
const COPIED: usize = 1 << 26;

impl Timeline {
    /// Records `steps` steps, after three that are not counted.
    ///
    /// # Errors
    /// A message for no step, or one that gives the device nothing to do; the device's.
    pub fn of(traced: &Traced, steps: usize, step: &mut dyn FnMut() -> Result<()>) -> Result<Self> {
        (0..WARM_UP).try_for_each(|_| step())?;
        let all: Vec<_> = (0..steps).map(|_| traced.record(step)).collect::<Result<_>>()?;
        let seconds: Vec<f64> = all.iter().map(|spans| whole(spans)).collect();
        let mut order: Vec<usize> = (0..all.len()).collect();
        order.sort_by(|a, b| seconds[*a].total_cmp(&seconds[*b]));
        let middle = order.get(order.len() / 2).map(|at| all[*at].clone()).unwrap_or_default();
        if middle.is_empty() {
            return Err(Error::message("there is nothing to show: no step gave the device work"));
        }
        Ok(Self { spans: middle, steps: Samples(seconds) })
    }

    /// Seconds of the step that is shown.
    pub fn seconds(&self) -> f64 {
        whole(&self.spans)
    }

    /// The fraction of the step in which the device was at work.
    pub fn busy(&self) -> f64 {
        self.spans.iter().map(seconds).sum::<f64>() / self.seconds()
    }

    /// The step by operation, as on the cores; the last event is the time in which the device did nothing.
    pub fn profile(&self, what: String) -> Profile {
        let event = |span: &Span| {
            let Label { of: [op, call], flops, bytes } = &span.label;
            let own = (Phase::Host, span.name.clone()); // the step's copies and words
            let (phase, name) = if call.is_empty() { own } else { named(op, call) };
            let seconds = Samples::one(seconds(span));
            (Moment { phase, name, times: 1, seconds }, Cost::of(call, *flops, *bytes))
        };
        let busy: f64 = self.spans.iter().map(seconds).sum();
        let idle = Samples::one((self.seconds() - busy).max(0.0));
        let none = Moment { phase: Phase::Host, name: "nothing".into(), times: 1, seconds: idle };
        let events = self.spans.iter().map(event).chain([(none, Cost::default())]).collect();
        Profile::of(what, events, [Samples::one(self.seconds()), Samples(Vec::new())])
    }
}
