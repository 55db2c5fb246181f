//! NVIDIA's libraries, loaded from wherever [`lab::toolkit`] finds them in a version that fits the driver, and the
//! headers that belong to them.

use cudarc::driver::sys::{self, CUresult};
use lab::toolkit::{LIBRARIES, roots, sorted};
use libloading::Library;
use std::{
    fs,
    path::{Path, PathBuf},
};

/// The newest major version of CUDA that is asked for by name; others are found in the folders of [`roots`].
const NEWEST: u32 = 15;
/// The oldest major version that the course works with.
const OLDEST: u32 = 12;

/// The version of CUDA that the driver speaks, as 1000·major + 10·minor; `None` without a driver.
pub(super) fn driver_version() -> Option<u32> {
    // SAFETY: it only looks whether the library can be loaded.
    if !unsafe { sys::is_culib_present() } {
        return None;
    }
    let mut version = 0;
    // SAFETY: the driver writes one number; this call may come before all others.
    let code = unsafe { sys::cuDriverGetVersion(&raw mut version) };
    (code == CUresult::CUDA_SUCCESS).then(|| u32::try_from(version).ok())?
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
    for folder in roots.iter().flat_map(|root| LIBRARIES.map(|folder| root.join(folder))) {
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
