//! Where the parts of a CUDA toolkit lie on this machine: NVIDIA's libraries, and the headers that belong to them.
//!
//! A library's file has another name for each version of CUDA, and it comes by the toolkit's installer, by Conda or in
//! Python packages, of which programs such as PyTorch bring some. So the folders of all of these are looked into.

use libloading::Library;
use std::{
    env,
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
};

/// The newest major version of CUDA that is asked for by name; others are found in the folders of [`roots`].
const NEWEST: u32 = 15;
/// The oldest major version that the course works with.
const OLDEST: u32 = 12;

/// The folders in which toolkits, or parts of one, may lie, the likeliest first. Each has the folders `include`, `lib`
/// or `lib64` below it.
pub fn roots() -> Vec<PathBuf> {
    roots_by(&|name| env::var_os(name).filter(|value| !value.is_empty()))
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
        for version in sorted(&python.join("lib")) {
            let named = |start: &str| {
                version.file_name().is_some_and(|n| n.to_string_lossy().starts_with(start))
            };
            if named("python3") {
                for packages in ["site-packages", "dist-packages"] {
                    all.extend(sorted(&version.join(packages).join("nvidia")));
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

/// The other parts of a toolkit that Python's packages bring in a folder each: `nvidia/cuda_nvrtc`,
/// `nvidia/cuda_runtime` and so on.
fn parts_beside(root: &Path) -> Vec<PathBuf> {
    match root.parent() {
        Some(nvidia) if nvidia.file_name().is_some_and(|name| name == "nvidia") => sorted(nvidia),
        _ => Vec::new(),
    }
}

/// What lies in a folder, in the order of names; nothing if there is no such folder.
fn sorted(folder: &Path) -> Vec<PathBuf> {
    let mut inside: Vec<PathBuf> =
        fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    inside.sort();
    inside
}

/// The files that may be this library (`nvrtc`, `cublas`), each with the major version that its name tells: names for
/// the system to look up first, then files in these folders.
fn candidates(name: &str, roots: &[PathBuf]) -> Vec<(PathBuf, Option<u32>)> {
    let mut all: Vec<(PathBuf, Option<u32>)> = Vec::new();
    for major in (OLDEST..=NEWEST).rev() {
        let file = match (cfg!(windows), name) {
            (true, "nvrtc") => format!("nvrtc64_{major}0_0.dll"),
            (true, _) => format!("{name}64_{major}.dll"),
            (false, _) => format!("lib{name}.so.{major}"),
        };
        all.push((file.into(), Some(major)));
    }
    let start = if cfg!(windows) { format!("{name}64_") } else { format!("lib{name}.so") };
    let folders = ["lib64", "lib", "targets/x86_64-linux/lib", "targets/sbsa-linux/lib", "bin"];
    for folder in roots.iter().flat_map(|root| folders.map(|folder| root.join(folder))) {
        for path in sorted(&folder) {
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

/// A library that has been loaded.
pub struct Found {
    /// It.
    pub library: Library,
    /// Its major version of CUDA, as far as it tells.
    pub major: Option<u32>,
    /// The toolkit's folder, if it was found in one.
    pub root: Option<PathBuf>,
    /// The other files in the library's own folder, if it was found in one of a toolkit.
    pub beside: Vec<PathBuf>,
}

/// Why a library can't be used.
#[derive(Debug, PartialEq, Eq)]
pub enum Absent {
    /// No file of it loads.
    Missing,
    /// It is there, but of this major version, which is too new for the driver.
    TooNew(u32),
}

/// Loads `lib{name}` of the newest version that the driver understands: `newest` is the driver's major version of CUDA,
/// `None` on a machine without a driver. `version` asks a loaded library for its own.
///
/// # Errors
/// What is wrong with the files that were found.
pub fn load(
    name: &str,
    newest: Option<u32>,
    version: fn(&Library) -> Option<u32>,
) -> Result<Found, Absent> {
    let roots = roots();
    let mut absent = Absent::Missing;
    for (path, major) in candidates(name, &roots) {
        let too_new = |major: Option<u32>| major.filter(|major| newest.is_some_and(|n| *major > n));
        // A file that is too new by its name is loaded only to see whether it is one at all.
        // SAFETY: NVIDIA's libraries do nothing harmful when they are loaded.
        let Ok(library) = (unsafe { Library::new(&path) }) else { continue };
        let major = version(&library).or(major);
        if let Some(major) = too_new(major) {
            absent = Absent::TooNew(major);
            continue;
        }
        let root = roots.iter().find(|root| path.starts_with(root)).cloned();
        let beside = root.as_ref().and(path.parent()).map(sorted).unwrap_or_default();
        return Ok(Found { library, major, root, beside });
    }
    Err(absent)
}

/// The folders with headers for NVRTC of this version: those of the toolkit that it was found in first, and none that
/// belongs to another version.
pub fn includes(root: Option<&Path>, major: Option<u32>) -> Vec<PathBuf> {
    let mut roots = roots();
    if let Some(first) = root {
        roots.retain(|other| other != first);
        roots.insert(0, first.to_owned());
    }
    let mut all = Vec::new();
    for root in roots {
        for folder in ["include", "targets/x86_64-linux/include", "targets/sbsa-linux/include"] {
            let folder = root.join(folder);
            let of_other =
                version_of_headers(&folder).is_some_and(|v| major.is_some_and(|m| m != v));
            if folder.is_dir() && !of_other {
                let cccl = folder.join("cccl"); // since CUDA 13, `nv/target` lies there
                all.push(folder);
                all.extend(Some(cccl).filter(|cccl| cccl.is_dir()));
            }
        }
    }
    all
}

/// The major version of the headers in a folder: `#define CUDA_VERSION 13000` in `cuda.h`.
fn version_of_headers(folder: &Path) -> Option<u32> {
    let text = fs::read_to_string(folder.join("cuda.h")).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("#define CUDA_VERSION "))?;
    Some(line.trim().parse::<u32>().ok()? / 1000)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn touch(path: &Path) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "").unwrap();
    }

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
    fn a_toolkit_is_found_by_variable_by_compiler_and_by_library_path() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name).display().to_string();
        touch(&folder.path().join("b/bin/nvcc"));
        for root in ["a", "c/lib"] {
            fs::create_dir_all(folder.path().join(root)).unwrap();
        }
        let variables = [
            ("CUDA_PATH", at("a")),
            ("CUDA_HOME", at("a")),
            ("CUDA_ROOT", at("not there")),
            ("PATH", format!("{}:{}", at("none"), at("b/bin"))),
            ("LD_LIBRARY_PATH", at("c/lib")),
        ];
        assert_eq!(below(folder.path(), &variables), ["a", "c", "b"]);
    }

    #[test]
    fn parts_in_python_packages_are_found_of_either_layout() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name).display().to_string();
        touch(&folder.path().join("v/bin/python3"));
        for part in ["cu13/lib", "cublas/lib"] {
            let packages = "v/lib/python3.12/site-packages/nvidia";
            fs::create_dir_all(folder.path().join(packages).join(part)).unwrap();
        }
        fs::create_dir_all(folder.path().join("h/.local/lib/python3.9/site-packages/nvidia/x"))
            .unwrap();
        let wanted =
            ["cu13", "cublas"].map(|p| format!("v/lib/python3.12/site-packages/nvidia/{p}"));
        assert_eq!(below(folder.path(), &[("PATH", at("v/bin"))]), wanted);
        assert_eq!(below(folder.path(), &[("VIRTUAL_ENV", at("v"))]), wanted);
        let by_home = below(folder.path(), &[("HOME", at("h"))]);
        assert_eq!(by_home, ["h/.local/lib/python3.9/site-packages/nvidia/x"]);
        // One part on LD_LIBRARY_PATH leads to those beside it.
        let part = at("v/lib/python3.12/site-packages/nvidia/cublas/lib");
        let mut beside = below(folder.path(), &[("LD_LIBRARY_PATH", part)]);
        beside.sort();
        assert_eq!(beside, wanted);
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn every_version_is_looked_for_and_the_name_tells_which() {
        let folder = tempfile::tempdir().unwrap();
        for file in ["libcublas.so.13", "libcublasLt.so.13", "libcublas.so", "libcublas.so.12.9.1"]
        {
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

    #[test]
    #[cfg(target_os = "linux")]
    fn a_file_that_is_no_library_counts_as_missing() {
        assert_eq!(load("no-such-library", None, |_| None).err(), Some(Absent::Missing));
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
}
