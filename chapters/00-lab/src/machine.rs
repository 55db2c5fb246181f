//! Which machine a record comes from, and which build made it.

mod nvidia;
mod provenance;

use crate::probe::ask;
#[cfg(target_arch = "x86_64")]
use raw_cpuid::{CacheType, CpuId};
use serde::{Deserialize, Serialize};
use std::{env, fs};

pub(crate) use nvidia::{NvidiaGpu, cuda_toolkit, nvidia_gpus};
pub(crate) use provenance::VARIABLES;
pub use provenance::{Provenance, is_the_command, is_unoptimised, warn_if_unoptimised};

/// A machine, as `machine.json` keeps it.
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

impl Machine {
    /// The machine as a caption names it: `AMD EPYC (2 cores)`.
    pub fn in_words(&self) -> String {
        format!("{} ({} cores)", self.cpu, self.cores)
    }

    /// Whether it may be that machine at a later time: with a new driver, system or compiler, or GPUs that it shows only now.
    pub fn may_be(&self, later: &Self) -> bool {
        self.cpu == later.cpu && (self.gpus.is_empty() || self.gpus == later.gpus)
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
    /// What this machine is. Asks the operating system and NVIDIA's tools; takes most often a few hundredths of a second, and
    /// some ten where the driver has to start all GPUs first.
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

/// The instruction sets of this CPU that the course has a path for, or that explain a result.
fn features() -> Vec<&'static str> {
    let mut found = Vec::new();
    #[cfg_attr(not(any(target_arch = "x86_64", target_arch = "aarch64")), expect(unused_macros))]
    macro_rules! probe {
        ($detected:ident: $($name:tt)*) => {
            $(if std::arch::$detected!($name) {
                found.push($name);
            })*
        };
    }
    #[cfg(target_arch = "x86_64")]
    probe!(is_x86_feature_detected: "sse2" "sse4.2" "avx" "avx2" "fma" "f16c" "avx512f" "avx512bw" "avx512vl"
        "avx512bf16" "avx512fp16" "avx512vnni");
    #[cfg(target_arch = "aarch64")]
    probe!(is_aarch64_feature_detected: "neon" "fp16" "bf16" "i8mm" "sve" "sve2");
    found.extend(amx::usable().then_some("amx-bf16"));
    found
}

/// Whether this CPU has AVX512-BF16, and the system lets programs use it.
pub fn avx512_bf16() -> bool {
    #[cfg(target_arch = "x86_64")]
    return is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512bf16");
    #[cfg(not(target_arch = "x86_64"))]
    false
}

/// Whether pairs of bf16 in this CPU's vectors make more operations in a second than f32 does. It is known by the maker and not
/// by a clock: runs of one command must take the same unit, or their bits differ, and where the two are about as fast a clock
/// decides by chance. AMD starts as many `VDPBF16PS` as FMAs, with twice the operations in each (Zen 4 and 5, by this crate's
/// peaks); Intel half as many of them, which gains nothing over f32.
pub fn pairs_pay() -> bool {
    avx512_bf16() && maker() == "AuthenticAMD"
}

/// Who made an x86 CPU.
#[cfg(target_arch = "x86_64")]
fn maker() -> String {
    CpuId::new().get_vendor_info().map_or_else(String::new, |maker| maker.as_str().to_owned())
}

#[cfg(not(target_arch = "x86_64"))]
fn maker() -> String {
    String::new()
}

/// Whether this process may use AMX tiles with bf16. The first call asks Linux for the permission, which
/// then holds for every thread.
pub fn amx_bf16() -> bool {
    amx::usable()
}

/// Why [`amx_bf16`] is false, as a clause; `None` where it is true.
pub fn why_no_amx() -> Option<&'static str> {
    match (amx_bf16(), amx::carried()) {
        (true, _) => None,
        (false, true) => Some("this system does not let programs use AMX"),
        (false, false) => Some("this CPU has no AMX"),
    }
}

#[cfg(not(target_arch = "x86_64"))]
mod amx {
    pub fn usable() -> bool {
        false
    }

    pub fn carried() -> bool {
        false
    }
}

#[cfg(target_arch = "x86_64")]
mod amx {
    use std::{arch::x86_64, sync::OnceLock};

    pub fn usable() -> bool {
        static USABLE: OnceLock<bool> = OnceLock::new();
        *USABLE.get_or_init(|| carried() && permitted())
    }

    /// Leaf 7, EDX: bit 22 is AMX-BF16, bit 24 AMX-TILE (Intel SDM vol. 2A, CPUID).
    pub fn carried() -> bool {
        x86_64::__cpuid(0).eax >= 7 && {
            let edx = x86_64::__cpuid_count(7, 0).edx;
            edx & (1 << 22) != 0 && edx & (1 << 24) != 0
        }
    }

    /// Linux grants the tiles' 8 KiB of state on request, if it saves them when it switches threads:
    /// `arch_prctl(ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA)`
    /// (Documentation/arch/x86/xstate.rst).
    #[cfg(target_os = "linux")]
    fn permitted() -> bool {
        const ARCH_REQ_XCOMP_PERM: libc::c_ulong = 0x1023;
        const XFEATURE_XTILEDATA: libc::c_ulong = 18;
        // SAFETY: the call takes two numbers and touches no memory of ours.
        unsafe { libc::syscall(libc::SYS_arch_prctl, ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA) == 0 }
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

/// The brand string that x86 CPUs carry, on any system.
#[cfg(target_arch = "x86_64")]
fn brand() -> Option<String> {
    let name = CpuId::new().get_processor_brand_string()?.as_str().trim().to_owned();
    (!name.is_empty()).then_some(name)
}

#[cfg(not(target_arch = "x86_64"))]
fn brand() -> Option<String> {
    None
}

/// The text behind `name:` in a file of such lines.
pub(crate) fn field(text: &str, name: &str) -> Option<String> {
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
pub(crate) fn kibibytes(text: &str) -> Option<u64> {
    text.strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

impl Caches {
    fn put(&mut self, level: &str, has_data: bool, size: u64) {
        match (level, has_data) {
            ("1", true) => self.l1d = Some(size),
            ("2", _) => self.l2 = Some(size),
            ("3", _) => self.l3 = Some(size),
            _ => {}
        }
    }
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
        caches.put(&level, kind != "Instruction", size);
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

#[cfg(target_arch = "x86_64")]
fn caches_by_cpuid() -> Caches {
    let mut caches = Caches::default();
    for cache in CpuId::new().get_cache_parameters().into_iter().flatten() {
        let (ways, parts) = (cache.associativity(), cache.physical_line_partitions());
        let size = ways * parts * cache.coherency_line_size() * cache.sets();
        let has_data = cache.cache_type() != CacheType::Instruction;
        caches.put(&cache.level().to_string(), has_data, size as u64);
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

#[cfg(test)]
mod tests {
    use super::*;

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
    fn what_tools_print_is_understood() {
        assert_eq!(cache_size("32K"), Some(32 << 10));
        assert_eq!(cache_size("32M"), Some(32 << 20));
        assert_eq!(cache_size(""), None);
        assert_eq!(kibibytes("16303520 kB"), Some(16_303_520 << 10));
        assert_eq!(field("a: 1\nmodel name\t: X\n", "model name").as_deref(), Some("X"));
    }
}
