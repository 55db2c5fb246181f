//! Every kernel of the chapter, compiled by NVIDIA's own compilers: `nvcc` and `ptxas` for three generations of GPUs, and
//! NVRTC as the course does when it runs. Neither needs a GPU.
//!
//! Where there is no compiler the tests report it and are skipped; `THROUGHPUT_REQUIRE_NVCC=1` and
//! `THROUGHPUT_REQUIRE_NVRTC=1` forbid that. `tools/cuda/compile.sh` gets both without root and runs this.

use cpu_gpu::{
    gpu::nvrtc::Nvrtc,
    ladder::LADDER,
    tensor_cores::{CudaRung, CudaTiles},
};
use matmul::Shape;
use std::{collections::BTreeMap, fmt::Write as _, process::Command};

/// A kernel as it is compiled for one purpose.
struct Variant {
    name: String,
    entry: &'static str,
    source: &'static str,
    options: Vec<(&'static str, String)>,
    /// Put behind the generation's number where it has features of its own.
    suffix: &'static str,
    /// Whether it is one of the rungs whose sums must all stay in registers.
    no_spills: bool,
}

/// Compute capabilities: Ampere (A100), Hopper (H100, H200), Blackwell (B200).
const GENERATIONS: [u32; 3] = [80, 90, 100];

fn variants() -> Vec<Variant> {
    let mut all = Vec::new();
    for rung in &LADDER {
        for tiles in rung.tiles {
            // Where rows are aligned, a kernel that asks for it is another one.
            for wide in if rung.source.contains("WIDE") { 0_u32..2 } else { 1..2 } {
                let defines = tiles.defines.iter().map(|(name, value)| (*name, value.to_string()));
                let mut options: Vec<_> = defines.collect();
                options.push(("WIDE", wide.to_string()));
                all.push(Variant {
                    name: format!("{} {} wide={wide}", rung.name, tiles.name),
                    entry: rung.name,
                    source: rung.source,
                    options,
                    suffix: "",
                    no_spills: matches!(rung.name, "warp_tiles" | "double_buffered" | "vectorised"),
                });
            }
        }
    }
    let special = CudaTiles::ALL.map(CudaRung::AsyncCopy).into_iter().chain(CudaRung::ALL).skip(1);
    for rung in special {
        for n in [256, 255] {
            let options = rung.plan(Shape::square(n), 132).expect("C is not empty").options;
            if n == 255 && options.is_empty() {
                continue;
            }
            let tiles = match rung {
                CudaRung::AsyncCopy(tiles) => format!(" {}", tiles.name()),
                _ => String::new(),
            };
            all.push(Variant {
                name: format!("{}{tiles} n={n}", rung.name()),
                entry: rung.name(),
                source: rung.source(),
                options,
                suffix: rung.suffix(),
                no_spills: true,
            });
        }
    }
    all
}

/// What `ptxas -v` says of a kernel.
#[derive(Debug, PartialEq)]
struct Resources {
    registers: u32,
    shared: u32,
    spilled: u32,
}

impl Resources {
    fn parse(words: &str) -> Option<Self> {
        let number = |before: &str, after: &str| {
            let end = words.find(after)?;
            let start = words[..end].rfind(before)? + before.len();
            words[start..end].trim().parse().ok()
        };
        Some(Self {
            registers: number("Used ", " registers")?,
            shared: number(", ", " bytes smem").unwrap_or(0),
            spilled: number("stack frame, ", " bytes spill stores")?,
        })
    }
}

#[test]
fn the_words_of_ptxas_are_understood() {
    let words = "ptxas info    : Compiling entry function 'wmma' for 'sm_80'\n\
                 ptxas info    : Function properties for wmma\n    \
                 64 bytes stack frame, 72 bytes spill stores, 76 bytes spill loads\n\
                 ptxas info    : Used 123 registers, used 1 barriers, 48128 bytes smem, 396 bytes cmem[0]\n";
    let wanted = Resources { registers: 123, shared: 48128, spilled: 72 };
    assert_eq!(Resources::parse(words), Some(wanted));
    let words = words.replace(", 48128 bytes smem, 396 bytes cmem[0]", "");
    assert_eq!(Resources::parse(&words).unwrap().shared, 0);
    assert_eq!(Resources::parse("error: expected a `;`"), None);
}

/// Whether a skip is forbidden.
fn required(variable: &str) -> bool {
    std::env::var(variable).is_ok_and(|value| value == "1")
}

/// Whether there is an nvcc on PATH. Says so where there is none.
fn has_nvcc() -> bool {
    let found = Command::new("nvcc").arg("--version").output().is_ok();
    if !found {
        assert!(!required("THROUGHPUT_REQUIRE_NVCC"), "there is no nvcc on PATH");
        eprintln!("skipped: no nvcc (tools/cuda/toolkit.sh gets one)");
    }
    found
}

/// Compiles with nvcc to `-cubin` or `-ptx`. Returns what the compilers said, and the file.
fn nvcc(variant: &Variant, target: &str, kind: &str) -> Result<(String, Vec<u8>), String> {
    let folder = tempfile::tempdir().map_err(|e| e.to_string())?;
    let source = folder.path().join(format!("{}.cu", variant.entry));
    let out = folder.path().join("out");
    std::fs::write(&source, variant.source).map_err(|e| e.to_string())?;
    let output = Command::new("nvcc")
        .args([kind, "-std=c++17", "-Xptxas", "-v", "-arch", target, "-o"])
        .arg(&out)
        .args(variant.options.iter().map(|(name, value)| format!("-D{name}={value}")))
        .arg(&source)
        .output()
        .map_err(|e| e.to_string())?;
    let words = String::from_utf8_lossy(&output.stderr).into_owned();
    if !output.status.success() {
        return Err(words);
    }
    Ok((words, std::fs::read(out).map_err(|e| e.to_string())?))
}

/// All variants for all generations, on every thread of this machine; `compile` returns a line for the report.
fn for_all(compile: impl Fn(&Variant, u32) -> Result<String, String> + Sync) {
    let variants = variants();
    let jobs: Vec<(&Variant, u32)> =
        variants.iter().flat_map(|v| GENERATIONS.map(|generation| (v, generation))).collect();
    let next = std::sync::atomic::AtomicUsize::new(0);
    let results = std::sync::Mutex::new(BTreeMap::new());
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                while let Some((variant, generation)) =
                    jobs.get(next.fetch_add(1, std::sync::atomic::Ordering::Relaxed))
                {
                    let result = compile(variant, *generation);
                    let key = (variant.name.clone(), *generation);
                    results.lock().unwrap().insert(key, result);
                }
            });
        }
    });
    let (mut report, mut failures) = (String::new(), String::new());
    for ((name, generation), result) in results.into_inner().unwrap() {
        let text = if result.is_ok() { &mut report } else { &mut failures };
        let words = result.unwrap_or_else(|words| words);
        let _ = writeln!(text, "{name} sm_{generation}: {}", words.trim());
    }
    eprint!("{report}");
    assert!(failures.is_empty(), "\n{failures}");
}

