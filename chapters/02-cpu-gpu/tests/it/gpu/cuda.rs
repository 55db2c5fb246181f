use cpu_gpu::gpu::cuda::{OLDEST, find, fitting, patience, sentence, too_old};
use cpu_gpu::gpu::device::{Api, Arg, Devices};
use cudarc::driver::sys::CUresult;
use std::time::Duration;

#[test]
fn a_driver_that_is_too_old_is_named_with_both_versions() {
    assert_eq!(too_old(OLDEST), None);
    assert_eq!(too_old(13_000), None);
    let why = too_old(11_080).unwrap();
    assert!(why.contains("CUDA 11.8") && why.contains("12.0") && why.contains("install"), "{why}");
}

#[test]
fn every_code_becomes_a_sentence_with_the_way_out() {
    for (code, wanted) in [
        (CUresult::CUDA_ERROR_OUT_OF_MEMORY, "smaller matrices"),
        (CUresult::CUDA_ERROR_NO_DEVICE, "CUDA_VISIBLE_DEVICES"),
        (CUresult::CUDA_ERROR_STUB_LIBRARY, "LD_LIBRARY_PATH"),
        (CUresult::CUDA_ERROR_ILLEGAL_ADDRESS, "compute-sanitizer"),
        (CUresult::CUDA_ERROR_NO_BINARY_FOR_GPU, "newer driver"),
        (CUresult::CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, "smaller blocks"),
        (CUresult::CUDA_ERROR_LAUNCH_TIMEOUT, "smaller matrices"),
        (CUresult::CUDA_ERROR_DEVICE_UNAVAILABLE, "nvidia-smi"),
        (CUresult::CUDA_ERROR_SYSTEM_DRIVER_MISMATCH, "restart the machine"),
        (CUresult::CUDA_ERROR_ECC_UNCORRECTABLE, "have the card checked"),
        (CUresult::CUDA_ERROR_UNKNOWN, "throughput doctor"),
    ] {
        let text = sentence("card", "do it", code);
        assert!(text.starts_with("card can't do it: ") && text.contains(wanted), "{text}");
        assert!(text.contains(&format!("{code:?}")) && !text.contains('\n'), "{text}");
    }
}

#[test]
fn patience_is_a_minute_or_what_the_reader_says() {
    assert_eq!(patience(None).unwrap(), Duration::from_mins(1));
    assert_eq!(patience(Some("0.5")).unwrap(), Duration::from_millis(500));
    for said in ["", "0", "-1", "soon", "inf", "1e300"] {
        let error = patience(Some(said)).unwrap_err().to_string();
        assert!(error.contains("THROUGHPUT_GPU_PATIENCE") && error.contains("as 60"), "{error}");
    }
}

#[test]
fn arguments_have_to_fit_a_kernels_parameters() {
    let (number, float) = (Arg::U32(1), Arg::F32(1.0));
    assert!(fitting("f", &[4, 4], &[number, float]).is_ok());
    let error = fitting("f", &[8, 4], &[number]).unwrap_err().to_string();
    assert!(error.contains("`f` takes 2 arguments, not 1"), "{error}");
    let error = fitting("f", &[4, 8], &[number, float]).unwrap_err().to_string();
    assert!(error.contains("argument 1 of `f` has 8 bytes, and it is given 4"), "{error}");
}

#[test]
fn without_a_driver_there_is_a_reason_and_no_panic() {
    let mut devices = Devices::default();
    find(&mut devices);
    assert_eq!(devices.found.is_empty(), !devices.missing.is_empty());
    for missing in devices.missing {
        assert!(missing.api == Api::Cuda && missing.why.contains("driver"), "{missing:?}");
    }
}
