//! What NVIDIA's compilers make of a kernel: their words about it, and the machine code.
//!
//! A kernel can be right and many times too slow because a register array has become memory, or because `ptxas` lets
//! each product of `wgmma` wait for the one before. The compiler says so in a line that it calls information, and goes
//! on. Here such a line is a failure ([`fault`]), and so is the machine code that has come of it.
//!
//! Tests of later chapters use this file by `#[path]`: it is for tests alone, so it belongs to no library.

use cpu_gpu::gpu::{nvrtc::Nvrtc, testing::PROBE};
use lab::testing::{Tool, need};
use std::{
    collections::BTreeMap,
    env,
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
    process::Command,
    sync::{
        Mutex, OnceLock,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

/// Compute capabilities: Ampere (A100), Hopper (H100, H200), Blackwell (B200).
pub const GENERATIONS: [u32; 3] = [80, 90, 100];

/// A tool of the CUDA toolkit: below `CUDA_PATH`, or on the path; `works` says why it is of no use, if so.
fn tool(name: &str, works: impl Fn(&Path) -> Result<(), String>) -> Result<PathBuf, String> {
    let folders = env::var_os("CUDA_PATH")
        .map(|root| PathBuf::from(root).join("bin"))
        .into_iter()
        .chain(env::split_paths(&env::var_os("PATH").unwrap_or_default()).collect::<Vec<_>>());
    let found = folders.map(|folder| folder.join(name)).find(|path| path.is_file());
    let path = found.ok_or("there is none (tools/cuda/toolkit.sh gets one)")?;
    works(&path).map_err(|why| why.trim().to_owned())?;
    Ok(path)
}

/// NVIDIA's compiler as a program, for all of [`GENERATIONS`].
pub fn nvcc() -> Option<PathBuf> {
    static FOUND: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    let found = FOUND.get_or_init(|| {
        tool("nvcc", |nvcc| {
            let folder = tempfile::tempdir().map_err(|e| e.to_string())?;
            let source = folder.path().join("probe.cu");
            fs::write(&source, PROBE).map_err(|e| e.to_string())?;
            let mut command = Command::new(nvcc);
            command.args(["-cubin", "-std=c++17", "-arch", "sm_100", "-o"]);
            let output = command.arg(folder.path().join("probe.cubin")).arg(source).output();
            let output = output.map_err(|e| e.to_string())?;
            let words = String::from_utf8_lossy(&output.stderr).into_owned();
            if output.status.success() { Ok(()) } else { Err(words) }
        })
    });
    need(Tool::Nvcc, found.clone())
}

/// What prints machine code as text, that of all [`GENERATIONS`].
pub fn nvdisasm() -> Option<PathBuf> {
    static FOUND: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    let found = FOUND.get_or_init(|| {
        tool("nvdisasm", |nvdisasm| {
            let nvrtc = Nvrtc::load().map_err(|e| e.to_string())?;
            let tried = nvrtc.compile(PROBE, &[], "probe", "sm_100").map_err(|e| e.to_string())?;
            Code::of(nvdisasm, &tried.0).map(drop)
        })
    });
    need(Tool::Nvdisasm, found.clone())
}

/// Runs every job on all threads of this machine. A job has a name; what it returns is printed, and what it refuses
/// fails the test, all of it together.
#[track_caller]
pub fn all<J: Sync>(
    jobs: &[J],
    name: impl Fn(&J) -> String + Sync,
    work: impl Fn(&J) -> Result<String, String> + Sync,
) {
    let (next, done) = (AtomicUsize::new(0), Mutex::new(BTreeMap::new()));
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                while let Some(job) = jobs.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let result = work(job);
                    done.lock().unwrap().insert(name(job), result);
                }
            });
        }
    });
    let (mut report, mut failures) = (String::new(), String::new());
    let done = done.into_inner().unwrap();
    assert_eq!(done.len(), jobs.len(), "each job has a name of its own");
    for (name, result) in done {
        let text = if result.is_ok() { &mut report } else { &mut failures };
        let words = result.unwrap_or_else(|words| words);
        let _ = writeln!(text, "{name}: {}", words.trim());
    }
    eprint!("{report}");
    assert!(failures.is_empty(), "\n{failures}");
}

/// What a kernel needs, by `ptxas -v`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Resources {
    /// Of a thread.
    pub registers: usize,
    /// Bytes of a block, declared ones alone.
    pub shared: usize,
    /// Bytes of a thread's stack: arrays whose index is not known when it is compiled.
    pub stack: usize,
    /// Bytes that a thread stores to memory for want of registers.
    pub spilled: usize,
}

