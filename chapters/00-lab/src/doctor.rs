//! What this machine has, what is missing, how to get it.
//!
//! The rows are the steps from a bare machine to a GPU that trains, in their order: the machine itself, the
//! card, its driver, the CUDA toolkit, the framework, the environment variables, the check. The course itself
//! needs no GPU: what is missing there costs some experiments and no chapter.

mod libraries;
mod text;

use crate::{
    Unit,
    data::{self, Options, Places, files},
    machine::{self, Machine, NvidiaGpu},
    probe::{Beside, ask},
};
use libraries::Library;
use serde::Serialize;
use std::{
    env, fs,
    path::{Path, PathBuf},
    thread,
};

pub use libraries::opencl_devices;
pub use text::table;

/// One requirement.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Row {
    /// The step that it belongs to, from a bare machine to a GPU that trains: `2. the driver`.
    pub step: String,
    /// What is looked for.
    pub name: String,
    /// Whether it is there.
    pub found: bool,
    /// Its version, or what else is to be said about what was found.
    pub version: Option<String>,
    /// What the course uses it for.
    pub what_for: String,
    /// How to get it on this system.
    pub how_to_get: String,
    /// Whether the course can't run without it.
    pub required: bool,
}

const MACHINE: &str = "0. the machine";
const CARD: &str = "1. the card";
const DRIVER: &str = "2. the driver";
const TOOLKIT: &str = "3. the CUDA toolkit";
const FRAMEWORK: &str = "4. the framework";
const VARIABLES: &str = "5. environment variables";
const CHECK: &str = "6. the check";
const MORE: &str = "besides";

/// Looks for everything. `data` is the folder that the reader named (`--data`). Takes less than two seconds:
/// a program that does not answer counts as missing.
pub fn examine(data: Option<&Path>) -> Vec<Row> {
    let system = System::detect();
    // Those that ask a program or read files go first and wait next to each other. One that panicked has a bug and no
    // rows; the others still have theirs.
    thread::scope(|scope| {
        let found = Beside::start(scope, || Found {
            toolkit: machine::cuda_toolkit(),
            gpus: machine::nvidia_gpus(),
        });
        let set = Beside::start(scope, || data_set(data));
        let programs = Beside::start(scope, || programs(system));
        let disk = Beside::start(scope, || disk(data));
        let opencl = Beside::start(scope, || opencl(system));
        let libraries = Beside::start(scope, || {
            let driver = libraries::driver_version();
            (Library::ALL.map(|library| (library, library.find(driver))), driver)
        });
        let mut rows = of_machine();
        for check in [disk, set] {
            rows.extend(check.join().unwrap_or_default());
        }
        if let Some(found) = found.join() {
            rows.extend(gpu_rows(system, &found, &Card::all(), kernel_module().as_deref()));
            if let Some((libraries, driver)) = libraries.join() {
                rows.extend(library_rows(system, &libraries, driver));
            }
            rows.extend(last_steps(system, &found));
        }
        for check in [opencl, programs] {
            rows.extend(check.join().unwrap_or_default());
        }
        // In the order of the steps; within one, as they were put here.
        rows.sort_by(|a, b| a.step.cmp(&b.step));
        rows
    })
}

/// The systems whose packages differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum System {
    Debian,
    Fedora,
    OtherLinux,
    Mac,
    Windows,
}

impl System {
    fn detect() -> Self {
        match env::consts::OS {
            "macos" => Self::Mac,
            "windows" => Self::Windows,
            _ => Self::of_release(&fs::read_to_string("/etc/os-release").unwrap_or_default()),
        }
    }

    /// By the lines `ID=` and `ID_LIKE=` of `/etc/os-release`.
    fn of_release(text: &str) -> Self {
        let ids: Vec<&str> = text
            .lines()
            .filter_map(|line| line.strip_prefix("ID=").or_else(|| line.strip_prefix("ID_LIKE=")))
            .flat_map(|ids| ids.trim_matches(['"', '\'']).split(' '))
            .collect();
        let is = |names: &[&str]| ids.iter().any(|id| names.contains(id));
        if is(&["debian", "ubuntu"]) {
            Self::Debian
        } else if is(&["fedora", "rhel", "centos"]) {
            Self::Fedora
        } else {
            Self::OtherLinux
        }
    }

