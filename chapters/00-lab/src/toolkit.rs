//! Where a CUDA toolkit, or parts of one, may lie on this machine.
//!
//! It comes by NVIDIA's installer, by Conda or in Python packages, of which programs such as PyTorch bring some. So the
//! folders of all of these are looked into, without starting any of these programs.

use crate::{files::inside, names::variable};
use std::{
    env,
    ffi::OsString,
    path::{Path, PathBuf},
};

/// Folders below a toolkit's own that hold its libraries.
const LIBRARIES: [&str; 5] =
    ["lib64", "lib", "targets/x86_64-linux/lib", "targets/sbsa-linux/lib", "bin"];

/// The folders in which toolkits, or parts of one, may lie, the likeliest first. Each has the folders `include`, `lib`
/// or `lib64` below it.
pub fn roots() -> Vec<PathBuf> {
    roots_by(&variable)
}

/// [`roots`] for these environment variables.
fn roots_by(variable: &dyn Fn(&str) -> Option<OsString>) -> Vec<PathBuf> {
    let named = |name: &str| variable(name).map(PathBuf::from);
    let paths =
        |name: &str| -> Vec<PathBuf> { variable(name).iter().flat_map(env::split_paths).collect() };
    let mut all: Vec<PathBuf> =
        ["CUDA_PATH", "CUDA_HOME", "CUDA_ROOT"].into_iter().filter_map(named).collect();
    // …/nvidia/cu13/lib of Python's packages, or …/targets/x86_64-linux/lib of a toolkit.
    for folder in paths("LD_LIBRARY_PATH") {
        if let Some(root) = folder.parent() {
            all.push(root.to_owned());
            all.extend(parts_beside(root));
        }
    }
    let path = paths("PATH");
    let nvcc = format!("nvcc{}", env::consts::EXE_SUFFIX);
    let with_nvcc = path.iter().filter(|folder| folder.join(&nvcc).is_file());
    all.extend(with_nvcc.filter_map(|folder| folder.parent()).map(Path::to_owned));
    all.extend(["/usr/local/cuda", "/opt/cuda"].map(PathBuf::from));

    // Python's packages: of this environment, of each Python on the path, of the user.
    let mut pythons: Vec<PathBuf> =
        ["CONDA_PREFIX", "VIRTUAL_ENV"].into_iter().filter_map(named).collect();
    all.extend(pythons.first().filter(|_| variable("CONDA_PREFIX").is_some()).cloned());
    let with_python = path.iter().filter(|folder| folder.join("python3").exists());
    pythons.extend(with_python.filter_map(|folder| folder.parent()).map(Path::to_owned));
    pythons.extend(named("HOME").map(|home| home.join(".local")));
    for python in pythons {
        for version in inside(&python.join("lib")) {
            let named = |start: &str| {
                version.file_name().is_some_and(|n| n.to_string_lossy().starts_with(start))
            };
            if named("python3") {
                for packages in ["site-packages", "dist-packages"] {
                    all.extend(inside(&version.join(packages).join("nvidia")));
                }
            }
        }
    }
    let mut roots: Vec<PathBuf> = Vec::new();
    for root in all.into_iter().filter(|root| root.is_dir()) {
        if !roots.contains(&root) {
            roots.push(root);
        }
    }
    roots
}

/// The files that may be this library of NVIDIA's (`nvrtc`, `cublas`), each with the major version that its name tells: names
/// for the system to look up first, the newest before others, then files in these folders.
pub fn candidates(name: &str, roots: &[PathBuf]) -> Vec<(PathBuf, Option<u32>)> {
    let mut all: Vec<(PathBuf, Option<u32>)> = Vec::new();
    let majors = match name {
        "nccl" => 2..=2,
        "cudnn" => 8..=9,
        _ => 12..=15, // of CUDA, and the oldest is what the course works with
    };
    for major in majors.rev() {
        let file = match (cfg!(windows), name) {
            (true, "nvrtc") => format!("nvrtc64_{major}0_0.dll"),
            (true, _) => format!("{name}64_{major}.dll"),
            (false, _) => format!("lib{name}.so.{major}"),
        };
        all.push((file.into(), Some(major)));
    }
    let start = if cfg!(windows) { format!("{name}64_") } else { format!("lib{name}.so") };
    for folder in roots.iter().flat_map(|root| LIBRARIES.map(|folder| root.join(folder))) {
        for path in inside(&folder) {
            let file = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            if let Some(rest) = file.strip_prefix(&start) {
                let digits: String = rest
                    .chars()
                    .skip_while(|c| *c == '.')
                    .take_while(char::is_ascii_digit)
                    .collect();
                let major = if cfg!(windows) { None } else { digits.parse().ok() };
                all.push((path, major));
            }
        }
    }
    if !cfg!(windows) {
        all.push((format!("lib{name}.so").into(), None));
    }
    all
}

