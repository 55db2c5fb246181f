//! What this machine has, what is missing, how to get it.
//!
//! The rows are the steps from a bare machine to a GPU that trains, in their order: the machine itself, the
//! card, its driver, the CUDA toolkit, the framework, the environment variables, the check. The course itself
//! needs no GPU: what is missing there costs some experiments and no chapter.

mod libraries;
mod requirements;
mod text;

use crate::{
    Unit,
    data::{Options, Places, files},
    machine::{self, Machine, NvidiaGpu},
    probe::ask,
    toolkit,
};
use requirements::{Requirements, System};
use std::{env, ffi::OsStr, fs, path::Path, thread};

use libraries::major;
pub use libraries::{Library, driver_version, opencl_devices};
pub use requirements::Row;
pub use text::table;

/// Looks for everything. `data` is the folder that the reader named (`--data`). Takes less than two seconds, and up
/// to ten where NVIDIA's driver has to start: a program that does not answer counts as missing.
pub fn examine(data: Option<&Path>) -> Vec<Row> {
    let asked = &Requirements::of(System::detect());
    let path = env::var_os("PATH");
    let path = path.as_deref();
    let own = &Path::new(env!("CARGO_MANIFEST_DIR")).join("../../notebooks/.jupyter");
    // They wait next to each other. One that panicked has a bug and no rows; the others still have theirs.
    let mut rows: Vec<Row> = thread::scope(|scope| {
        let checks = [
            scope.spawn(|| of_machine(asked)),
            scope.spawn(|| vec![disk(asked, data)]),
            scope.spawn(|| vec![data_set(asked, data)]),
            scope.spawn(|| vec![asked.row("Rust", version(&["rustc"]))]),
            scope.spawn(|| vec![c_compiler(asked, path)]),
            scope.spawn(|| of_gpus(asked, &Found::here())),
            scope.spawn(|| of_libraries(asked, &libraries::found())),
            scope.spawn(|| vec![asked.row("OpenCL", opencl_devices())]),
            scope.spawn(|| vec![asked.row("Vulkan", libraries::vulkan())]),
            scope.spawn(|| {
                let toolkit = toolkit::of_tiles().map(|folder| folder.display().to_string());
                vec![asked.row("CUDA 13.5 (tileiras)", toolkit)]
            }),
            scope.spawn(|| vec![asked.row("MPI", version(&["mpirun", "mpiexec"]))]),
            scope.spawn(|| notebooks(asked, own, path)),
        ];
        checks.into_iter().flat_map(|check| check.join().unwrap_or_default()).collect()
    });
    rows.sort_by_key(|row| asked.place(&row.name));
    rows
}

fn of_machine(asked: &Requirements) -> Vec<Row> {
    let machine = Machine::of_cpu();
    let has = |name: &str| machine.features.iter().any(|feature| feature == name);
    let vectors: Vec<&str> =
        [("avx512f", "AVX-512"), ("avx2", "AVX2"), ("fma", "FMA"), ("neon", "NEON")]
            .into_iter()
            .filter_map(|(feature, name)| has(feature).then_some(name))
            .collect();
    let wide = (has("avx2") && has("fma")) || has("neon");
    let noun = if machine.cores == 1 { "core" } else { "cores" };
    let cpu = format!("{}, {} {noun}", machine.cpu, machine.cores);
    let memory = Some(machine::caches_and_memory().1).filter(|bytes| *bytes > 0);
    vec![
        asked.row("CPU", Some(cpu)),
        asked.row("vector units", wide.then(|| vectors.join(", "))),
        asked.row("bf16 vectors", has("avx512bf16").then(|| "AVX512-BF16".to_owned())),
        asked.row("matrix unit", has("amx-bf16").then(|| "AMX, bf16".to_owned())),
        room(asked, "memory", memory, ["size unknown", ""]),
    ]
}

/// A row that takes a GiB. A system that does not tell how much there is is not refused.
fn room(asked: &Requirements, name: &str, bytes: Option<u64>, [unknown, of]: [&str; 2]) -> Row {
    let told = |bytes| Unit::Bytes.format(bytes as f64) + of;
    let row = asked.row(name, Some(bytes.map_or_else(|| unknown.to_owned(), told)));
    Row { found: bytes.is_none_or(|bytes| bytes >= 1 << 30), ..row }
}

fn disk(asked: &Requirements, data: Option<&Path>) -> Row {
    let folder = data.unwrap_or(Path::new("."));
    let free = ask("df", &["-Pk", &folder.to_string_lossy()]).and_then(|text| free_bytes(&text));
    room(asked, "disk", free, ["free space unknown", " free"])
}

