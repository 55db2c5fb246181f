use crate::measured::leaves;
use cpu_gpu::{
    gpu::{self, testing},
    measured::experiments::devices::{CLOCK, DEVICES, LANES, MEMORY, UNITS, all, why_missing},
};

#[test]
fn every_device_has_its_numbers_or_a_reason() {
    let _turn = testing::turn();
    let left = leaves(&all()[0]);
    let skipped = left.skipped.iter().map(|s| (s.key.as_str(), s.params.get("device")));
    let all = left.values.iter().map(|v| (v.key.as_str(), v.params.get("device")));
    let about: Vec<_> = all.chain(skipped).map(|(key, id)| (key, id.unwrap().as_str())).collect();
    for key in [UNITS, CLOCK, LANES, MEMORY] {
        for device in DEVICES.into_iter().chain(["cpu"]) {
            assert!(about.contains(&(key.name, device)), "{} of {device}", key.name);
        }
    }
    assert!(about.contains(&(LANES.name, "core")));
    assert!(left.values.iter().all(|v| v.median > 0.0), "{left:?}");
}

#[test]
fn what_is_missing_has_the_reason_of_its_interface() {
    let found = gpu::Devices {
        missing: vec![gpu::Missing { api: gpu::Api::Cuda, why: "no driver".to_owned() }],
        ..gpu::Devices::default()
    };
    assert_eq!(why_missing(&found, "cuda"), "no driver");
    assert!(why_missing(&found, "opencl-gpu").contains("no GPU"));
    assert!(why_missing(&found, "opencl-cpu").contains("no CPU"));
}
