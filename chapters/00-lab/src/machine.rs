//! Which machine a record comes from, and which build made it.

use crate::{
    git,
    out::warn,
    probe::{ask, ask_within},
};
use serde::{Deserialize, Serialize};
use std::{
    env, fs,
    path::Path,
    sync::OnceLock,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

/// A machine, as `machine.json` keeps it.
// ANCHOR: machine
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Machine {
    /// The CPU's model name.
    pub cpu: String,
    /// Cores that this process may use.
    pub cores: usize,
    /// Instruction sets that the course has a path for: `avx2`, `fma`,
    /// `avx512f`, `amx-bf16`, …
    pub features: Vec<String>,
    /// Memory in bytes that this process may use.
    pub memory: u64,
    /// The sizes of the caches that the first core sees.
    #[serde(default)]
    pub caches: Caches,
    /// The operating system and its kernel.
    pub os: String,
    /// The GPUs, by name.
    pub gpus: Vec<String>,
    /// The NVIDIA driver's version, if there is one.
    pub driver: Option<String>,
    /// The CUDA toolkit's version, if there is one.
    pub cuda: Option<String>,
}
// ANCHOR_END: machine

impl Machine {
    /// The machine as a caption names it: `AMD EPYC (2 cores)`.
    pub fn in_words(&self) -> String {
        format!("{} ({} cores)", self.cpu, self.cores)
    }

    /// The same with the widest vectors that the course uses, and the GPUs: `AMD EPYC, 2 cores, AVX2`.
    pub fn in_short(&self) -> String {
        let cores = if self.cores == 1 { "core" } else { "cores" };
        let mut parts = vec![self.cpu.clone(), format!("{} {cores}", self.cores)];
        let has = |name: &str| self.features.iter().any(|feature| feature == name);
        let widest = [("avx512f", "AVX-512"), ("avx2", "AVX2"), ("neon", "NEON")];
        let vectors = widest.iter().find(|(feature, _)| has(feature)).map(|(_, name)| *name);
        parts.extend(vectors.map(str::to_owned));
        parts.extend(self.gpus.iter().cloned());
        parts.join(", ")
    }
}

/// Sizes of a core's caches in bytes; `None` where the system does not tell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Caches {
    /// The first-level data cache.
    pub l1d: Option<u64>,
    /// The second-level cache.
    pub l2: Option<u64>,
    /// The last-level cache, mostly shared between cores.
    pub l3: Option<u64>,
}

impl Machine {
    /// What this machine is. Asks the operating system and NVIDIA's tools; takes at most a few seconds, most
    /// often a few hundredths of one.
    pub fn detect() -> Self {
        let gpus = nvidia_gpus();
        Self {
            memory: memory(),
            caches: caches(),
            os: os(),
            driver: gpus.first().map(|gpu| gpu.driver.clone()),
            gpus: gpus.into_iter().map(|gpu| gpu.name).collect(),
            cuda: cuda_toolkit(),
            ..Self::of_cpu()
        }
    }

    /// The CPU, its cores and its features, without asking for the rest.
    pub(crate) fn of_cpu() -> Self {
        Self {
            cpu: cpu(),
            cores: cores(),
            features: features().into_iter().map(str::to_owned).collect(),
            ..Self::default()
        }
    }
}

/// How many cores this process may use (a container's quota and the affinity count).
pub fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}

/// What [`Machine::detect`] says of caches and memory (in bytes), without asking for the rest.
pub fn caches_and_memory() -> (Caches, u64) {
    (caches(), memory())
}

/// A GPU as `nvidia-smi` tells it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NvidiaGpu {
    /// Its name: `NVIDIA H200`.
    pub name: String,
    /// The version of its driver: `580.65.06`.
    pub driver: String,
    /// Its memory in bytes, if it is told.
    pub memory: Option<u64>,
    /// Its compute capability, if it is told: `9.0`.
    pub capability: Option<String>,
}

impl NvidiaGpu {
    /// `NVIDIA H200 (141 GiB, compute capability 9.0)`.
    pub fn in_words(&self) -> String {
        let memory = self.memory.map_or("memory not told".to_owned(), |memory| {
            crate::Unit::Bytes.format(memory as f64)
        });
        let capability = self.capability.as_deref().unwrap_or("not told");
        format!("{} ({memory}, compute capability {capability})", self.name)
    }
}