    /// How to get something: by apt, by dnf, on a Mac, on Windows.
    fn how(self, apt: &str, dnf: &str, mac: &str, windows: &str) -> String {
        match self {
            Self::Debian => apt.to_owned(),
            Self::Fedora => dnf.to_owned(),
            Self::OtherLinux => format!("{apt} (on Debian; your system's names may differ)"),
            Self::Mac => mac.to_owned(),
            Self::Windows => windows.to_owned(),
        }
    }
}

const NVRTC_DEBIAN: &str = "it comes with the toolkit (libnvrtc), or alone: pip install nvidia-cuda-nvrtc \
                            nvidia-cuda-runtime nvidia-cuda-cccl, for the python3 on your PATH";
const NVRTC_FEDORA: &str = "it comes with the toolkit (cuda-nvrtc), or alone: pip install nvidia-cuda-nvrtc \
                            nvidia-cuda-runtime nvidia-cuda-cccl, for the python3 on your PATH";
const CUBLAS_HOW: &str = "it comes with the toolkit (libcublas), or alone: pip install nvidia-cublas, for the python3 \
                          on your PATH";

const NOT_ON_MAC: &str = "Macs have no CUDA: rent a machine with an NVIDIA GPU for these parts";

fn row(
    step: &str,
    name: &str,
    version: Option<String>,
    what_for: &str,
    how: impl Into<String>,
) -> Row {
    Row {
        step: step.to_owned(),
        name: name.to_owned(),
        found: version.is_some(),
        version,
        what_for: what_for.to_owned(),
        how_to_get: how.into(),
        required: false,
    }
}

fn of_machine() -> Vec<Row> {
    let machine = Machine { memory: machine::caches_and_memory().1, ..Machine::of_cpu() };
    let has = |name: &str| machine.features.iter().any(|feature| feature == name);
    let vectors: Vec<&str> =
        [("avx512f", "AVX-512"), ("avx2", "AVX2"), ("fma", "FMA"), ("neon", "NEON")]
            .into_iter()
            .filter_map(|(feature, name)| has(feature).then_some(name))
            .collect();
    let wide = (has("avx2") && has("fma")) || has("neon");
    let cores =
        if machine.cores == 1 { "1 core".to_owned() } else { format!("{} cores", machine.cores) };
    let cpu = Row {
        required: true,
        ..row(MACHINE, "CPU", Some(format!("{}, {cores}", machine.cpu)), "everything", "")
    };
    let vectors = row(
        MACHINE,
        "vector units",
        wide.then(|| vectors.join(", ")),
        "fast products in chapter 1; without them the portable path runs",
        "a CPU with AVX2 and FMA (Intel since 2013, AMD since 2015) or a 64-bit Arm",
    );
    let pairs = row(
        MACHINE,
        "bf16 vectors",
        has("avx512bf16").then(|| "AVX512-BF16".to_owned()),
        "products in bf16 in chapters 1 and 6, where there is no matrix unit",
        "an AMD CPU since Zen 4 (2022) or an Intel Xeon since Sapphire Rapids (2023)",
    );
    let matrix = row(
        MACHINE,
        "matrix unit",
        has("amx-bf16").then(|| "AMX, bf16".to_owned()),
        "the last rung of chapter 1 and bf16 in chapter 6",
        "an Intel Xeon since Sapphire Rapids (2023), with Linux 5.16 or later; cloud machines have them",
    );
    vec![cpu, vectors, pairs, matrix, memory_row(machine.memory)]
}

fn memory_row(bytes: u64) -> Row {
    // A system that does not tell is not refused.
    let enough = bytes == 0 || bytes >= 1 << 30;
    let version = match bytes {
        0 => "size unknown".to_owned(),
        _ => Unit::Bytes.format(bytes as f64),
    };
    Row {
        found: enough,
        required: true,
        ..row(
            MACHINE,
            "memory",
            Some(version),
            "building takes 2 GiB, training MNIST less than 1 GiB",
            "at least 1 GiB; with less than 4 GiB build with `cargo build -j 1`",
        )
    }
}