impl Resources {
    /// Reads the words of nvcc or of NVRTC, which differ in the beginning of a line. The largest number counts, should
    /// there be several functions.
    pub fn parse(words: &str) -> Option<Self> {
        let before = |mark: &str| {
            words
                .match_indices(mark)
                .filter_map(|(at, _)| {
                    let text = words[..at].trim_end();
                    text.rsplit(|c: char| !c.is_ascii_digit()).next()?.parse::<usize>().ok()
                })
                .max()
        };
        Some(Self {
            registers: before(" registers")?,
            shared: before(" bytes smem").unwrap_or(0),
            stack: before(" bytes stack frame")?,
            spilled: before(" bytes spill stores")?.max(before(" bytes spill loads")?),
        })
    }

    /// What a test prints of it.
    pub fn line(self) -> String {
        format!("{} registers, {} bytes of shared memory", self.registers, self.shared)
    }

    /// Blocks of so many threads that fit the registers of a multiprocessor: 65,536 of them, handed out in eights for
    /// each thread (CUDA C++ Programming Guide, "Technical Specifications per Compute Capability", 7.0 to 10.0).
    pub fn blocks(self, threads: usize) -> usize {
        65536 / (self.registers.next_multiple_of(8) * threads)
    }
}

/// The line in which a compiler says that the code is slower than it was written, if there is one: a warning, products
/// that wait for each other, a wait that it had to add.
pub fn complaint(words: &str) -> Option<&str> {
    words.lines().find(|line| {
        let line = line.to_lowercase();
        ["warning", "potential performance loss", "is injected", "serialized"]
            .iter()
            .any(|sign| line.contains(sign))
    })
}

/// What is wrong with a kernel that compiles: [`complaint`], a stack, registers in memory, or words that say nothing of
/// it.
pub fn fault(words: &str) -> Result<Resources, String> {
    if let Some(line) = complaint(words) {
        return Err(line.trim().to_owned());
    }
    let used = Resources::parse(words).ok_or_else(|| format!("what does this mean? {words}"))?;
    if used.stack > 0 || used.spilled > 0 {
        return Err(format!("{} bytes of stack, {} spilled", used.stack, used.spilled));
    }
    Ok(used)
}

/// A kernel's text, macros and name, compiled by NVRTC as the course does when it runs: what it needs, in words. `judge` reads
/// the compiler's own, as [`fault`] does. The machine code of a kernel without a stack has no memory of a thread's own.
pub fn compiled(
    (nvrtc, nvdisasm): (&Nvrtc, Option<&Path>),
    (source, options, entry): (&str, &[(&str, String)], &str),
    target: &str,
    judge: impl Fn(&str) -> Result<Resources, String>,
) -> Result<String, String> {
    let (image, words) =
        nvrtc.compile(source, options, entry, target).map_err(|e| e.to_string())?;
    let used = judge(&words)?;
    if let Some(nvdisasm) = nvdisasm {
        let code = Code::of(nvdisasm, &image)?;
        if used.stack == 0 && code.local() > 0 || code.count("EXIT") == 0 {
            return Err(format!("{} loads and stores of local memory", code.local()));
        }
    }
    Ok(used.line())
}

/// Machine code as text.
pub struct Code(pub String);

impl Code {
    /// Of a cubin.
    pub fn of(nvdisasm: &Path, image: &[u8]) -> Result<Self, String> {
        let folder = tempfile::tempdir().map_err(|e| e.to_string())?;
        let cubin = folder.path().join("kernel.cubin");
        fs::write(&cubin, image).map_err(|e| e.to_string())?;
        let output = Command::new(nvdisasm).arg("-c").arg(&cubin).output();
        let output = output.map_err(|e| e.to_string())?;
        if !output.status.success() {
            return Err(String::from_utf8_lossy(&output.stderr).into_owned());
        }
        Ok(Self(String::from_utf8_lossy(&output.stdout).into_owned()))
    }

    /// The instructions, without their addresses: `@!P0 LDG.E.128 R4, …`.
    pub fn instructions(&self) -> impl Iterator<Item = &str> {
        self.0.lines().filter_map(|line| {
            let (address, rest) = line.trim_start().strip_prefix("/*")?.split_once("*/")?;
            let is_one = address.len() >= 4 && address.bytes().all(|b| b.is_ascii_hexdigit());
            is_one.then(|| rest.trim())
        })
    }

    /// How many instructions have this name, or one that begins with it and a dot: `LDS` counts `LDS.128`.
    pub fn count(&self, name: &str) -> usize {
        let named = |line: &&str| {
            let words = line.split_whitespace().find(|word| !word.starts_with('@'));
            words.is_some_and(|word| {
                word == name || word.strip_prefix(name).is_some_and(|rest| rest.starts_with('.'))
            })
        };
        self.instructions().filter(named).count()
    }