/// The NVIDIA GPUs that the driver shows; none where there is no driver.
pub(crate) fn nvidia_gpus() -> Vec<NvidiaGpu> {
    let query = "--query-gpu=name,driver_version,memory.total,compute_cap";
    nvidia_gpus_by("nvidia-smi", &[query, "--format=csv,noheader,nounits"])
}

/// How long the driver's tool may take: where no program keeps the driver loaded, it starts all GPUs first.
const DRIVER_STARTS: Duration = Duration::from_secs(10);

fn nvidia_gpus_by(program: &str, arguments: &[&str]) -> Vec<NvidiaGpu> {
    ask_within(DRIVER_STARTS, program, arguments)
        .map_or_else(Vec::new, |text| text.lines().filter_map(nvidia_gpu).collect())
}

fn nvidia_gpu(line: &str) -> Option<NvidiaGpu> {
    let fields: Vec<&str> = line.split(',').map(str::trim).collect();
    let [name, driver, memory, capability] = fields[..] else {
        return None;
    };
    // The tool's complaints have commas, too. What it does not tell is `[N/A]`, or another reason in brackets.
    let version = |text: &str| text.split('.').all(|part| part.parse::<u32>().is_ok());
    let untold = |text: &str| text.starts_with('[') || text == "N/A";
    (version(driver) && (version(capability) || untold(capability))).then(|| NvidiaGpu {
        name: name.to_owned(),
        driver: driver.to_owned(),
        memory: memory.parse::<u64>().ok().map(|mebibytes| mebibytes << 20),
        capability: version(capability).then(|| capability.to_owned()),
    })
}

/// The version of the CUDA toolkit that builds here: that of `nvcc`, or of the folder that `CUDA_PATH` and
/// its like name.
pub(crate) fn cuda_toolkit() -> Option<String> {
    let nvcc = ask("nvcc", &["--version"]).and_then(|text| nvcc_version(&text));
    nvcc.or_else(|| {
        let named = ["CUDA_PATH", "CUDA_HOME", "CUDA_ROOT"].into_iter().filter_map(env::var_os);
        named.map(Into::into).chain([Path::new("/usr/local/cuda").to_owned()]).find_map(
            |folder: std::path::PathBuf| {
                let text = fs::read_to_string(folder.join("version.json")).ok()?;
                let json: serde_json::Value = serde_json::from_str(&text).ok()?;
                Some(json["cuda"]["version"].as_str()?.to_owned())
            },
        )
    })
}

/// `13.0` out of `Cuda compilation tools, release 13.0, V13.0.88`.
fn nvcc_version(text: &str) -> Option<String> {
    let version = text.split("release ").nth(1)?.split([',', ' ', '\n']).next()?;
    (!version.is_empty()).then(|| version.to_owned())
}

/// The instruction sets of this CPU that the course has a path for, or that explain a result.
fn features() -> Vec<&'static str> {
    #[cfg_attr(not(any(target_arch = "x86_64", target_arch = "aarch64")), expect(unused_mut))]
    let mut found = Vec::new();
    #[cfg(target_arch = "x86_64")]
    {
        macro_rules! probe {
            ($($name:tt)*) => {
                $(if std::arch::is_x86_feature_detected!($name) {
                    found.push($name);
                })*
            };
        }
        probe!("sse2" "sse4.2" "avx" "avx2" "fma" "f16c" "avx512f" "avx512bw" "avx512vl" "avx512bf16"
            "avx512fp16" "avx512vnni");
        if amx::usable() {
            found.push("amx-bf16");
        }
    }
    #[cfg(target_arch = "aarch64")]
    {
        macro_rules! probe {
            ($($name:tt)*) => {
                $(if std::arch::is_aarch64_feature_detected!($name) {
                    found.push($name);
                })*
            };
        }
        probe!("neon" "fp16" "bf16" "i8mm" "sve" "sve2");
    }
    found
}

/// Whether this CPU has AVX512-BF16, and the system lets programs use it.
pub fn avx512_bf16() -> bool {
    #[cfg(target_arch = "x86_64")]
    {
        is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512bf16")
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        false
    }
}