fn disk(data: Option<&Path>) -> Vec<Row> {
    let folder = data.map_or_else(|| PathBuf::from("."), Path::to_owned);
    let free = ask("df", &["-Pk", &folder.to_string_lossy()]).and_then(|text| free_bytes(&text));
    vec![Row {
        found: free.is_none_or(|bytes| bytes >= 1 << 30),
        required: true,
        ..row(
            MACHINE,
            "disk",
            Some(free.map_or_else(
                || "free space unknown".to_owned(),
                |bytes| format!("{} free", Unit::Bytes.format(bytes as f64)),
            )),
            "the build takes 3 GiB, the data 60 MiB, the notebooks' kernel 2 GiB",
            "free some space, or set CARGO_TARGET_DIR to a folder on another disk",
        )
    }]
}

/// The fourth column of the second line of `df -Pk`: kibibytes that are free.
fn free_bytes(text: &str) -> Option<u64> {
    let line = text.lines().nth(1)?;
    // The first column may hold spaces; the last is the mount point.
    let fields: Vec<&str> = line.split_whitespace().collect();
    let percent = fields.iter().position(|field| field.ends_with('%'))?;
    fields.get(percent.checked_sub(1)?)?.parse::<u64>().ok()?.checked_mul(1024)
}

fn data_set(folder: Option<&Path>) -> Vec<Row> {
    let places = Places::of(&Options { folder: folder.map(Path::to_owned), download: false });
    let looked = places.named.clone().or_else(|| places.cache.clone());
    let read = looked.as_ref().map(|folder| files::read(folder, places.published));
    let how = match (&read, &places.named) {
        (Some(Err(error)), Some(_)) => format!("{error}"),
        _ => "the first `train` downloads it; with no network digits are drawn instead; --data or MNIST_DIR \
              names a folder that has it"
            .to_owned(),
    };
    let source = read.and_then(Result::ok).map(|set: data::DataSet| set.source.to_string());
    vec![row(MACHINE, "data set", source, "training on handwritten digits (MNIST)", how)]
}

/// What the GPU's rows are made from.
struct Found {
    toolkit: Option<String>,
    gpus: Vec<NvidiaGpu>,
}

/// A graphics card on the PCI bus, seen without any driver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Card {
    Nvidia,
    Amd,
    Intel,
}

impl Card {
    fn all() -> Vec<Self> {
        let Ok(devices) = fs::read_dir("/sys/bus/pci/devices") else {
            return Vec::new();
        };
        devices
            .flatten()
            .filter_map(|device| {
                let read = |name: &str| fs::read_to_string(device.path().join(name)).ok();
                Self::of(read("class")?.trim(), read("vendor")?.trim())
            })
            .collect()
    }

    /// Class 03 is a display controller (PCI Code and ID Assignment Specification).
    fn of(class: &str, vendor: &str) -> Option<Self> {
        if !class.starts_with("0x03") {
            return None;
        }
        match vendor {
            "0x10de" => Some(Self::Nvidia),
            "0x1002" => Some(Self::Amd),
            "0x8086" => Some(Self::Intel),
            _ => None,
        }
    }
}

/// The version of NVIDIA's kernel module, if it is loaded.
fn kernel_module() -> Option<String> {
    module_version(&fs::read_to_string("/proc/driver/nvidia/version").ok()?)
}

/// `580.65.06` out of `NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.65.06  …`.
fn module_version(text: &str) -> Option<String> {
    let is_version =
        |word: &&str| word.contains('.') && word.split('.').all(|part| part.parse::<u32>().is_ok());
    text.lines().next()?.split_whitespace().find(is_version).map(str::to_owned)
}

/// The oldest driver for a toolkit (NVIDIA, CUDA Toolkit Release Notes, table "CUDA Toolkit and Minimum Required
/// Driver Version for CUDA Minor Version Compatibility").
fn oldest_driver(toolkit: Option<&str>) -> u32 {
    match toolkit.and_then(|version| version.split('.').next()?.parse::<u32>().ok()) {
        Some(major) if major >= 13 => 580,
        Some(major) if major <= 11 => 450,
        _ => 525,
    }
}

