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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::profile;
    use cpu_gpu::gpu::trace::What;
    use serde_json::Value;
    use training::Model;

    #[test]
    fn a_trace_names_its_lanes_and_has_microseconds() {
        let span =
            |name: &str, called, ran| Span { name: name.into(), what: What::Kernel, called, ran };
        let spans =
            [span("one", [0.0, 1e-6], [2e-6, 5e-6]), span("two", [1e-6, 2e-6], [5e-6, 6e-6])];
        let bars = of_spans(&spans, "a card");
        let value: Value = serde_json::from_str(&chrome(&bars)).unwrap();
        let events = value["traceEvents"].as_array().unwrap();
        let of = |kind: &str| events.iter().filter(|e| e["ph"] == kind).collect::<Vec<_>>();
        let lanes: Vec<_> = of("M").iter().map(|e| e["args"]["name"].clone()).collect();
        assert_eq!(lanes, ["calls of the CPU", "a card"]);
        let ran = of("X")[2];
        assert_eq!((&ran["name"], &ran["tid"]), (&json!("one"), &json!(1)));
        let near = |value: &Value, wanted: f64| (value.as_f64().unwrap() - wanted).abs() < 1e-9;
        assert!(near(&ran["ts"], 2.0) && near(&ran["dur"], 3.0), "{ran}");
        assert_eq!(of("X").len(), 4);
        assert!(chrome(&[]).contains("traceEvents"));
    }

    #[test]
    fn a_profile_is_a_row_of_bars_without_gaps() {
        let profile = profile(Model::Mlp, &lab::data::drawn(20, 5, 1), 4, 3).unwrap();
        let bars = of_profile(&profile);
        assert_eq!(bars.len(), profile.moments.len());
        assert!(bars.iter().any(|bar| bar.lane == "backward"));
        for pair in bars.windows(2) {
            assert!((pair[0].start + pair[0].seconds - pair[1].start).abs() < 1e-12);
        }
    }
}