/// Whether this process may use AMX tiles with bf16. The first call asks Linux for the permission, which
/// then holds for every thread.
pub fn amx_bf16() -> bool {
    #[cfg(target_arch = "x86_64")]
    {
        amx::usable()
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        false
    }
}

/// Why [`amx_bf16`] is false, as a clause; `None` where it is true.
pub fn why_no_amx() -> Option<&'static str> {
    if amx_bf16() {
        return None;
    }
    #[cfg(target_arch = "x86_64")]
    if amx::carried() {
        return Some("this system does not let programs use AMX");
    }
    Some("this CPU has no AMX")
}

#[cfg(target_arch = "x86_64")]
mod amx {
    use std::{arch::x86_64, sync::OnceLock};

    pub fn usable() -> bool {
        static USABLE: OnceLock<bool> = OnceLock::new();
        *USABLE.get_or_init(|| carried() && kept_by_system() && permitted())
    }

    /// Leaf 7, EDX: bit 22 is AMX-BF16, bit 24 AMX-TILE (Intel SDM vol. 2A, CPUID).
    pub fn carried() -> bool {
        x86_64::__cpuid(0).eax >= 7 && {
            let edx = x86_64::__cpuid_count(7, 0).edx;
            edx & (1 << 22) != 0 && edx & (1 << 24) != 0
        }
    }

    /// Whether the system saves the tiles when it switches threads: bits 17 and 18 of XCR0.
    fn kept_by_system() -> bool {
        #[target_feature(enable = "xsave")]
        fn xcr0() -> u64 {
            // SAFETY: the caller has seen OSXSAVE, which makes XGETBV and register 0 available.
            unsafe { x86_64::_xgetbv(0) }
        }
        // Leaf 1, ECX: bit 26 is XSAVE, bit 27 OSXSAVE.
        let both = 1 << 26 | 1 << 27;
        // SAFETY: CPUID has said that the CPU has XSAVE and that the system has switched it on.
        x86_64::__cpuid(1).ecx & both == both && unsafe { xcr0() } & (0b11 << 17) == 0b11 << 17
    }

    /// Linux grants the tiles' 8 KiB of state on request: `arch_prctl(ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA)`
    /// (Documentation/arch/x86/xstate.rst).
    #[cfg(target_os = "linux")]
    fn permitted() -> bool {
        const ARCH_PRCTL: i64 = 158;
        const ARCH_REQ_XCOMP_PERM: u64 = 0x1023;
        const XFEATURE_XTILEDATA: u64 = 18;
        let result: i64;
        // SAFETY: the call takes two numbers and touches no memory of ours; the kernel overwrites rcx and r11.
        unsafe {
            std::arch::asm!(
                "syscall",
                inlateout("rax") ARCH_PRCTL => result,
                in("rdi") ARCH_REQ_XCOMP_PERM,
                in("rsi") XFEATURE_XTILEDATA,
                out("rcx") _,
                out("r11") _,
                options(nostack),
            );
        }
        result == 0
    }

    /// Elsewhere it is untested, so nothing is promised.
    #[cfg(not(target_os = "linux"))]
    fn permitted() -> bool {
        false
    }
}

fn cpu() -> String {
    let name = brand().or_else(|| {
        let text = fs::read_to_string("/proc/cpuinfo").ok()?;
        field(&text, "model name").or_else(|| field(&text, "Hardware"))
    });
    let name = name
        .or_else(|| ask("sysctl", &["-n", "machdep.cpu.brand_string"]))
        .or_else(|| fs::read_to_string("/proc/device-tree/model").ok())
        .or_else(|| env::var("PROCESSOR_IDENTIFIER").ok())
        .unwrap_or_default();
    let name = name.trim_matches(|c: char| c.is_whitespace() || c == '\0');
    if name.is_empty() {
        format!("{} CPU", env::consts::ARCH)
    } else {
        name.split_whitespace().collect::<Vec<_>>().join(" ")
    }
}

