use cpu_gpu::gpu::device::{Api, Devices, Kind, Missing};
use cpu_gpu::gpu::find::{devices, open, open_all, without_opencl};
use cpu_gpu::gpu::testing;

#[test]
fn without_gpus_the_cpu_is_left_and_the_variable_is_named() {
    let found = vec![testing::about(Api::OpenCl, Kind::Cpu), testing::about(Api::Cuda, Kind::Gpu)];
    let left = Devices { found, missing: Vec::new() }.without_gpus();
    assert_eq!(left.found, [testing::about(Api::OpenCl, Kind::Cpu)]);
    assert_eq!(left.missing.len(), 1);
    assert_eq!(left.missing[0].api, Api::Cuda);
    assert!(left.missing[0].why.contains("THROUGHPUT_DEVICE"));
    // A reason that is known already stays the only one.
    let known = Missing { api: Api::Cuda, why: "no driver".to_owned() };
    let left = Devices { found: Vec::new(), missing: vec![known.clone()] }.without_gpus();
    assert_eq!(left.missing.len(), 2);
    assert!(left.missing.contains(&known));
}

#[test]
fn without_opencl_the_variable_is_named() {
    let Missing { api, why } = without_opencl();
    assert_eq!(api, Api::OpenCl);
    assert!(why.starts_with("THROUGHPUT_OPENCL=off leaves OpenCL out"), "{why}");
}

#[test]
fn a_device_that_is_not_there_is_named_with_the_reasons() {
    let _turn = testing::turn();
    let Err(error) = open("opencl-gpu:99") else { panic!("there is one") };
    let error = error.to_string();
    assert!(error.contains("no device opencl-gpu:99"), "{error}");
    for missing in devices().missing {
        assert!(error.contains(&missing.why), "{error}");
    }
}

#[test]
fn every_device_that_is_found_opens_under_its_name() {
    let _turn = testing::turn();
    let found = devices().found;
    let ids: Vec<&String> = found.iter().map(|about| &about.id).collect();
    let mut unique = ids.clone();
    unique.dedup();
    assert_eq!(ids, unique);
    for gpu in open_all() {
        assert!(found.contains(gpu.about()));
        assert!(gpu.about().compute_units > 0 && gpu.about().max_block > 0);
    }
}
