#![allow(clippy::float_cmp, reason = "the numbers are whole: nothing rounds")]

use backprop::measured::peers::Job;
use lab::testing::{self, experiment};
use lab::{Experiment, Recorder};
use performance::measured::experiments::pytorch::{
    KEYS, ModelJob, RATE, Timed, Work, each, no_gpu, program,
};

#[test]
fn operations_and_bytes_are_those_of_the_work() {
    let of = |what, kind, n| Work::new(what, kind, n).amount();
    assert_eq!(of("product", "bf16", 4), 128.0);
    assert_eq!(of("lu", "f32", 3), 18.0);
    assert_eq!([of("copy", "device", 8), of("copy", "pinned", 8)], [16.0, 8.0]);
    // One sequence as long as all of them: half of the scores, twice, each a product over the width.
    let whole = Work { head: 64, ..Work::new("attention", "flash", 16_384) };
    assert_eq!(whole.amount(), 2.0 * 2.0 * 768.0 * 16_384.0_f64.powi(2) / 2.0);
    assert_eq!(Work { backward: true, ..whole }.amount(), 3.5 * whole.amount());
}

/// Names that are recorded twice would end the run.
#[test]
fn what_one_can_not_do_costs_no_other() {
    let run = |r: &mut Recorder| {
        each(r, &Work::all(), |work| {
            if work.kind == "cudnn" {
                return Err("can't do it (No available kernel)".to_owned());
            }
            Ok(Timed { seconds: vec![0.5, 1.0, 2.0], framework: "PyTorch".to_owned() })
        })
    };
    let experiment = experiment(performance::chapter(), RATE.name);
    let found = testing::run(&Experiment { run, ..experiment });
    assert_eq!((found.values.len(), found.skipped.len()), (15 + 3 + 12 + 3, 12));
    assert_eq!(found.values[0].median, 2.0 * 512.0_f64.powi(3));
}

#[test]
fn the_programs_know_every_job() {
    let script = |name: &str| std::fs::read_to_string(program(name)).unwrap();
    let gpu = script("pytorch_gpu.py");
    for word in Work::all().into_iter().flat_map(|work| [work.what, work.kind]) {
        assert!(gpu.contains(word), "{word}");
    }
    assert!(gpu.contains("TOKENS, WIDTH = 16_384, 768"));
    let job = Job { batch: 32, epochs: 2, seed: 0 };
    let job = ModelJob { job, model: "mlp", limit: 9, channels_last: true, compile: false };
    let models = script("pytorch_models.py");
    for name in serde_json::to_value(job).unwrap().as_object().unwrap().keys() {
        assert!(
            models.contains(&format!("options.{name}"))
                || models.contains(&format!("wanted[\"{name}\"]")),
            "{name}"
        );
    }
}

#[test]
fn without_a_gpu_or_a_python_the_reason_is_recorded() {
    if no_gpu().is_none() {
        return;
    }
    for key in [RATE, KEYS.seconds] {
        let found = testing::run(&experiment(performance::chapter(), key.name));
        assert!(found.values.is_empty() && !found.skipped.is_empty(), "{found:?}");
    }
}