/// The brand string that x86 CPUs carry, on any system (leaves 0x80000002 to 0x80000004).
#[cfg(target_arch = "x86_64")]
fn brand() -> Option<String> {
    use std::arch::x86_64::__cpuid;
    if __cpuid(0x8000_0000).eax < 0x8000_0004 {
        return None;
    }
    let bytes: Vec<u8> = (0x8000_0002..=0x8000_0004_u32)
        .map(__cpuid)
        .flat_map(|r| [r.eax, r.ebx, r.ecx, r.edx])
        .flat_map(u32::to_le_bytes)
        .take_while(|&byte| byte != 0)
        .collect();
    let name = String::from_utf8_lossy(&bytes).trim().to_owned();
    (!name.is_empty()).then_some(name)
}

#[cfg(not(target_arch = "x86_64"))]
fn brand() -> Option<String> {
    None
}

/// The text behind `name:` in a file of such lines.
fn field(text: &str, name: &str) -> Option<String> {
    text.lines().find_map(|line| {
        let (key, value) = line.split_once(':')?;
        (key.trim() == name && !value.trim().is_empty()).then(|| value.trim().to_owned())
    })
}

fn memory() -> u64 {
    let installed = fs::read_to_string("/proc/meminfo")
        .ok()
        .and_then(|text| kibibytes(&field(&text, "MemTotal")?))
        .or_else(|| ask("sysctl", &["-n", "hw.memsize"])?.parse().ok())
        .or_else(|| {
            let query = "(Get-CimInstance Win32_ComputerSystem).TotalPhysicalMemory";
            cfg!(windows)
                .then(|| ask("powershell", &["-NoProfile", "-Command", query]))??
                .parse()
                .ok()
        })
        .unwrap_or(0);
    // A container may use less than there is.
    let limit = ["/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"]
        .into_iter()
        .filter_map(|path| fs::read_to_string(path).ok()?.trim().parse::<u64>().ok())
        .min();
    limit.map_or(installed, |limit| installed.min(limit))
}

/// `16303520 kB` in bytes.
fn kibibytes(text: &str) -> Option<u64> {
    text.strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

fn caches() -> Caches {
    let mut caches = Caches::default();
    for index in 0..8 {
        let read = |name: &str| {
            let file = format!("/sys/devices/system/cpu/cpu0/cache/index{index}/{name}");
            fs::read_to_string(file).ok().map(|text| text.trim().to_owned())
        };
        let (Some(level), Some(kind), Some(size)) =
            (read("level"), read("type"), read("size").and_then(|size| cache_size(&size)))
        else {
            continue;
        };
        match (level.as_str(), kind.as_str()) {
            ("1", "Data" | "Unified") => caches.l1d = Some(size),
            ("2", _) => caches.l2 = Some(size),
            ("3", _) => caches.l3 = Some(size),
            _ => {}
        }
    }
    if caches == Caches::default() && cfg!(target_os = "macos") {
        let ask = |name: &str| ask("sysctl", &["-n", name])?.parse().ok().filter(|&size| size > 0);
        // Apple's performance cores have keys of their own.
        caches.l1d = ask("hw.perflevel0.l1dcachesize").or_else(|| ask("hw.l1dcachesize"));
        caches.l2 = ask("hw.perflevel0.l2cachesize").or_else(|| ask("hw.l2cachesize"));
        caches.l3 = ask("hw.l3cachesize");
    }
    #[cfg(target_arch = "x86_64")]
    if caches == Caches::default() {
        caches = caches_by_cpuid();
    }
    caches
}

/// `32K`, `1024K` or `32M` in bytes.
fn cache_size(text: &str) -> Option<u64> {
    let (digits, factor) = match text.as_bytes().last()? {
        b'K' => (&text[..text.len() - 1], 1 << 10),
        b'M' => (&text[..text.len() - 1], 1 << 20),
        _ => (text, 1),
    };
    digits.parse::<u64>().ok()?.checked_mul(factor)
}

/// Leaf 4 on Intel, leaf 0x8000001D on AMD, of the same form (Intel SDM vol. 2A; AMD APM vol. 3, E.4.15).
#[cfg(target_arch = "x86_64")]
fn caches_by_cpuid() -> Caches {
    use std::arch::x86_64::{__cpuid, __cpuid_count};
    let mut caches = Caches::default();
    let leaf = if __cpuid(0x8000_0000).eax >= 0x8000_001d && __cpuid_count(0x8000_001d, 0).eax != 0
    {
        0x8000_001d
    } else if __cpuid(0).eax >= 4 {
        4
    } else {
        return caches;
    };
    for index in 0..8 {
        let r = __cpuid_count(leaf, index);
        let (kind, level) = (r.eax & 0x1f, r.eax >> 5 & 0x7);
        let (ways, parts, line) = (r.ebx >> 22, r.ebx >> 12 & 0x3ff, r.ebx & 0xfff);
        let size = [ways, parts, line, r.ecx].into_iter().map(|n| u64::from(n) + 1).product();
        match (level, kind) {
            (_, 0) => break,
            (1, 1 | 3) => caches.l1d = Some(size),
            (2, _) => caches.l2 = Some(size),
            (3, _) => caches.l3 = Some(size),
            _ => {}
        }
    }
    caches
}

fn os() -> String {
    if let Ok(kernel) = fs::read_to_string("/proc/sys/kernel/osrelease") {
        let release = fs::read_to_string("/etc/os-release").unwrap_or_default();
        let name = release
            .lines()
            .find_map(|line| line.strip_prefix("PRETTY_NAME="))
            .map_or("Linux", |name| name.trim_matches(['"', '\'']));
        return format!("{name}, Linux {}", kernel.trim());
    }
    if let Some(version) = ask("sw_vers", &["-productVersion"]) {
        return format!("macOS {version}");
    }
    if cfg!(windows)
        && let Some(version) = ask("cmd", &["/c", "ver"])
    {
        return version;
    }
    env::consts::OS.to_owned()
}

/// Which build ran, when, and how: what every run in the records carries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Provenance {
    /// The command that repeats the run.
    pub command: String,
    /// Now, in UTC (RFC 3339).
    pub date: String,
    /// The commit of the course, with `+` behind it if files were changed; `unknown` outside a checkout.
    pub commit: String,
    /// The compiler's version.
    pub rustc: String,
    /// The profile, the optimisation level, the target and the compiler flags.
    pub flags: String,
}