/// Where `tools/cuda/toolkit.sh --tile` has put CUDA 13.5, the compiler of kernels over tiles, unless the environment names
/// another place.
pub fn of_tiles() -> Option<PathBuf> {
    let cache = variable("HOME").map(|home| Path::new(&home).join(".cache/throughput/cuda"));
    let of_tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/cuda");
    let installed = cache.into_iter().chain([of_tests]).map(|at| at.join("13.5/nvidia/cu13"));
    let named = variable("CUDA_TOOLKIT_PATH").map(PathBuf::from);
    named.into_iter().chain(installed).find(|root| root.join("bin/tileiras").is_file())
}

/// The other parts of a toolkit that Python's packages bring in a folder each: `nvidia/cuda_nvrtc`,
/// `nvidia/cuda_runtime` and so on.
fn parts_beside(root: &Path) -> Vec<PathBuf> {
    match root.parent() {
        Some(nvidia) if nvidia.file_name().is_some_and(|name| name == "nvidia") => inside(nvidia),
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::put;

    /// The roots below `folder` for these variables, relative to it.
    fn below(folder: &Path, variables: &[(&str, String)]) -> Vec<String> {
        let get = |name: &str| {
            let (_, value) = variables.iter().find(|(other, _)| *other == name)?;
            Some(value.into())
        };
        let roots = roots_by(&get);
        let inside = roots.iter().filter_map(|root| root.strip_prefix(folder).ok());
        inside.map(|root| root.display().to_string()).collect()
    }

    #[test]
    fn a_toolkit_is_found_by_variable_by_compiler_by_library_path_and_in_python_packages() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name).display().to_string();
        let packages = "v/lib/python3.12/site-packages/nvidia";
        for file in ["b/bin/nvcc", "v/bin/python3", "a/x", "c/lib/x"] {
            put(folder.path(), file, "");
        }
        for file in ["cu13/lib/x", "cublas/lib/x"] {
            put(&folder.path().join(packages), file, "");
        }
        put(folder.path(), "h/.local/lib/python3.9/site-packages/nvidia/x/y", "");
        let [cu13, cublas] = ["cu13", "cublas"].map(|part| format!("{packages}/{part}"));
        let home = "h/.local/lib/python3.9/site-packages/nvidia/x".to_owned();
        let named = [("CUDA_PATH", at("a")), ("CUDA_HOME", at("a")), ("CUDA_ROOT", at("none"))];
        let path = [("PATH", format!("{}:{}", at("none"), at("b/bin")))];
        for (variables, wanted) in [
            (&named[..], &["a".to_owned()][..]),
            (&path, &["b".to_owned()]),
            (&[("LD_LIBRARY_PATH", at("c/lib"))], &["c".to_owned()]),
            (&[("PATH", at("v/bin"))], &[cu13.clone(), cublas.clone()]),
            (&[("VIRTUAL_ENV", at("v"))], &[cu13.clone(), cublas.clone()]),
            (&[("HOME", at("h"))], &[home]),
            // One part leads to those next to it.
            (&[("LD_LIBRARY_PATH", at(&format!("{cublas}/lib")))], &[cublas.clone(), cu13.clone()]),
        ] {
            assert_eq!(below(folder.path(), variables), wanted, "{variables:?}");
        }
        let all = [&named[..], &path, &[("LD_LIBRARY_PATH", at("c/lib"))]].concat();
        assert_eq!(below(folder.path(), &all), ["a", "c", "b"], "the likeliest first");
        assert!(inside(&folder.path().join("none")).is_empty());
        assert!(roots().iter().all(|root| root.is_dir()));
    }
}
