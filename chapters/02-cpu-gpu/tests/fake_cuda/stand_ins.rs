//! Building the stand-ins for NVIDIA's libraries, and running a test with them.
//!
//! Tests of later chapters use this file by `#[path]`: it is for tests alone, so it belongs to no library.

use lab::testing::{Tool, need};
use std::{
    path::{Path, PathBuf},
    process::{Command, Output},
    sync::OnceLock,
};

/// A compiler of C++17 (the variable `CXX`, c++, g++ or clang++), or `None` where there is none.
pub fn compiler() -> Option<String> {
    static FOUND: OnceLock<Result<String, &str>> = OnceLock::new();
    let found = FOUND.get_or_init(|| {
        let folder = tempfile::tempdir().map_err(|_| "there is no temporary folder")?;
        let probe = folder.path().join("probe.cpp");
        std::fs::write(
            &probe,
            "#include <optional>\nint main() { return *std::optional<int>(0); }\n",
        )
        .map_err(|_| "the temporary folder is full")?;
        let works = |name: &String| {
            let mut command = Command::new(name);
            command.arg("-std=c++17").arg(&probe).arg("-o").arg(folder.path().join("probe"));
            command.output().is_ok_and(|output| output.status.success())
        };
        let named = std::env::var("CXX").ok();
        let mut all = named.into_iter().chain(["c++", "g++", "clang++"].map(str::to_owned));
        all.find(works).ok_or("install g++, or name one in CXX")
    });
    need(Tool::Cxx, found.clone())
}

/// Builds a stand-in: `file` next to this one becomes `library` in the folder `into`.
pub fn build(cxx: &str, into: &Path, file: &str, library: &str, more: &[&str]) {
    let sources =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../02-cpu-gpu/tests/fake_cuda").join(file);
    std::fs::create_dir_all(into).unwrap();
    let output = Command::new(cxx)
        .args(["-std=c++17", "-O1", "-w", "-shared", "-fPIC"])
        .arg(sources)
        .arg("-o")
        .arg(into.join(library))
        .arg(format!("-Wl,-soname,{library}"))
        .args(more)
        .output()
        .unwrap();
    let words = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{file}:\n{words}");
}

/// Builds the driver, under the name without a number as well, which is looked for first.
pub fn build_driver(cxx: &str, into: &Path, more: &[&str]) {
    build(cxx, into, "driver.cpp", "libcuda.so.1", more);
    // As where there is a driver: one file with two names. Of a copy, a library that asks for the other name would have a
    // driver of its own.
    std::os::unix::fs::symlink("libcuda.so.1", into.join("libcuda.so")).unwrap();
}

/// The test `name` as a program of its own, with the stand-ins of a folder and nothing else of CUDA or OpenCL
/// that this machine may have.
pub fn program(name: &str, folder: &Path) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--include-ignored", "--exact", "--nocapture", name]);
    for name in ["CUDA_PATH", "CUDA_HOME", "CUDA_ROOT", "HOME", "VIRTUAL_ENV", "CONDA_PREFIX"] {
        command.env_remove(name);
    }
    command
        .env("FAKE_CUDA", "1")
        .env("PATH", "")
        .env("LD_LIBRARY_PATH", folder)
        .env("OCL_ICD_VENDORS", "/no/such/folder")
        .env_remove("THROUGHPUT_REQUIRE_OPENCL")
        .env_remove("THROUGHPUT_DEVICE");
    command
}

/// Runs [`program`] with these variables.
#[track_caller]
pub fn run(name: &str, folder: &Path, variables: &[(&str, &str)]) {
    passed(&program(name, folder).envs(variables.iter().copied()).output().unwrap());
}

/// Holds what a [`program`] left to one test that passed.
#[track_caller]
pub fn passed(output: &Output) {
    let (out, words) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success() && out.contains("1 passed"), "{out}\n{words}");
}

/// Whether this is such a program.
pub fn inside() -> bool {
    std::env::var_os("FAKE_CUDA").is_some()
}

/// What a stand-in counts; the same file that the course has loaded.
pub fn count(library: &str, name: &str) -> i64 {
    let folder = std::env::var("LD_LIBRARY_PATH").unwrap();
    let path = PathBuf::from(folder).join(library);
    // SAFETY: our own library, whose functions of this form take nothing and return a number.
    unsafe {
        let library = libloading::Library::new(path).unwrap();
        let function = library.get::<unsafe extern "C" fn() -> i64>(name.as_bytes()).unwrap();
        function()
    }
}
