use backprop::measured::peers::Peer;
use cpu_gpu::gpu::testing;
use lab::{Experiment, Key, Recorder, record::ParamList, testing as recorded};
use language_model::measured::experiments::gpu::{
    ERROR, FLOPS, GAIN, PYTORCH, PYTORCH_RATIO, RATE, TYPES, experiments, step,
};
use language_model::{Config, measured::experiments::step::Case};
use std::cell::RefCell;

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
        // What PyTorch would reply: a first step, and four that count.
        let script = r#"while read -r job; do echo '{"losses": [], "seconds": [9, 1, 2, 2, 4],
                "framework": "PyTorch 2, fused AdamW"}' | tr -d '\n'; echo; done"#;
        let peer = Peer::start("sh", &["-c", script]).map(RefCell::new);
        let (peer, folder) =
            (peer.map_err(|error| error.to_string()), tempfile::tempdir().unwrap());
        let twin = cfg!(unix).then_some((&peer, folder.path()));
        Ok(step(r, &*gpu, &Case::new(config, 2, 10), list, 2, twin)?)
    };
    let found = recorded::run(&Experiment { run, ..experiments().swap_remove(0) });
    let of = |key: Key| found.values.iter().find(|value| value.key == key.name);
    assert!(of(ERROR).unwrap().median < 1e-4, "{}", of(ERROR).unwrap().median);
    assert!(of(RATE).unwrap().median > 0.0 && of(GAIN).unwrap().median > 0.0);
    assert!(of(FLOPS).unwrap().median > of(RATE).unwrap().median);
    let theirs: Vec<_> = found.values.iter().filter(|v| v.key == PYTORCH.name).collect();
    if cfg!(unix) {
        let (tokens, seconds) = (2.0 * 8.0, 2.0);
        let rates: Vec<f64> = theirs.iter().map(|v| v.median).collect();
        assert_eq!(rates, [tokens / seconds; TYPES.len()]);
        assert!(theirs.iter().all(|v| v.param("version") == Some("PyTorch 2")), "{theirs:?}");
        let ratio = of(PYTORCH_RATIO).unwrap().median;
        let ours = of(RATE).unwrap().median;
        assert!((ratio / (seconds * ours / tokens) - 1.0).abs() < 1e-9, "{ratio}");
    }
}