/// The fourth column of the second line of `df -Pk`: kibibytes that are free.
fn free_bytes(text: &str) -> Option<u64> {
    let line = text.lines().nth(1)?;
    // The first column may hold spaces; the last is the mount point.
    let fields: Vec<&str> = line.split_whitespace().collect();
    let percent = fields.iter().position(|field| field.ends_with('%'))?;
    fields.get(percent.checked_sub(1)?)?.parse::<u64>().ok()?.checked_mul(1024)
}

fn data_set(asked: &Requirements, folder: Option<&Path>) -> Row {
    let places = Places::of(&Options { folder: folder.map(Path::to_owned), download: false });
    let looked = places.named.as_ref().or(places.cache.as_ref());
    let read = looked.map(|folder| files::read(folder, places.published));
    match read {
        Some(Ok(set)) => asked.row("data set", Some(set.source.to_string())),
        Some(Err(error)) if places.named.is_some() => {
            Row { how_to_get: error.to_string(), ..asked.row("data set", None) }
        }
        _ => asked.row("data set", None),
    }
}

/// The first line of what the first of these programs says its version is.
fn version(programs: &[&str]) -> Option<String> {
    let first_line = |text: String| text.lines().next().unwrap_or_default().trim().to_owned();
    programs.iter().find_map(|program| {
        ask(program, &["--version"]).map(first_line).filter(|line| !line.is_empty())
    })
}

fn c_compiler(asked: &Requirements, path: Option<&OsStr>) -> Row {
    let found = version(&["cc", "clang", "gcc"]);
    asked.row("C compiler", found.or_else(|| on_path("cl", path)))
}

/// Jupyter and its Rust kernel: in `own`, the folder that `notebooks setup` makes, or on the path.
fn notebooks(asked: &Requirements, own: &Path, path: Option<&OsStr>) -> Vec<Row> {
    let python = if cfg!(windows) { "venv/Scripts/python.exe" } else { "venv/bin/python" };
    let kernel = format!("bin/evcxr_jupyter{}", env::consts::EXE_SUFFIX);
    [("Jupyter", python, "jupyter"), ("Rust kernel for Jupyter", kernel.as_str(), "evcxr_jupyter")]
        .map(|(name, below, program)| {
            let made = own.join(below).is_file().then(|| "in notebooks/.jupyter".to_owned());
            asked.row(name, made.or_else(|| on_path(program, path)))
        })
        .into()
}

/// Where a program is, without running it.
fn on_path(program: &str, path: Option<&OsStr>) -> Option<String> {
    let name = format!("{program}{}", env::consts::EXE_SUFFIX);
    let found = env::split_paths(path?).map(|folder| folder.join(&name));
    found.into_iter().find(|file| file.is_file()).map(|file| file.display().to_string())
}

/// What the GPU's rows are made from.
#[derive(Default)]
struct Found {
    toolkit: Option<String>,
    gpus: Vec<NvidiaGpu>,
    /// The cards on the PCI bus.
    cards: Vec<Card>,
    /// The version of NVIDIA's kernel module, if it is loaded.
    module: Option<String>,
}

impl Found {
    fn here() -> Self {
        let module = fs::read_to_string("/proc/driver/nvidia/version").ok();
        Self {
            toolkit: machine::cuda_toolkit(),
            gpus: machine::nvidia_gpus(),
            cards: Card::all(),
            module: module.and_then(|text| module_version(&text)),
        }
    }
}

/// `580.65.06` out of `NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.65.06  …`.
fn module_version(text: &str) -> Option<String> {
    let is_version =
        |word: &&str| word.contains('.') && word.split('.').all(|part| part.parse::<u32>().is_ok());
    text.lines().next()?.split_whitespace().find(is_version).map(str::to_owned)
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
        let devices = fs::read_dir("/sys/bus/pci/devices").into_iter().flatten().flatten();
        let card = |device: fs::DirEntry| {
            let read = |name: &str| fs::read_to_string(device.path().join(name)).ok();
            Self::of(read("class")?.trim(), read("vendor")?.trim())
        };
        devices.filter_map(card).collect()
    }

    /// Class 03 is a display controller (PCI Code and ID Assignment Specification).
    fn of(class: &str, vendor: &str) -> Option<Self> {
        match vendor {
            _ if !class.starts_with("0x03") => None,
            "0x10de" => Some(Self::Nvidia),
            "0x1002" => Some(Self::Amd),
            "0x8086" => Some(Self::Intel),
            _ => None,
        }
    }
}