fn gpu_rows(system: System, found: &Found, cards: &[Card], module: Option<&str>) -> Vec<Row> {
    let toolkit = row(
        TOOLKIT,
        "CUDA toolkit (nvcc)",
        found.toolkit.clone(),
        "building with --features cuda: dfdx on the GPU",
        system.how(
            "sudo apt install nvidia-cuda-toolkit, or newer from developer.nvidia.com/cuda-downloads",
            "the repository of developer.nvidia.com/cuda-downloads, then sudo dnf install cuda-toolkit",
            NOT_ON_MAC,
            "winget install Nvidia.CUDA",
        ),
    );
    vec![card_row(system, &found.gpus, cards), driver_row(system, found, module), toolkit]
}

fn card_row(system: System, gpus: &[NvidiaGpu], cards: &[Card]) -> Row {
    let names = gpus
        .iter()
        .map(|gpu| {
            let memory = match gpu.memory {
                0 => "the CPU's memory".to_owned(),
                memory => Unit::Bytes.format(memory as f64),
            };
            format!("{} ({memory}, compute capability {})", gpu.name, gpu.capability)
        })
        .collect::<Vec<_>>()
        .join("; ");
    let dark = cards.contains(&Card::Nvidia);
    let card = if names.is_empty() {
        dark.then(|| "an NVIDIA card, not yet in use: see the driver".to_owned())
    } else {
        Some(names)
    };
    let other = if cards.contains(&Card::Amd) {
        "this machine has an AMD card, which OpenCL can use; CUDA needs one by NVIDIA. "
    } else if cards.contains(&Card::Intel) {
        "this machine has Intel graphics, which OpenCL can use; CUDA needs a card by NVIDIA. "
    } else {
        ""
    };
    let how_card = if system == System::Mac {
        NOT_ON_MAC.to_owned()
    } else {
        format!("{other}Chapter 8 helps to choose one; a rented one will do")
    };
    row(CARD, "NVIDIA GPU", card, "the GPU parts of chapters 2 and 4 to 7", how_card)
}

fn driver_row(system: System, found: &Found, module: Option<&str>) -> Row {
    let installed = found.gpus.first().map(|gpu| gpu.driver.as_str()).or(module);
    let oldest = oldest_driver(found.toolkit.as_deref());
    let get = system.how(
        "sudo apt install nvidia-driver (Debian, from non-free) or sudo ubuntu-drivers install (Ubuntu), then \
         restart",
        "sudo dnf install akmod-nvidia xorg-x11-drv-nvidia-cuda (from RPM Fusion), then restart",
        NOT_ON_MAC,
        "the driver from nvidia.com/drivers, then restart",
    );
    let major = installed.and_then(|version| version.split('.').next()?.parse::<u32>().ok());
    let (driver_found, how_driver) = match (installed, major) {
        (Some(version), Some(major)) if major < oldest => {
            let for_what = found.toolkit.as_ref().map_or("CUDA 12".to_owned(), |t| format!("CUDA {t}"));
            (false, format!("driver {version} is too old for {for_what}, which needs {oldest} or later: {get}"))
        }
        (Some(_), _) if found.gpus.is_empty() => (
            false,
            "the driver is loaded, but nvidia-smi does not answer: it belongs on the PATH (package \
             nvidia-utils or nvidia-smi); if it is there, restart the machine"
                .to_owned(),
        ),
        (Some(_), _) => (true, get),
        (None, _) => (false, get),
    };
    let installed = installed.map(str::to_owned);
    Row {
        found: driver_found,
        ..row(DRIVER, "NVIDIA driver", installed, "everything that runs on the GPU", how_driver)
    }
}

/// The oldest version of CUDA whose driver chapter 2 works with, as 1000·major + 10·minor.
const OLDEST_CUDA: u32 = 12_000;

