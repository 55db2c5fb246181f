use backprop::count::Model;
use backprop::measured::{
    experiments::{CHECK, COUNT, COUNT_BATCH, OPERATIONS, PARAMETERS, RACE32, SIZES, STEP, race},
    peers,
};
use lab::data::{DataSet, Source};
use lab::{Experiment, Key, record::Value, testing};

fn values(key: Key) -> Vec<Value> {
    testing::run(&testing::experiment(backprop::chapter(), key.name)).values
}

#[test]
fn gradients_are_right_to_the_digits_of_their_numbers() {
    let values = values(CHECK);
    assert!(values[0].median < 1e-7 && values[1].median < 1e-5, "{values:?}");
}

#[test]
fn vgg16_is_counted() {
    let values = values(COUNT);
    let of = |key: Key, list: &[(&str, &str)]| {
        let found = values
            .iter()
            .find(|v| v.key == key.name && list.iter().all(|(k, t)| v.params[*k] == *t));
        found.unwrap().median
    };
    assert_eq!(of(COUNT, &[("model", "vgg16")]), 138_357_544.0);
    let batch = |gib| of(COUNT_BATCH, &[("model", "vgg16"), ("gib", gib)]);
    assert!(batch("8") < batch("24") && batch("24") < batch("80"));
}

#[test]
fn parts_of_a_step_are_measured_against_their_bounds() {
    let values = values(STEP);
    let seconds = values.iter().filter(|v| v.key == STEP.name);
    assert_eq!(seconds.clone().count(), 8);
    assert!(seconds.into_iter().all(|v| v.median > 0.0 && v.median < 1.0));
}

#[test]
fn one_step_of_the_example_network_has_these_operations() {
    let counts = Model::mlp(&SIZES).unwrap().count().unwrap();
    assert_eq!(counts.forward + counts.backward, OPERATIONS);
    assert_eq!(counts.parameters, PARAMETERS as u64);
}

#[cfg(unix)]
#[test]
fn a_python_without_keras_races_without_keras() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let python = folder.path().join("python");
    let program = r#"#!/bin/sh
case "$1" in *keras.py) echo "No module named 'keras'" >&2; exit 1;; esac
while read line; do
    echo '{"seconds": [9, 9, 9], "accuracy": 0.5, "framework": "sh", "threads": 1}'
done
"#;
    std::fs::write(&python, program).unwrap();
    std::fs::set_permissions(&python, PermissionsExt::from_mode(0o755)).unwrap();
    peers::ask(python.to_str().unwrap());
    let run = testing::run(&Experiment {
        run: |r| {
            let (drawn, folder) = (lab::data::drawn(100, 20, 1), std::env::temp_dir());
            race(r, &RACE32, 32, &DataSet { source: Source::Files(folder), ..drawn })
        },
        ..testing::experiment(backprop::chapter(), RACE32.seconds.name)
    });
    let ratios = run.values.iter().filter(|v| v.key == RACE32.ratio.name);
    let raced: Vec<&str> = ratios.map(|v| &*v.params["who"]).collect();
    assert_eq!(raced, ["pytorch", "pytorch-fused", "pytorch-compiled"]);
    assert_eq!(run.skipped.len(), 4);
    let why = "keras.py has ended without a reply (No module named 'keras')";
    let keras = |s: &lab::record::Skipped| s.params["who"] == "keras" && s.why == why;
    assert!(run.skipped.iter().all(keras), "{:?}", run.skipped);
}