/// `sm_90a` for what Hopper alone has; for the other generations the same file is another kernel.
fn target(variant: &Variant, generation: u32) -> String {
    let suffix = if generation == 90 { variant.suffix } else { "" };
    format!("sm_{generation}{suffix}")
}

/// Blocks that a multiprocessor must hold: registers come in units of 8 for each thread (CUDA C++ Programming Guide,
/// "Technical Specifications per Compute Capability": 65,536 for a multiprocessor).
fn holds(registers: u32, threads: u32, blocks: u32) -> bool {
    registers.next_multiple_of(8) * threads * blocks <= 65536
}

#[test]
fn every_kernel_compiles_with_nvcc_and_the_top_rungs_spill_nothing() {
    if !has_nvcc() {
        return;
    }
    for_all(|variant, generation| {
        let (words, _) = nvcc(variant, &target(variant, generation), "-cubin")?;
        // ptxas warns where it can't keep products of `wgmma` in flight, and about everything else that matters.
        if words.contains("warning") || words.contains("Warning") {
            return Err(words);
        }
        let used =
            Resources::parse(&words).ok_or_else(|| format!("what does this mean? {words}"))?;
        let Resources { registers, shared, spilled } = used;
        let line =
            format!("{registers} registers, {shared} bytes of shared memory, {spilled} spilled");
        if variant.no_spills && spilled > 0 {
            return Err(line);
        }
        Ok(line)
    });
}

