//! Libraries that programs load while they run: whether they load, and which version they say they are.

use crate::toolkit;
use libloading::Symbol;
use opencl3::{
    device::{CL_DEVICE_TYPE_ALL, CL_DEVICE_TYPE_CPU, CL_DEVICE_TYPE_GPU, Device},
    platform::get_platforms,
};
use std::{
    ffi::{c_int, c_uint},
    mem::ManuallyDrop,
    path::PathBuf,
    sync::OnceLock,
};

crate::named! {
    /// A library of NVIDIA's, by the name of its row, in the order of the doctor's rows.
    pub enum Library("library") {
        /// Its compiler.
        Nvrtc = "NVRTC",
        /// Its matrix product.
        Cublas = "cuBLAS",
        /// What its GPUs talk to each other with.
        Nccl = "NCCL",
        /// Its layers.
        Cudnn = "cuDNN",
        /// The driver's own library, which also says whether a GPU answers.
        Driver = "CUDA starts",
    }
}

impl Library {
    /// What it says its version is, if it loads: of several versions the newest that goes with a driver of this version,
    /// which is a number like [`driver_version`]'s.
    pub fn find(self, driver: Option<u32>) -> Option<String> {
        let mut unfit = None;
        let files: Vec<PathBuf> = if self == Self::Driver {
            DRIVER.map(PathBuf::from).into()
        } else {
            let all = toolkit::candidates(&self.name().to_lowercase(), &toolkit::roots());
            all.into_iter().map(|(file, _)| file).collect()
        };
        for library in open(files) {
            // It stays: the driver, once started, has threads that run its code.
            let library = ManuallyDrop::new(library);
            let Some(version) = self.version(&library) else { continue };
            if self.fits(&version, driver) {
                return Some(version);
            }
            unfit.get_or_insert(version);
        }
        unfit
    }

    /// Whether a driver of this version works with a library of that version. Parts of a newer toolkit than the driver
    /// knows do not: they make code for which the driver is too old (CUDA compatibility guide).
    pub fn fits(self, version: &str, driver: Option<u32>) -> bool {
        let (Self::Nvrtc | Self::Cublas, Some(driver)) = (self, driver) else { return true };
        major(version).is_none_or(|major| major <= driver / 1000)
    }

    /// What a library that has been loaded says its version is.
    pub fn version(self, library: &libloading::Library) -> Option<String> {
        match self {
            Self::Nvrtc => {
                let mut version: [c_int; 2] = [0; 2];
                let [major, minor] = &mut version;
                // SAFETY: nvrtcResult nvrtcVersion(int *major, int *minor), by NVRTC's manual.
                let status = unsafe {
                    let call: Symbol<unsafe extern "C" fn(*mut c_int, *mut c_int) -> c_int> =
                        library.get(b"nvrtcVersion\0").ok()?;
                    call(major, minor)
                };
                (status == 0).then(|| format!("{}.{}", version[0], version[1]))
            }
            Self::Cublas => {
                // libraryPropertyType: MAJOR_VERSION, MINOR_VERSION, PATCH_LEVEL.
                let mut version: [c_int; 3] = [0; 3];
                for (property, value) in version.iter_mut().enumerate() {
                    // SAFETY: cublasStatus_t cublasGetProperty(libraryPropertyType, int *), by cuBLAS's manual.
                    let status = unsafe {
                        let call: Symbol<unsafe extern "C" fn(c_int, *mut c_int) -> c_int> =
                            library.get(b"cublasGetProperty\0").ok()?;
                        call(property as c_int, value)
                    };
                    if status != 0 {
                        return None;
                    }
                }
                Some(version.map(|part| part.to_string()).join("."))
            }
            Self::Nccl => {
                Some(dotted(usize::try_from(number(library, b"ncclGetVersion\0")?).ok()?))
            }
            Self::Cudnn => {
                // SAFETY: size_t cudnnGetVersion(void), by cuDNN's manual.
                let version = unsafe {
                    let call: Symbol<unsafe extern "C" fn() -> usize> =
                        library.get(b"cudnnGetVersion\0").ok()?;
                    call()
                };
                Some(dotted(version))
            }
            Self::Driver => {
                // SAFETY: CUresult cuInit(unsigned int), by the driver's manual; zero is its only flag.
                let status = unsafe {
                    let call: Symbol<unsafe extern "C" fn(c_uint) -> c_int> =
                        library.get(b"cuInit\0").ok()?;
                    call(0)
                };
                let gpus = (status == 0).then(|| number(library, b"cuDeviceGetCount\0"))??;
                let version = number(library, b"cuDriverGetVersion\0")?.unsigned_abs();
                let noun = if gpus == 1 { "GPU answers" } else { "GPUs answer" };
                (gpus > 0).then(|| format!("{gpus} {noun}, up to CUDA {}", cuda(version)))
            }
        }
    }
}

/// The driver's own library: the system knows where it is.
const DRIVER: [&str; 3] = ["libcuda.so.1", "libcuda.so", "nvcuda.dll"];

/// All libraries with their versions, and the driver's.
pub fn found() -> (Vec<(Library, Option<String>)>, Option<u32>) {
    let driver = driver_version();
    (Library::ALL.map(|library| (library, library.find(driver))).into(), driver)
}

/// The version of CUDA that the driver speaks, as 1000·major + 10·minor; `None` without a driver.
pub fn driver_version() -> Option<u32> {
    let library = open(DRIVER.map(PathBuf::from)).next()?;
    u32::try_from(number(&library, b"cuDriverGetVersion\0")?).ok()
}