    /// Loads from and stores to a thread's own memory, where no register should live.
    pub fn local(&self) -> usize {
        self.count("LDL") + self.count("STL")
    }
}

#[test]
fn the_words_of_both_compilers_are_understood() {
    let words = "ptxas info    : Compiling entry function 'wmma' for 'sm_80'\n\
                 ptxas info    : Function properties for wmma\n    \
                 64 bytes stack frame, 72 bytes spill stores, 76 bytes spill loads\n\
                 ptxas info    : Used 123 registers, used 1 barriers, 48128 bytes smem, 396 bytes cmem[0]\n";
    let wanted = Resources { registers: 123, shared: 48128, stack: 64, spilled: 76 };
    assert_eq!(Resources::parse(words), Some(wanted));
    let without = words.replace(", 48128 bytes smem, 396 bytes cmem[0]", "");
    assert_eq!(Resources::parse(&without).unwrap().shared, 0);
    let nvrtc = words.replace("\n    64", "\nptxas         .     64");
    assert_eq!(Resources::parse(&nvrtc), Some(wanted));
    // Of several functions the worst.
    assert_eq!(Resources::parse(&format!("{words}{without}")), Some(wanted));
    assert_eq!(Resources::parse("error: expected a `;`"), None);
    assert_eq!(wanted.blocks(256), 2);
}

/// Words that `ptxas` has printed: of `wgmma.cu` with a loop over its sums that is not unrolled, with a register changed
/// while products are under way, and from NVIDIA/cutlass#1840 and NVIDIA/TensorRT-LLM#2116.
#[test]
fn what_makes_a_kernel_slow_is_a_fault() {
    let stack = "ptxas info    : Compiling entry function 'wgmma' for 'sm_90a'\n\
                 ptxas info    : Function properties for wgmma\n    \
                 512 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n\
                 ptxas info    : Used 168 registers, used 0 barriers, 512 bytes cumulative stack size\n";
    assert_eq!(Resources::parse(stack).unwrap().stack, 512);
    assert_eq!(fault(stack), Err("512 bytes of stack, 0 spilled".to_owned()));
    let good = stack.replace("512 bytes stack", "0 bytes stack");
    assert_eq!(fault(&good).map(|used| used.registers), Ok(168));
    for line in [
        "ptxas info    : (C7510) Potential Performance Loss: wgmma.mma_async instructions are serialized due to \
         wgmma pipeline crossing function boundary at a function call in the function 'wgmma'",
        "ptxas info    : (C7511) Potential Performance Loss: wgmma.mma_async instructions are serialized due to \
         insufficient register resources for the wgmma pipeline in the function 'k'",
        "ptxas info    : (C7514) Potential Performance Loss: wgmma.mma_async instructions are serialized due to non \
         wgmma instructions reading accumulator registers of  a wgmma between start and end of the pipeline stage in \
         the function 'wgmma'",
        "ptxas info    : (C7515) Potential Performance Loss: wgmma.mma_async instructions are serialized due to non \
         wgmma instructions defining accumulator registers of a wgmma between start and end of the pipeline stage in \
         the function 'selp_b16'",
        "ptxas info    : (C7517) warpgroup.wait is injected in around line 223 by compiler to allow use of registers \
         defined by GMMA in function 'wgmma'",
        "k.cu(7): warning #177-D: variable \"i\" was declared but never referenced",
    ] {
        let words = format!("{line}\n{good}");
        assert_eq!(complaint(&words), Some(line));
        assert_eq!(fault(&words), Err(line.to_owned()));
    }
}

#[test]
fn instructions_are_counted_by_their_names() {
    let code = Code(
        "\t.section\t.text.k\n.L_x_3:\n        /*0ac0*/                   HGMMA.64x256x16.F32.BF16 R24, gdesc[UR20].tnspB, R24 ;\n\
         \x20       /*0ad0*/              @!P0 LDS.128 R4, [R1+0x10] ;\n        /*0ae0*/                   LDS R4, [R1] ;\n\
         \x20       /*0af0*/                   LDSM.16.M88.4 R4, [R1] ;\n        /*0b00*/               @P1 STL.64 [R1], R2 ;\n"
            .to_owned(),
    );
    assert_eq!(code.instructions().count(), 5);
    let counts = ["HGMMA", "LDS", "LDSM", "LDS.128"].map(|name| code.count(name));
    assert_eq!(counts, [1, 2, 1, 1]);
    assert_eq!(code.local(), 1);
}