#[test]
fn blocks_of_async_copy_fit_as_often_as_they_say() {
    if !has_nvcc() {
        return;
    }
    for tiles in CudaTiles::ALL {
        let name = tiles.name();
        let all = variants();
        let variant = all.iter().find(|v| v.name == format!("async_copy {name} n=256"));
        let Some(variant) = variant else { continue };
        let used = Resources::parse(&nvcc(variant, "sm_90", "-cubin").unwrap().0).unwrap();
        assert!(used.registers <= 255);
        assert!(holds(used.registers, tiles.threads(), tiles.blocks_per_sm), "{name}: {used:?}");
    }
}

/// In PTX, before `ptxas` chooses registers: what the loop of `async_copy` is made of, and that `wmma` says where its
/// tiles are.
#[test]
fn the_compiled_kernels_do_what_their_files_say() {
    if !has_nvcc() {
        return;
    }
    let ptx = |name: &str, target: &str| {
        let all = variants();
        let variant = all.iter().find(|v| v.name.starts_with(name)).unwrap();
        String::from_utf8(nvcc(variant, target, "-ptx").unwrap().1).unwrap()
    };
    let count = |text: &str, words: &str| text.matches(words).count();

    let text = ptx("async_copy 128x256-8x16-s4-u4 n=256", "sm_90");
    // The body of the main loop: 16 steps along k for 8×16 sums, of 8 + 16 numbers each, four at a time.
    let (fma, loads) = (count(&text, "fma.rn.f32"), count(&text, "ld.shared.v4"));
    assert_eq!((fma, loads), (16 * 8 * 16, 16 * (8 + 16) / 4));
    assert_eq!(count(&text, "ld.shared.f32") + count(&text, "ld.local"), 0);
    // Of a scheduler's cycles, a load takes one; of the shared memory's, at most four for a warp (512 bytes, 128 in
    // a cycle), while four warps, one of each scheduler, share it.
    let issue = fma as f64 / (fma + loads) as f64;
    let shared_memory = (4 * 4 * loads) as f64 / fma as f64;
    assert!(issue > 0.95, "{issue}");
    assert!(shared_memory < 0.8, "{shared_memory}");

    let text = ptx("wmma", "sm_90");
    assert!(count(&text, "wmma.load.a.sync.aligned.row.m16n16k16.shared.bf16") > 0);
    assert_eq!(count(&text, "wmma.load.a.sync.aligned.row.m16n16k16.bf16"), 0);

    let text = ptx("wgmma", "sm_90a");
    assert_eq!(count(&text, "wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16"), 4);
    assert!(count(&text, "multicast::cluster") > 0 && count(&text, "setmaxnreg") == 2);
    // Without Hopper's own instructions it is the kernel that reports it.
    assert_eq!(count(&ptx("wgmma", "sm_100"), "wgmma.mma_async"), 0);
}

#[test]
fn every_kernel_compiles_with_nvrtc_as_the_course_does() {
    let nvrtc = match Nvrtc::load() {
        Ok(nvrtc) => nvrtc,
        Err(why) => {
            assert!(!required("THROUGHPUT_REQUIRE_NVRTC"), "{why}");
            eprintln!("skipped: {why}");
            return;
        }
    };
    let mut variants = variants();
    // One of each is enough here: the others are the same text, and nvcc has compiled them.
    variants.dedup_by_key(|variant| variant.entry);
    assert_eq!(variants.len(), LADDER.len() + CudaRung::ALL.len());
    let mut failures = String::new();
    for variant in &variants {
        for generation in GENERATIONS {
            let target = target(variant, generation);
            match nvrtc.compile(variant.source, &variant.options, variant.entry, &target) {
                Ok(image) => assert_eq!(image[..4], *b"\x7fELF", "{}", variant.name),
                Err(error) => {
                    let _ = writeln!(failures, "{} {target}: {error}", variant.name);
                }
            }
        }
    }
    assert!(failures.is_empty(), "\n{failures}");
}