fn library_rows(
    system: System,
    libraries: &[(Library, Option<String>)],
    driver: Option<u32>,
) -> Vec<Row> {
    let of = |(library, version): &(Library, Option<String>)| {
        let (step, name, what_for, apt, dnf) = match library {
            Library::Driver => (
                CHECK,
                "CUDA starts",
                "a GPU that answers a program: what chapter 2 calls `cuda` (driver 525 or newer)",
                "the steps above; in a container start it with --gpus all",
                "the steps above; in a container start it with --gpus all",
            ),
            Library::Nvrtc => (
                TOOLKIT,
                "NVRTC",
                "chapter 2 on CUDA: it compiles the kernels while the program runs",
                NVRTC_DEBIAN,
                NVRTC_FEDORA,
            ),
            Library::Cublas => (
                TOOLKIT,
                "cuBLAS",
                "NVIDIA's matrix product, which chapter 2 holds its own against; without it that column stays empty",
                CUBLAS_HOW,
                CUBLAS_HOW,
            ),
            Library::Nccl => (
                TOOLKIT,
                "NCCL",
                "many GPUs (chapter 7)",
                "sudo apt install libnccl2 (from NVIDIA's repository)",
                "sudo dnf install libnccl (from NVIDIA's repository)",
            ),
            Library::Cudnn => (
                TOOLKIT,
                "cuDNN",
                "convolutions in frameworks such as PyTorch; this course does not use it",
                "not needed here; for a framework: sudo apt install cudnn (from NVIDIA's repository)",
                "not needed here; for a framework: sudo dnf install cudnn (from NVIDIA's repository)",
            ),
        };
        let windows = match library {
            Library::Nccl => "NCCL needs Linux; WSL 2 will do",
            Library::Cudnn => {
                "not needed here; for a framework: the installer from developer.nvidia.com/cudnn"
            }
            _ => apt,
        };
        let row =
            row(step, name, version.clone(), what_for, system.how(apt, dnf, NOT_ON_MAC, windows));
        match unfit(*library, version.as_deref(), driver) {
            Some(how_to_get) => Row { found: false, how_to_get, ..row },
            None => row,
        }
    };
    libraries.iter().map(of).collect()
}

/// Why chapter 2 can't use a library with a driver of this version, and what to do.
fn unfit(library: Library, version: Option<&str>, driver: Option<u32>) -> Option<String> {
    let speaks = libraries::cuda(driver?);
    match (library, version) {
        (Library::Driver, _) if driver? < OLDEST_CUDA => Some(format!(
            "the driver speaks CUDA {speaks}, and chapter 2 needs {}: install driver 525 or newer",
            libraries::cuda(OLDEST_CUDA)
        )),
        (_, Some(version)) if !library.fits(version, driver) => Some(format!(
            "version {version} is too new for the driver, which speaks CUDA {speaks}: install a newer driver, or this \
             library of CUDA {}",
            driver? / 1000
        )),
        _ => None,
    }
}

fn last_steps(system: System, found: &Found) -> Vec<Row> {
    let ready = found.toolkit.is_some() && !found.gpus.is_empty();
    let named = ["CUDA_PATH", "CUDA_ROOT", "CUDA_HOME"]
        .into_iter()
        .find_map(|name| Some((name, env::var(name).ok().filter(|value| !value.is_empty())?)));
    let (variable_found, variables, how) = match &named {
        Some((name, folder)) if Path::new(folder).is_dir() => {
            (true, Some(format!("{name}={folder}")), String::new())
        }
        Some((name, folder)) => (
            false,
            Some(format!("{name}={folder}")),
            format!("{name} names a folder that is not there; set it to the toolkit's folder"),
        ),
        None if Path::new("/usr/local/cuda").is_dir() => {
            (true, Some("none needed: the toolkit is in /usr/local/cuda".to_owned()), String::new())
        }
        None => (
            false,
            None,
            system.how(
                "export CUDA_PATH=FOLDER (the one with bin/nvcc) and PATH=$CUDA_PATH/bin:$PATH in ~/.profile",
                "export CUDA_PATH=FOLDER (the one with bin/nvcc) and PATH=$CUDA_PATH/bin:$PATH in ~/.profile",
                NOT_ON_MAC,
                "the installer sets CUDA_PATH; open a new terminal",
            ),
        ),
    };
    vec![
        row(
            FRAMEWORK,
            "dfdx on CUDA",
            ready.then(|| "can be built here: --features cuda".to_owned()),
            "training on the GPU (chapters 4 to 7)",
            "steps 1 to 3, then `cargo run --release --features cuda -- train --device cuda:0`",
        ),
        Row {
            found: variable_found,
            ..row(VARIABLES, "CUDA_PATH", variables, "finding the toolkit when building", how)
        },
    ]
}