/// `580` of `580.65.06`.
pub fn major(version: &str) -> Option<u32> {
    version.split('.').next()?.parse().ok()
}

/// `12.4` of 12040.
pub fn cuda(version: u32) -> String {
    format!("{}.{}", version / 1000, version % 1000 / 10)
}

/// `9.1.0` of 90100, and `8.9.7` of 8907: since cuDNN 9 and NCCL 2.9 the major number stands before four digits
/// (`cudnn_version.h`, `nccl.h`).
fn dotted(version: usize) -> String {
    let major = if version < 10_000 { 1000 } else { 10_000 };
    format!("{}.{}.{}", version / major, version % major / 100, version % 100)
}

/// Calls `int name(int *)`, the form that NVIDIA's libraries and Vulkan's loader share, and returns the number if all went well.
fn number(library: &libloading::Library, name: &[u8]) -> Option<c_int> {
    let mut value: c_int = 0;
    // SAFETY: the callers name functions of this very form: ncclGetVersion, cuDeviceGetCount, cuDriverGetVersion and
    // vkEnumerateInstanceVersion (whose number has no sign), by their manuals.
    let status = unsafe {
        let call: Symbol<unsafe extern "C" fn(*mut c_int) -> c_int> = library.get(name).ok()?;
        call(&raw mut value)
    };
    (status == 0).then_some(value)
}

/// Those of the files that load, one after the other; a name alone is the system's to look up.
fn open(files: impl IntoIterator<Item = PathBuf>) -> impl Iterator<Item = libloading::Library> {
    // SAFETY: the names are those of NVIDIA's and OpenCL's libraries, which a program may load.
    files.into_iter().filter_map(|path| unsafe { libloading::Library::new(path) }.ok())
}

/// The version of Vulkan's loader, which need not have found a driver.
pub fn vulkan() -> Option<String> {
    let names = ["libvulkan.so.1", "libvulkan.1.dylib", "vulkan-1.dll"];
    let library = open(names.map(PathBuf::from)).next()?;
    let version = number(&library, b"vkEnumerateInstanceVersion\0")?;
    Some(format!("{}.{}", version >> 22 & 0x7f, version >> 12 & 0x3ff))
}

/// The devices that `OpenCL` shows, by kind and name: `GPU: NVIDIA H200, CPU: pthread-AMD EPYC`; `None` without a loader
/// or a device.
///
/// A program asks once: `PoCL` 3.1 crashes if two threads start it at the same time, or if it is taken out of memory
/// while its threads run.
pub fn opencl_devices() -> Option<String> {
    static DEVICES: OnceLock<Option<String>> = OnceLock::new();
    DEVICES.get_or_init(ask_opencl).clone()
}

fn ask_opencl() -> Option<String> {
    let platforms = get_platforms().ok()?.into_iter();
    let devices = platforms.flat_map(|one| one.get_devices(CL_DEVICE_TYPE_ALL).unwrap_or_default());
    let name = |device| {
        let device = Device::new(device);
        let (kind, name) = (device.dev_type().ok()?, device.name().ok()?);
        Some(format!("{}: {}", kind_name(kind), name.trim()))
    };
    let names: Vec<String> = devices.filter_map(name).collect();
    (!names.is_empty()).then(|| names.join(", "))
}

/// What a device's type means.
fn kind_name(kind: u64) -> &'static str {
    match kind {
        kind if kind & CL_DEVICE_TYPE_GPU != 0 => "GPU",
        kind if kind & CL_DEVICE_TYPE_CPU != 0 => "CPU",
        _ => "accelerator",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_library_that_is_not_there_does_not_load() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("libfake.so");
        assert!(open([file.clone()]).next().is_none());
        // Neither does a file that is none.
        std::fs::write(&file, "not a library").unwrap();
        assert!(open([file]).next().is_none());
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn one_name_that_loads_is_enough() {
        let names = ["libno-such-library.so", "libc.so.6", "libc.so"];
        let library = open(names.map(PathBuf::from)).next();
        if let Some(library) = library {
            // A function of another form is not called: it is not found.
            assert_eq!(number(&library, b"no_such_function\0"), None);
        }
    }

    #[test]
    fn a_library_of_a_newer_toolkit_does_not_fit_the_driver() {
        for library in [Library::Nvrtc, Library::Cublas] {
            assert!(library.fits("12.9", Some(12_040)));
            assert!(library.fits("12.9", Some(13_000)));
            assert!(!library.fits("13.0", Some(12_090)));
            assert!(library.fits("13.0", None), "without a driver nothing is held against it");
        }
        assert!(Library::Nccl.fits("2.28.9", Some(1000)));
        assert!(Library::Cudnn.fits("9.1.0", Some(1000)));
        assert_eq!(cuda(12_040), "12.4");
        assert_eq!([8907, 90_100].map(dotted), ["8.9.7", "9.1.0"]);
        assert_eq!([2804, 22_809].map(dotted), ["2.8.4", "2.28.9"]);
    }

    #[test]
    fn an_opencl_device_is_a_cpu_or_a_gpu() {
        assert_eq!([2, 4, 5, 8].map(kind_name), ["CPU", "GPU", "GPU", "accelerator"]);
        if let Some(names) = opencl_devices() {
            assert!(names.contains("CPU: ") || names.contains("GPU: "), "{names}");
        }
    }
}
