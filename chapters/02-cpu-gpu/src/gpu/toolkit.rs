//! NVIDIA's libraries, loaded from wherever [`lab::toolkit`] finds them in a version that fits the driver, and the
//! headers that belong to them.

use crate::{Error, Result};
use lab::{
    doctor::{self, driver_version},
    files::inside,
    toolkit::{candidates, roots},
};
use libloading::Library;
use std::{
    fs,
    path::{Path, PathBuf},
};

/// The functions that the course calls of a library, each declared once: a table of fields with the symbol and its type by
/// the library's manual. `of` names the library, and the string behind it the versions that have all of them.
#[macro_export]
macro_rules! library {
    ($(#[$meta:meta])* $vis:vis struct $Functions:ident of $name:literal, $versions:literal {
        $($(#[$doc:meta])* $field:ident = $symbol:literal($($arg:ty),*) -> $ret:ty;)*
    }) => {
        $(#[$meta])*
        $vis struct $Functions {
            $($(#[$doc])* $field: unsafe extern "C" fn($($arg),*) -> $ret,)*
            /// They live as long as it.
            _library: ::libloading::Library,
        }

        impl $Functions {
            /// Or a message that names the first one that the library lacks.
            fn of(library: ::libloading::Library) -> ::std::result::Result<Self, String> {
                Ok(Self {
                    $($field: {
                        let symbol = $symbol;
                        // SAFETY: the field has the function's type by the library's manual.
                        let found = unsafe { library.get(symbol.as_bytes()) };
                        *found.map_err(|_| {
                            concat!("this ", $name, " has no ", $symbol, "; the course needs ", $versions)
                        })?
                    },)*
                    _library: library,
                })
            }
        }
    };
}

/// A library of NVIDIA's toolkit: how it is looked for, and what is said where there is none.
pub struct Part {
    /// `nvrtc` of `libnvrtc.so.13`.
    pub file: &'static str,
    /// What asks a file that has been loaded for its version.
    pub asks: doctor::Library,
    /// Its name in a sentence, and what it is for.
    pub called: &'static str,
    /// Where there is none: that, and the way out.
    pub missing: &'static str,
    /// What would do for a driver of this major version of CUDA.
    pub other: fn(u32) -> String,
}

/// A library that has been loaded.
pub struct Found {
    /// It.
    pub library: Library,
    /// Its version, as it says itself.
    pub version: Option<String>,
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

impl Part {
    /// Loads the newest version that the driver understands; any on a machine without a driver.
    ///
    /// # Errors
    /// What is wrong with the files that were found.
    pub fn load(&self) -> Result<Found> {
        let driver = driver_version().map(|version| version / 1000);
        self.newest(driver).map_err(|absent| Error::Message(self.why(&absent, driver)))
    }

    /// The newest that a driver of this major version of CUDA can use.
    ///
    /// # Errors
    /// Why there is none.
    pub fn newest(&self, driver: Option<u32>) -> Result<Found, Absent> {
        let roots = roots();
        let mut absent = Absent::Missing;
        for (path, major) in candidates(self.file, &roots) {
            // A file that is too new by its name is loaded only to see whether it is one at all.
            // SAFETY: NVIDIA's libraries do nothing harmful when they are loaded.
            let Ok(library) = (unsafe { Library::new(&path) }) else { continue };
            let version = self.asks.version(&library);
            let said = version.as_ref().and_then(|version| version.split('.').next()?.parse().ok());
            let major = said.or(major);
            if let Some(major) = major.filter(|major| driver.is_some_and(|most| *major > most)) {
                absent = Absent::TooNew(major);
                continue;
            }
            let root = roots.iter().find(|root| path.starts_with(root)).cloned();
            let beside = root.as_ref().and(path.parent()).map(inside).unwrap_or_default();
            return Ok(Found { library, version, major, root, beside });
        }
        Err(absent)
    }

    /// Why there is none for a driver of this major version.
    pub fn why(&self, absent: &Absent, driver: Option<u32>) -> String {
        let (Absent::TooNew(version), Some(driver)) = (absent, driver) else {
            return self.missing.to_owned();
        };
        format!(
            "{} is here only for CUDA {version}, and the NVIDIA driver speaks CUDA {driver}; install a newer driver \
             (https://www.nvidia.com/drivers), or {}",
            self.called,
            (self.other)(driver)
        )
    }
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
pub fn version_of_headers(folder: &Path) -> Option<u32> {
    let text = fs::read_to_string(folder.join("cuda.h")).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("#define CUDA_VERSION "))?;
    Some(line.trim().parse::<u32>().ok()? / 1000)
}
