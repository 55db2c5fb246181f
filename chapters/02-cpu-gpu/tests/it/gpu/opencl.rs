use cpu_gpu::gpu::device::{Arg, Launch};
use cpu_gpu::gpu::opencl::{most, no_platform, sentence};
use opencl3::error_codes::{
    CL_DEVICE_NOT_AVAILABLE, CL_INVALID_WORK_GROUP_SIZE, CL_MEM_OBJECT_ALLOCATION_FAILURE,
    CL_OUT_OF_RESOURCES, ClError, DLOPEN_RUNTIME_LOAD_FAILED,
};

#[test]
fn every_code_becomes_a_sentence_with_the_way_out() {
    for (code, wanted) in [
        (CL_MEM_OBJECT_ALLOCATION_FAILURE, "smaller matrices"),
        (CL_OUT_OF_RESOURCES, "outside of its memory"),
        (CL_INVALID_WORK_GROUP_SIZE, "size that the kernel is written for"),
        (CL_DEVICE_NOT_AVAILABLE, "throughput doctor"),
    ] {
        let text = sentence("card", "do it", &ClError(code));
        assert!(text.starts_with("card can't do it: ") && text.contains(wanted), "{text}");
        assert!(text.contains(&ClError(code).to_string()) && !text.contains('\n'), "{text}");
    }
}

/// NVIDIA's driver tells 256 for a kernel that is written for 1,024.
#[test]
fn a_kernel_takes_the_block_that_it_is_written_for() {
    assert_eq!(most(&[32, 32, 1], 256), 1024);
    assert_eq!(most(&[0, 0, 0], 256), 256);
    let Some(gpu) = cpu_gpu::gpu::testing::opencl() else { return };
    let source = |written_for: &str| {
        format!("kernel {written_for} void one(global float *x) {{ x[get_global_id(0)] = 1; }}")
    };
    let x = gpu.alloc(4 * 64).unwrap();
    let fixed = source("__attribute__((reqd_work_group_size(8, 4, 1)))");
    let [fixed, free] = [fixed, source("")].map(|source| gpu.compile(&source, &[], "one").unwrap());
    let run = |kernel, block| gpu.launch(kernel, Launch::new([1, 1], block), &[Arg::Buffer(&x)]);
    run(&fixed, [8, 4]).unwrap();
    lab::testing::refused(run(&fixed, [8, 8]), ["takes from 1 to 32 of them"]);
    run(&free, [8, 8]).unwrap();
    gpu.finish().unwrap();
}

#[test]
fn a_library_without_a_driver_is_told_from_no_library() {
    let text = no_platform(&ClError(DLOPEN_RUNTIME_LOAD_FAILED));
    assert!(text.contains("no OpenCL library") && text.contains("apt install"), "{text}");
    // CL_PLATFORM_NOT_FOUND_KHR
    let text = no_platform(&ClError(-1001));
    assert!(text.contains("no driver behind it") && text.contains("apt install"), "{text}");
}
