use cpu_gpu::gpu::device::{Api, Kernel, Kind, Launch};
use cpu_gpu::{gpu::testing, truck::MAP};
use lab::testing::refused;

#[test]
fn the_compilers_words_name_the_file_and_the_line() {
    let line = 1 + include_str!("../../../kernels/map.cl").lines().count();
    let source = format!("{MAP}KERNEL void wrong(GLOBAL float *x) {{ x[0] = missing; }}\n");
    let name = format!("map.cl:{line}:");
    if let Some(gpu) = testing::opencl() {
        let Err(error) = gpu.compile(&source, &[], "wrong") else { panic!("it compiles") };
        let error = error.to_string();
        assert!(error.contains(&name) && error.contains("missing"), "{error}");
    }
    if let Some(nvrtc) = testing::nvrtc() {
        let error = nvrtc.compile(&source, &[], "wrong", "sm_90").unwrap_err().to_string();
        assert!(error.contains(&format!("map.cl({line})")), "{error}");
        assert!(error.contains("missing"), "{error}");
    }
}

#[test]
fn a_launch_beyond_the_devices_limits_is_refused() {
    let kernel = Kernel { entry: "k".to_owned(), inner: Box::new(()) };
    let try_it = |api, grid, block| {
        Launch::new(grid, block).check(&kernel, &testing::about(api, Kind::Gpu), 512)
    };
    for api in [Api::OpenCl, Api::Cuda] {
        assert!(try_it(api, [7, 9], [512, 1]).is_ok());
        assert!(try_it(api, [0, 9], [16, 32]).is_ok());
        for block in [[0, 1], [513, 1], [32, 17], [usize::MAX, 2]] {
            refused(try_it(api, [1, 1], block), ["on card it takes from 1 to 512"]);
        }
    }
    assert!(try_it(Api::Cuda, [i32::MAX as usize, 65_535], [1, 1]).is_ok());
    refused(try_it(Api::Cuda, [1, 65_536], [1, 1]), ["65536 blocks along y; card takes 65535"]);
    assert!(try_it(Api::Cuda, [1 << 31, 1], [1, 1]).is_err());
    assert!(try_it(Api::OpenCl, [usize::MAX, 1], [2, 1]).is_err());
}
