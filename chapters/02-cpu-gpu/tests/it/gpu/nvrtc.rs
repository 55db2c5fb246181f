use cpu_gpu::gpu::nvrtc::{Nvrtc, keep, kept};
use lab::testing::refused;
use std::fs;

#[test]
fn machine_code_is_kept_in_a_file_and_nothing_else_is_taken_for_it() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("k-sm_90-00.cubin");
    assert_eq!(kept(&file), None);
    keep(&file, b"\x7fELF code");
    assert_eq!(kept(&file).unwrap(), b"\x7fELF code");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    fs::write(&file, "half a").unwrap();
    assert_eq!(kept(&file), None);
    keep(&folder.path().join("no/such/folder"), b"x"); // no panic
}

#[test]
fn compiles_or_says_what_is_missing() {
    match Nvrtc::load() {
        Err(error) => {
            let error = error.to_string();
            assert!(error.contains("libnvrtc") && error.contains("install"), "{error}");
        }
        Ok(nvrtc) => {
            let source = "extern \"C\" __global__ void f(float *x) { x[threadIdx.x] = SOME; }";
            let options = [("SOME", "2.0f".to_owned())];
            let (image, _) = nvrtc.compile(source, &options, "f", "sm_90").unwrap();
            assert_eq!(image[..4], *b"\x7fELF");
            refused(nvrtc.compile(source, &[], "f", "sm_90"), ["`f` does not compile", "SOME"]);
            // A GPU that it does not know yet: PTX, with the zero byte that the driver looks for.
            let newest = nvrtc.target((99, 0), "");
            let (ptx, _) = nvrtc.compile(source, &options, "f", &newest).unwrap();
            assert!(ptx.ends_with(b"\0") && String::from_utf8_lossy(&ptx).contains(".entry f"));
            assert_eq!(nvrtc.target((9, 0), "a"), "sm_90a");
            refused(nvrtc.compile(source, &options, "f", "sm_10"), ["does not compile for sm_10"]);
        }
    }
}