impl Provenance {
    /// Of this process, at this moment.
    pub fn now() -> Self {
        static COMMIT: OnceLock<String> = OnceLock::new();
        let since_1970 =
            SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        Self {
            command: command_line(
                BUILT.get().map(|features| (env!("LAB_FLAGS"), *features)),
                &|name| env::var_os(name).map(|value| value.to_string_lossy().into_owned()),
                // A folder's name need not be text.
                env::args_os().map(|word| word.to_string_lossy().into_owned()),
            ),
            date: rfc3339(since_1970),
            commit: COMMIT
                .get_or_init(|| commit(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")))
                .clone(),
            rustc: env!("LAB_RUSTC").to_owned(),
            flags: env!("LAB_FLAGS").to_owned(),
        }
    }
}

/// The features that the course's own command was built with. Another program has said nothing.
static BUILT: OnceLock<&[&str]> = OnceLock::new();

/// Says that this program is the course's own command, whatever its file is called, built with these features.
pub fn is_the_command(features: &'static [&'static str]) {
    let _ = BUILT.set(features);
}

/// Whether a build with these [`Provenance::flags`] computes more slowly than the course's own: its numbers are no records.
pub fn is_development(flags: &str) -> bool {
    let level = flags.split_once("opt-level=").map(|(_, level)| level);
    !flags.starts_with("release") || level.is_some_and(|level| !level.starts_with(['2', '3']))
}

/// Says on standard error that this program is a development build, if it is one.
pub fn warn_of_development() {
    if is_development(env!("LAB_FLAGS")) {
        warn(format!(
            "note: this is a development build ({}): its times are not those of the course, and its records can't be sent \
             in; cargo run --release makes the other",
            env!("LAB_FLAGS")
        ));
    }
}

/// What numbers depend on besides the command's words.
pub(crate) const VARIABLES: [&str; 4] =
    ["THROUGHPUT_DEVICE", "THROUGHPUT_OPENCL", "RAYON_NUM_THREADS", "MNIST_DIR"];

/// The course's own command, built like this (its flags and features), as a reader types it, with the [`VARIABLES`] that are
/// set; of any other program the name and the arguments. Where files lie is the reader's own business.
fn command_line(
    built: Option<(&str, &[&str])>,
    variable: &dyn Fn(&str) -> Option<String>,
    arguments: impl IntoIterator<Item = String>,
) -> String {
    let mut arguments = arguments.into_iter();
    let program = arguments.next().unwrap_or_default();
    let mut words = Vec::new();
    if let Some((flags, features)) = built {
        let set = VARIABLES.iter().filter_map(|name| Some(format!("{name}={}", variable(name)?)));
        words.extend(set);
        words.push("cargo run".to_owned());
        words.extend(flags.starts_with("release").then(|| "--release".to_owned()));
        if !features.is_empty() {
            words.push(format!("--features {}", features.join(",")));
        }
        words.push("--".to_owned());
    } else {
        let stem = Path::new(&program).file_stem();
        words.push(stem.map_or_else(String::new, |stem| stem.to_string_lossy().into_owned()));
    }
    let fixed = words.len();
    words.extend(arguments);
    let placed = |word: &String| {
        let (name, value) = match word.split_once('=') {
            Some((name, value)) => (format!("{name}="), value),
            None => (String::new(), word.as_str()),
        };
        let away = Path::new(value).is_absolute() || value.starts_with(['~', '\\']);
        if away { format!("{name}PATH") } else { word.clone() }
    };
    words = words.iter().map(placed).collect();
    for word in &mut words[fixed..] {
        let plain = |c: char| c.is_alphanumeric() || "-_=./:,+@%".contains(c);
        if word.is_empty() || !word.chars().all(plain) {
            *word = format!("'{}'", word.replace('\'', "'\\''"));
        }
    }
    words.join(" ")
}

/// Names the commit of a program that was built on another machine.
const COMMIT_CARRIED: &str = "THROUGHPUT_COMMIT";

/// The commit that [`COMMIT_CARRIED`] names, if it is one.
fn carried(said: Option<String>) -> Option<String> {
    said.filter(|said| {
        let digits = said.strip_suffix('+').unwrap_or(said);
        (7..=40).contains(&digits.len()) && digits.bytes().all(|b| b.is_ascii_hexdigit())
    })
}

/// The carried commit, else the short one of the checkout that `folder` is the top of. Records and notebooks, which measuring
/// itself writes, do not make it a changed one.
fn commit(folder: &Path) -> String {
    // A checkout that lies where this program was built elsewhere may be of another commit.
    if let Some(commit) = carried(env::var(COMMIT_CARRIED).ok()) {
        return commit;
    }
    let git = |arguments: &[&str]| git::of_top(folder, arguments);
    let Some(commit) = git(&["rev-parse", "--short", "HEAD"]) else {
        return "unknown".to_owned();
    };
    let rest = [":(top)", ":(top,exclude)book/records", ":(top,exclude)notebooks"];
    let changed =
        git(&[&["status", "--porcelain", "--untracked-files=no", "--"], &rest[..]].concat());
    if changed.is_some_and(|files| files.is_empty()) { commit } else { format!("{commit}+") }
}

/// Seconds since 1970 as `2026-01-31T23:59:59Z` (Hinnant, "chrono-compatible low-level date algorithms",
/// `civil_from_days`).
fn rfc3339(seconds: u64) -> String {
    let (days, second) = (seconds / 86_400, seconds % 86_400);
    let shifted = days + 719_468;
    let (era, day_of_era) = (shifted / 146_097, shifted % 146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let march_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * march_month + 2) / 5 + 1;
    let month = if march_month < 10 { march_month + 3 } else { march_month - 9 };
    let year = year_of_era + 400 * era + u64::from(month <= 2);
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::repository;

    #[test]
    fn this_machine_has_a_cpu_cores_memory_and_a_system() {
        let machine = Machine::detect();
        assert!(!machine.cpu.is_empty() && !machine.os.is_empty());
        assert!(machine.cores >= 1);
        assert!(machine.memory > 100 << 20, "{} bytes of memory", machine.memory);
        if cfg!(target_arch = "x86_64") {
            assert!(machine.features.contains(&"sse2".to_owned()), "{:?}", machine.features);
        }
        // What is written is read back the same.
        let text = serde_json::to_string(&machine).unwrap();
        assert_eq!(serde_json::from_str::<Machine>(&text).unwrap(), machine);
    }

    #[test]
    #[cfg(target_arch = "x86_64")]
    fn cpuid_and_the_system_agree_on_the_caches() {
        let (asked, told) = (caches_by_cpuid(), caches());
        if let (Some(asked), Some(told)) = (asked.l1d, told.l1d) {
            assert_eq!(asked, told);
        }
        assert!(told.l1d.is_none_or(|size| (4 << 10..=1 << 20).contains(&size)), "{told:?}");
    }

    #[test]
    fn a_machine_is_told_in_a_few_words() {
        let features = ["sse2", "avx2", "avx512f"].map(str::to_owned);
        let [cpu, gpu] = ["AMD EPYC", "NVIDIA H200"].map(str::to_owned);
        let mut machine =
            Machine { cpu, cores: 2, features: features[..2].to_vec(), ..Machine::default() };
        assert_eq!(machine.in_short(), "AMD EPYC, 2 cores, AVX2");
        machine = Machine { features: features.to_vec(), gpus: vec![gpu], cores: 1, ..machine };
        assert_eq!(machine.in_short(), "AMD EPYC, 1 core, AVX-512, NVIDIA H200");
    }

    #[test]
    fn an_older_machine_file_without_caches_is_read() {
        let text = r#"{"cpu":"a","cores":2,"features":[],"memory":1,"os":"b","gpus":[],"driver":null,"cuda":null}"#;
        assert_eq!(serde_json::from_str::<Machine>(text).unwrap().caches, Caches::default());
    }

    #[test]
    fn units_of_bf16_are_features_only_where_they_may_be_used() {
        assert_eq!(features().contains(&"amx-bf16"), amx_bf16());
        assert_eq!(why_no_amx().is_none(), amx_bf16());
        assert_eq!(features().contains(&"avx512bf16"), avx512_bf16());
    }

    #[test]
    fn what_tools_print_is_understood() {
        let gpu = nvidia_gpu("NVIDIA H200, 580.65.06, 143771, 9.0").unwrap();
        assert_eq!(gpu.name, "NVIDIA H200");
        assert_eq!((gpu.driver.as_str(), gpu.capability.as_deref()), ("580.65.06", Some("9.0")));
        assert_eq!(gpu.memory, Some(143_771 << 20));
        assert_eq!(nvidia_gpu("No devices were found"), None);
        assert_eq!(nvidia_gpu("GPU is lost.  Reboot, the system, to recover, this GPU"), None);
        for (line, wanted) in [
            ("GB10, 580.95.05, [N/A], 12.1", "GB10 (memory not told, compute capability 12.1)"),
            ("B, 580.95.05, 1024, [N/A]", "B (1.00 GiB, compute capability not told)"),
        ] {
            assert_eq!(nvidia_gpu(line).unwrap().in_words(), wanted);
        }
        let nvcc =
            "nvcc: NVIDIA (R) Cuda compiler driver\nCuda compilation tools, release 13.0, V13.0.88";
        assert_eq!(nvcc_version(nvcc).as_deref(), Some("13.0"));
        assert_eq!(nvcc_version("something else"), None);
        assert_eq!(cache_size("32K"), Some(32 << 10));
        assert_eq!(cache_size("32M"), Some(32 << 20));
        assert_eq!(cache_size(""), None);
        assert_eq!(kibibytes("16303520 kB"), Some(16_303_520 << 10));
        assert_eq!(field("a: 1\nmodel name\t: X\n", "model name").as_deref(), Some("X"));
    }

    #[test]
    fn dates_are_in_utc() {
        assert_eq!(rfc3339(0), "1970-01-01T00:00:00Z");
        assert_eq!(rfc3339(951_782_400), "2000-02-29T00:00:00Z");
        assert_eq!(rfc3339(1_704_067_199), "2023-12-31T23:59:59Z");
        assert_eq!(rfc3339(4_107_542_400), "2100-03-01T00:00:00Z");
    }

    #[test]
    fn a_command_can_be_typed_again() {
        let line = |built, set: &[(&str, &str)], words: &[&str]| {
            let of = |name: &str| set.iter().find(|(n, _)| *n == name).map(|(_, v)| v.to_string());
            command_line(built, &of, words.iter().map(ToString::to_string))
        };
        let release = "release, opt-level=3, x86_64-unknown-linux-gnu";
        let words = ["/home/me/bin/tp2", "measure", "lab", "--data", "my files"];
        assert_eq!(
            line(Some((release, &[])), &[("HOME", "/home/me")], &words),
            "cargo run --release -- measure lab --data 'my files'"
        );
        let set = [("THROUGHPUT_DEVICE", "cuda:0"), ("MNIST_DIR", "/home/me/mnist")];
        let words = ["x", "measure", "--records", "/home/me/r", "--peers=/opt/me/python"];
        assert_eq!(
            line(Some(("dev, opt-level=1", &["cuda", "mpi"])), &set, &words),
            "THROUGHPUT_DEVICE=cuda:0 MNIST_DIR=PATH cargo run --features cuda,mpi -- measure --records PATH \
             --peers=PATH"
        );
        assert_eq!(line(None, &set, &["/x/bench", "it's", ""]), "bench 'it'\\''s' ''");
        assert_eq!(line(None, &[], &[]), "");
    }

    #[test]
    fn a_build_that_is_not_optimised_is_a_development_build() {
        assert!(!is_development(
            "release, opt-level=3, x86_64-unknown-linux-gnu -C target-cpu=native"
        ));
        assert!(is_development("dev, opt-level=1, x86_64-unknown-linux-gnu"));
        assert!(is_development("dev, opt-level=3, x86_64-unknown-linux-gnu"));
        assert!(is_development("release, opt-level=0") && is_development("release, opt-level=s"));
    }

    #[test]
    fn provenance_names_the_compiler_the_profile_and_the_commit() {
        let now = Provenance::now();
        assert!(now.rustc.starts_with("rustc ") || now.rustc == "unknown", "{}", now.rustc);
        assert!(now.flags.contains("opt-level="), "{}", now.flags);
        assert!(now.date.ends_with('Z') && now.date.as_str() > "2026", "{}", now.date);
        let commit = now.commit.trim_end_matches('+');
        assert!(
            commit == "unknown" || commit.chars().all(|c| c.is_ascii_hexdigit()),
            "{}",
            now.commit
        );
    }

    #[test]
    #[cfg(unix)]
    fn a_driver_that_starts_slowly_is_waited_for() {
        let slow = "sleep 1.8; echo 'NVIDIA H200, 580.65.06, 143771, 9.0'";
        let gpus = nvidia_gpus_by("sh", &["-c", slow]);
        assert_eq!((gpus[0].name.as_str(), gpus[0].memory), ("NVIDIA H200", Some(143_771 << 20)));
        assert!(nvidia_gpus_by("no-such-program-as-this", &[]).is_empty());
    }

    #[test]
    fn a_carried_program_is_told_its_commit() {
        for (said, wanted) in [
            (None, None),
            (Some("82ecf3d"), Some("82ecf3d")),
            (Some("82ecf3d+"), Some("82ecf3d+")),
            (Some("main"), None),
            (Some(""), None),
            (Some("82ecf3d; rm"), None),
        ] {
            assert_eq!(carried(said.map(str::to_owned)).as_deref(), wanted);
        }
    }

    #[test]
    fn a_folder_outside_a_checkout_has_no_commit_and_a_changed_file_is_told() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(commit(folder.path()), "unknown");
        let Some(git) = repository(folder.path()) else { return };
        fs::write(folder.path().join("a"), "1").unwrap();
        fs::create_dir_all(folder.path().join("book/records")).unwrap();
        fs::write(folder.path().join("book/records/b"), "1").unwrap();
        git(&["add", "."]);
        git(&["commit", "-q", "-m", "a"]);
        // Unpacked inside a repository of something else, it has no commit.
        assert_eq!(commit(&folder.path().join("book")), "unknown");
        let clean = commit(folder.path());
        assert!(clean.len() >= 4 && !clean.ends_with('+'), "{clean}");
        fs::write(folder.path().join("book/records/b"), "2").unwrap();
        assert_eq!(commit(folder.path()), clean);
        fs::write(folder.path().join("a"), "2").unwrap();
        assert_eq!(commit(folder.path()), format!("{clean}+"));
    }
}
