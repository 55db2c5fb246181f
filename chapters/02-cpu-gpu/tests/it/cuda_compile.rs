//! Every kernel of the chapter, compiled by NVIDIA's own compilers for three generations of GPUs: all of them by NVRTC, as
//! the course does when it runs, and each once by `nvcc`. Neither needs a GPU. None may use a stack, keep registers in
//! memory, or let the compiler complain; `machine_code.rs` looks at what has come of it.
//!
//! Where there is no compiler the tests are skipped; `tools/cuda/compile.sh` gets all three without root and runs this.

use crate::code::{self, Code, GENERATIONS, Resources, fault};
use cpu_gpu::{
    gpu::testing::nvrtc,
    ladder::LADDER,
    tensor_cores::{CudaRung, CudaTiles},
};
use matmul::Shape;
use std::{path::Path, process::Command};

/// A kernel as it is compiled for one purpose.
#[derive(Clone)]
pub struct Variant {
    pub name: String,
    pub entry: &'static str,
    pub source: &'static str,
    pub options: Vec<(&'static str, String)>,
    /// Put behind the generation's number where it has features of its own.
    suffix: &'static str,
}

impl Variant {
    /// `sm_90a` for what Hopper alone has; for the other generations the same file is another kernel.
    pub fn target(&self, generation: u32) -> String {
        let suffix = if generation == 90 { self.suffix } else { "" };
        format!("sm_{generation}{suffix}")
    }
}

/// All of them: each rung with each of its tiles, for rows that are aligned and for others.
pub fn variants() -> Vec<Variant> {
    let mut all = Vec::new();
    let mut add = |name, entry, source, options, suffix| {
        all.push(Variant { name, entry, source, options, suffix });
    };
    for rung in &LADDER {
        for tiles in rung.tiles {
            // Where rows are aligned, a kernel that asks for it is another one.
            for wide in
                [false, true].into_iter().filter(|wide| *wide || rung.source.contains("WIDE"))
            {
                let name = format!("{} {} wide={}", rung.name, tiles.name, u32::from(wide));
                add(name, rung.name, rung.source, tiles.options(wide), "");
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
            let name = format!("{}{tiles} n={n}", rung.name());
            add(name, rung.name(), rung.source(), options, rung.suffix());
        }
    }
    add("copy".to_owned(), "copy", cpu_gpu::gpu::copying::SOURCE, Vec::new(), "");
    all
}

/// Kernels that promise two blocks and more for a multiprocessor, so 128 registers for a thread, of which `ptxas` wants some
/// more on other generations than Hopper: portable rungs, of which `async_copy` is better, and of `async_copy` the loop for
/// blocks at the edges of C.
fn may_spill(name: &str, generation: u32) -> bool {
    let portable = [
        "double_buffered 128x128x8 wide=1",
        "warp_tiles 128x128x8 wide=1",
        "warp_tiles 64x64x16 wide=1",
    ];
    generation == 80 && portable.contains(&name)
        || generation != 90 && name.starts_with("async_copy 128x128-8x8")
}

/// What a kernel uses, if that is no fault: a few registers in memory, where it may spill.
fn judged(name: &str, generation: u32, words: &str) -> Result<Resources, String> {
    let judged = fault(words);
    if judged.is_ok() || !may_spill(name, generation) {
        return judged;
    }
    let used = Resources::parse(words).ok_or(words)?;
    let few = used.stack <= 24 && used.spilled <= 40;
    if few { Ok(used) } else { Err(format!("{used:?}")) }
}

/// `variants`, each with each generation.
fn jobs(variants: &[Variant]) -> Vec<(&Variant, u32)> {
    variants.iter().flat_map(|v| GENERATIONS.map(|generation| (v, generation))).collect()
}

fn name((variant, generation): &(&Variant, u32)) -> String {
    format!("{} sm_{generation}", variant.name)
}

/// Compiles with nvcc to `-cubin` or `-ptx`. Returns what the compilers said, and the file.
fn by_nvcc(
    nvcc: &Path,
    variant: &Variant,
    target: &str,
    kind: &str,
) -> Result<(String, Vec<u8>), String> {
    let folder = tempfile::tempdir().map_err(|e| e.to_string())?;
    let source = folder.path().join(format!("{}.cu", variant.entry));
    let out = folder.path().join("out");
    std::fs::write(&source, variant.source).map_err(|e| e.to_string())?;
    let output = Command::new(nvcc)
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

#[test]
fn every_kernel_compiles_with_nvcc() {
    let Some(nvcc) = code::nvcc() else { return };
    let mut variants = variants();
    // One of each is enough here: NVRTC, which the course uses, compiles all of them.
    variants.dedup_by_key(|variant| variant.entry);
    assert_eq!(variants.len(), LADDER.len() + CudaRung::ALL.len() + 1);
    code::all(&jobs(&variants), name, |(variant, generation)| {
        let (words, _) = by_nvcc(&nvcc, variant, &variant.target(*generation), "-cubin")?;
        judged(&variant.name, *generation, &words).map(Resources::line)
    });
}

#[test]
fn every_kernel_compiles_with_nvrtc_as_the_course_does() {
    let (nvrtc, nvdisasm) = (nvrtc(), code::nvdisasm());
    let Some(nvrtc) = nvrtc else { return };
    let variants = variants();
    code::all(&jobs(&variants), name, |(variant, generation)| {
        let kernel = (variant.source, &variant.options[..], variant.entry);
        code::compiled(
            (&nvrtc, nvdisasm.as_deref()),
            kernel,
            &variant.target(*generation),
            |words| judged(&variant.name, *generation, words),
        )
    });
}

/// The guard itself: the same kernel with what must not happen, which compiles and gives right products.
#[test]
fn a_kernel_that_the_compiler_makes_slow_is_caught() {
    let (Some(nvrtc), Some(nvdisasm)) = (nvrtc(), code::nvdisasm()) else { return };
    let (wgmma, unrolled) =
        (CudaRung::Wgmma.source(), "#pragma unroll\n    for (int half = 0; half < 2");
    for (from, to, memory) in [
        (unrolled, "#pragma unroll 1\n    for (int half = 0; half < 2", true),
        ("wait_for_products<1>(); //", "sums[3] *= 2.0f; wait_for_products<1>(); //", false),
    ] {
        assert!(wgmma.contains(from), "the kernel has no `{from}` any more");
        let text = wgmma.replacen(from, to, 1);
        let (image, words) = nvrtc.compile(&text, &[], "wgmma", "sm_90a").unwrap();
        let why = fault(&words).unwrap_err();
        eprintln!("`{to}`: {why}");
        assert_eq!(Code::of(&nvdisasm, &image).unwrap().local() > 0, memory, "{why}");
    }
}

#[test]
fn blocks_of_async_copy_fit_as_often_as_they_say() {
    let Some(nvrtc) = nvrtc() else { return };
    let all = variants();
    for tiles in CudaTiles::ALL {
        let name = tiles.name();
        let variant = all.iter().find(|v| v.name == format!("async_copy {name} n=256")).unwrap();
        let (_, words) =
            nvrtc.compile(variant.source, &variant.options, variant.entry, "sm_90").unwrap();
        let used = Resources::parse(&words).unwrap();
        let blocks = used.blocks(tiles.threads() as usize);
        assert!(blocks >= tiles.blocks_per_sm as usize, "{name}: {used:?}");
    }
}

/// In PTX, before `ptxas` chooses registers: what the loops of `async_copy` are made of.
#[test]
fn the_loop_of_async_copy_is_mostly_multiplications() {
    let Some(nvcc) = code::nvcc() else { return };
    let all = variants();
    let variant =
        all.iter().find(|v| v.name.starts_with("async_copy 128x256-8x16-s4 n=256")).unwrap();
    let (_, text) = by_nvcc(&nvcc, variant, "sm_90", "-ptx").unwrap();
    let text = String::from_utf8(text).unwrap();
    let count = |words: &str| text.matches(words).count();
    // The body of a loop: 16 steps along k for 8×16 sums, of 8 + 16 numbers each, four at a time. There are two, for blocks
    // inside C and for those at its edges.
    let (fma, loads) = (count("fma.rn.f32") / 2, count("ld.shared.v4") / 2);
    assert_eq!((fma, loads), (16 * 8 * 16, 16 * (8 + 16) / 4));
    assert_eq!(count("ld.shared.f32") + count("ld.local"), 0);
    // Of a scheduler's cycles, a load takes one; of the shared memory's, at most four for a warp (512 bytes, 128 in
    // a cycle), while four warps, one of each scheduler, share it.
    let issue = fma as f64 / (fma + loads) as f64;
    let shared_memory = (4 * 4 * loads) as f64 / fma as f64;
    assert!(issue > 0.95, "{issue}");
    assert!(shared_memory < 0.8, "{shared_memory}");
}
