use cpu_gpu::gpu::trace::{Label, Span, What};
use performance::profile::profile;
use performance::profile::trace::{chrome, of_profile, of_spans};
use serde_json::{Value, json};
use training::Model;

#[test]
fn a_trace_names_its_lanes_and_has_microseconds() {
    let span = |name: &str, called, ran| Span {
        name: name.into(),
        what: What::Kernel,
        label: Label::default(),
        called,
        ran,
    };
    let spans = [span("one", [0.0, 1e-6], [2e-6, 5e-6]), span("two", [1e-6, 2e-6], [5e-6, 6e-6])];
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