fn of_gpus(asked: &Requirements, found: &Found) -> Vec<Row> {
    let ready = found.toolkit.is_some() && !found.gpus.is_empty();
    vec![
        card(asked, found),
        driver(asked, found),
        asked.row("CUDA toolkit (nvcc)", found.toolkit.clone()),
        asked.row("dfdx on CUDA", ready.then(|| "can be built here: --features cuda".to_owned())),
        variables(asked),
    ]
}

fn card(asked: &Requirements, found: &Found) -> Row {
    let names: Vec<String> = found.gpus.iter().map(NvidiaGpu::in_words).collect();
    let version = if names.is_empty() {
        let dark = found.cards.contains(&Card::Nvidia);
        dark.then(|| "an NVIDIA card, not yet in use: see the driver".to_owned())
    } else {
        Some(names.join("; "))
    };
    let other = if found.cards.contains(&Card::Amd) {
        "this machine has an AMD card, which OpenCL can use; CUDA needs one by NVIDIA. "
    } else if found.cards.contains(&Card::Intel) {
        "this machine has Intel graphics, which OpenCL can use; CUDA needs a card by NVIDIA. "
    } else {
        ""
    };
    let row = asked.row("NVIDIA GPU", version);
    Row { how_to_get: other.to_owned() + &row.how_to_get, ..row }
}

/// The oldest driver for a toolkit (NVIDIA, CUDA Toolkit Release Notes, table "CUDA Toolkit and Minimum Required
/// Driver Version for CUDA Minor Version Compatibility").
fn oldest_driver(toolkit: Option<&str>) -> u32 {
    match toolkit.and_then(major) {
        Some(13..) => 580,
        Some(..=11) => 450,
        _ => 525,
    }
}

fn driver(asked: &Requirements, found: &Found) -> Row {
    let toolkit = found.toolkit.as_deref();
    let oldest = oldest_driver(toolkit);
    let installed = found.gpus.first().map(|gpu| &gpu.driver).or(found.module.as_ref());
    let row = asked.row("NVIDIA driver", installed.cloned());
    match installed {
        Some(version) if major(version).is_some_and(|major| major < oldest) => {
            let (toolkit, get) = (toolkit.unwrap_or("12"), &row.how_to_get);
            let how_to_get = format!(
                "driver {version} is too old for CUDA {toolkit}, which needs {oldest} or later: {get}"
            );
            Row { found: false, how_to_get, ..row }
        }
        Some(_) if found.gpus.is_empty() => {
            let how_to_get = "the driver is loaded, but nvidia-smi does not answer: it belongs on the PATH (package \
                              nvidia-utils or nvidia-smi); if it is there, restart the machine";
            Row { found: false, how_to_get: how_to_get.to_owned(), ..row }
        }
        _ => row,
    }
}

fn variables(asked: &Requirements) -> Row {
    let set = |name| Some((name, env::var(name).ok().filter(|value| !value.is_empty())?));
    let named = ["CUDA_PATH", "CUDA_ROOT", "CUDA_HOME"].into_iter().find_map(set);
    let usual = Path::new("/usr/local/cuda").is_dir();
    let version = match &named {
        Some((name, folder)) => Some(format!("{name}={folder}")),
        None => usual.then(|| "none needed: the toolkit is in /usr/local/cuda".to_owned()),
    };
    let row = asked.row("CUDA_PATH", version);
    match named {
        Some((name, folder)) if !Path::new(&folder).is_dir() => Row {
            found: false,
            how_to_get: format!(
                "{name} names a folder that is not there; set it to the toolkit's folder"
            ),
            ..row
        },
        None if !usual => row,
        _ => Row { how_to_get: String::new(), ..row },
    }
}

/// The oldest version of CUDA whose driver chapter 2 works with, as 1000·major + 10·minor.
const OLDEST_CUDA: u32 = 12_000;

/// The rows of NVIDIA's libraries of these versions, with a driver of that version.
fn of_libraries(
    asked: &Requirements,
    (libraries, driver): &(Vec<(Library, Option<String>)>, Option<u32>),
) -> Vec<Row> {
    let of = |(library, version): &(Library, Option<String>)| {
        let row = asked.row(library.name(), version.clone());
        match unfit(*library, version.as_deref(), *driver) {
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

#[cfg(test)]
mod tests;
