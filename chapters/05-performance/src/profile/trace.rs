//! A profile as a file that a viewer draws: <https://ui.perfetto.dev>, or `chrome://tracing`.
//!
//! Source: Google, "Trace Event Format": complete events (`ph` is `X`) with microseconds, one thread for each lane.

use super::report::Profile;
use cpu_gpu::gpu::trace::Span;
use serde_json::json;

/// A bar of a timeline.
#[derive(Clone, Debug, PartialEq)]
pub struct Bar {
    /// The row that it is drawn in.
    pub lane: String,
    /// What it is.
    pub name: String,
    /// Seconds from the start of the step to its own.
    pub start: f64,
    /// Seconds that it takes.
    pub seconds: f64,
}

/// The operations of a profile, one after the other: the medians of the steps that were profiled.
pub fn of_profile(profile: &Profile) -> Vec<Bar> {
    let mut start = 0.0;
    let bar = |moment: &super::report::Moment| {
        let seconds = moment.seconds.median();
        let lane = moment.phase.name().to_owned();
        let bar = Bar { lane, name: moment.name.clone(), start, seconds };
        start += seconds;
        bar
    };
    profile.moments.iter().map(bar).collect()
}

/// What a device did, below the calls that asked for it.
pub fn of_spans(spans: &[Span], device: &str) -> Vec<Bar> {
    let bar = |lane: &str, name: &str, [from, to]: [f64; 2]| Bar {
        lane: lane.to_owned(),
        name: name.to_owned(),
        start: from,
        seconds: to - from,
    };
    let calls = spans.iter().map(|span| bar("calls of the CPU", &span.name, span.called));
    calls.chain(spans.iter().map(|span| bar(device, &span.name, span.ran))).collect()
}

/// The bars as the text of a trace's file.
pub fn chrome(bars: &[Bar]) -> String {
    let mut lanes: Vec<&str> = Vec::new();
    let mut events = Vec::new();
    for Bar { lane, name, start, seconds } in bars {
        let known = lanes.iter().position(|known| known == lane);
        let thread = known.unwrap_or_else(|| {
            let (at, args) = (lanes.len(), json!({ "name": lane }));
            lanes.push(lane);
            events.push(json!({
                "ph": "M", "name": "thread_name", "pid": 0, "tid": at, "args": args
            }));
            at
        });
        let [ts, dur] = [start, seconds].map(|seconds| 1e6 * seconds);
        events.push(json!({
            "ph": "X", "name": name, "pid": 0, "tid": thread, "ts": ts, "dur": dur
        }));
    }
    json!({ "traceEvents": events, "displayTimeUnit": "ns" }).to_string()
}
