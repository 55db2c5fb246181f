use cpu_gpu::gpu::toolkit::{Absent, Part, includes, version_of_headers};
use cpu_gpu::{gpu::cublas::CUBLAS, gpu::nvrtc::NVRTC};
use lab::toolkit::candidates;
use std::{fs, path::Path};

fn touch(path: &Path) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, "").unwrap();
}

#[test]
#[cfg(target_os = "linux")]
fn every_version_is_looked_for_and_the_name_tells_which() {
    let folder = tempfile::tempdir().unwrap();
    for file in ["libcublas.so.13", "libcublasLt.so.13", "libcublas.so", "libcublas.so.12.9.1"] {
        touch(&folder.path().join("lib").join(file));
    }
    let all = candidates("cublas", &[folder.path().to_owned()]);
    let names: Vec<(String, Option<u32>)> = all
        .iter()
        .map(|(path, major)| (path.file_name().unwrap().to_string_lossy().into(), *major))
        .collect();
    let of = |name: &str, major| (name.to_owned(), major);
    assert_eq!(names[0], of("libcublas.so.15", Some(15)));
    assert_eq!(names[3], of("libcublas.so.12", Some(12)));
    assert_eq!(
        names[4..],
        [
            of("libcublas.so", None),
            of("libcublas.so.12.9.1", Some(12)),
            of("libcublas.so.13", Some(13)),
            of("libcublas.so", None)
        ]
    );
}

cpu_gpu::library! {
    #[allow(dead_code, reason = "it is not there")]
    struct Gone of "library", "version 2" {
        none = "no_such_function"() -> ();
    }
}

#[test]
#[cfg(target_os = "linux")]
fn what_is_missing_is_told_with_the_way_out() {
    let nobody = Part { file: "no-such-library", ..NVRTC };
    assert_eq!(nobody.newest(None).err(), Some(Absent::Missing));
    for (part, absent, words) in [
        (NVRTC, Absent::Missing, ["there is no NVRTC", "install", "libnvrtc"]),
        (NVRTC, Absent::TooNew(13), ["for CUDA 13", "speaks CUDA 12", "nvidia-cuda-nvrtc-cu12"]),
        (CUBLAS, Absent::Missing, ["there is no cuBLAS", "install", "libcublas"]),
        (CUBLAS, Absent::TooNew(13), ["for CUDA 13", "speaks CUDA 12", "the cuBLAS of CUDA 12"]),
    ] {
        let text = part.why(&absent, Some(12));
        assert!(words.iter().all(|word| text.contains(word)), "{text}");
    }
    let this = libloading::os::unix::Library::this();
    let why = Gone::of(this.into()).err().unwrap();
    assert_eq!(why, "this library has no no_such_function; the course needs version 2");
}

#[test]
fn headers_of_another_version_are_left_out() {
    let folder = tempfile::tempdir().unwrap();
    let cuda = folder.path().join("include/cuda.h");
    touch(&cuda);
    assert_eq!(version_of_headers(cuda.parent().unwrap()), None);
    fs::write(&cuda, "/* */\n#define CUDA_VERSION 12040\n").unwrap();
    assert_eq!(version_of_headers(cuda.parent().unwrap()), Some(12));
    let has = |major| {
        let all = includes(Some(folder.path()), Some(major));
        all.first().is_some_and(|first| first.starts_with(folder.path()))
    };
    assert!(has(12));
    assert!(!has(13));
}