fn opencl(system: System) -> Vec<Row> {
    vec![row(
        MORE,
        "OpenCL",
        opencl_devices(),
        "the portable kernels of chapter 2, on any GPU (`opencl-gpu`) or on the CPU (`opencl-cpu`)",
        system.how(
            "sudo apt install ocl-icd-libopencl1 pocl-opencl-icd",
            "sudo dnf install ocl-icd pocl",
            "macOS has it; the kernels run on its GPU",
            "it comes with the graphics driver",
        ),
    )]
}

fn programs(system: System) -> Vec<Row> {
    let first_line = |text: String| text.lines().next().unwrap_or_default().trim().to_owned();
    let version =
        |program: &str| ask(program, &["--version"]).map(first_line).filter(|v| !v.is_empty());
    let on_path = |program: &str| on_path(program, env::var_os("PATH").as_deref());
    thread::scope(|scope| {
        let rustc = Beside::start(scope, || version("rustc"));
        let cc = Beside::start(scope, || ["cc", "clang", "gcc"].into_iter().find_map(version));
        let mpi = Beside::start(scope, || version("mpirun").or_else(|| version("mpiexec")));
        let of = |check: Beside<Option<String>>| check.join().unwrap_or_default();
        let cc = of(cc).or_else(|| on_path("cl").map(|path| path.display().to_string()));
        let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../notebooks/.jupyter");
        let (jupyter, kernel) = notebooks(&own, env::var_os("PATH").as_deref());
        vec![
            row(MACHINE, "Rust", of(rustc), "building, notebooks, exercises", "https://rustup.rs"),
            row(
                MACHINE,
                "C compiler",
                cc,
                "building one of the libraries (TLS for the download)",
                system.how(
                    "sudo apt install build-essential",
                    "sudo dnf install gcc",
                    "xcode-select --install",
                    "the C++ build tools that rustup offers",
                ),
            ),
            row(
                MORE,
                "MPI",
                of(mpi),
                "training across processes and machines (chapter 7)",
                system.how(
                    "sudo apt install openmpi-bin libopenmpi-dev libclang-dev",
                    "sudo dnf install openmpi-devel",
                    "brew install open-mpi",
                    "MS-MPI from Microsoft, or WSL 2",
                ),
            ),
            row(
                MORE,
                "Jupyter",
                jupyter,
                "the notebooks",
                "`cargo run --release -- notebooks setup` makes it in a folder of its own",
            ),
            row(
                MORE,
                "Rust kernel for Jupyter",
                kernel,
                "the notebooks",
                "`cargo run --release -- notebooks setup` builds it (some minutes)",
            ),
        ]
    })
}

/// Jupyter and its Rust kernel: in `own`, the folder that `notebooks setup` makes, or on the path.
fn notebooks(own: &Path, path: Option<&std::ffi::OsStr>) -> (Option<String>, Option<String>) {
    let made = |below: &str| own.join(below).is_file().then(|| "in notebooks/.jupyter".to_owned());
    let elsewhere = |program: &str| on_path(program, path).map(|file| file.display().to_string());
    let python = if cfg!(windows) { "venv/Scripts/python.exe" } else { "venv/bin/python" };
    let kernel = format!("bin/evcxr_jupyter{}", env::consts::EXE_SUFFIX);
    (
        made(python).or_else(|| elsewhere("jupyter")),
        made(&kernel).or_else(|| elsewhere("evcxr_jupyter")),
    )
}

/// Where a program is, without running it.
fn on_path(program: &str, path: Option<&std::ffi::OsStr>) -> Option<PathBuf> {
    let name = format!("{program}{}", env::consts::EXE_SUFFIX);
    env::split_paths(path?).map(|folder| folder.join(&name)).find(|file| file.is_file())
}

#[cfg(test)]
mod tests;
