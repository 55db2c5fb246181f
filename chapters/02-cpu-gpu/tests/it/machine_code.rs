//! What NVIDIA's compiler makes of the portable rungs: whether as many blocks fit as they promise, and the order of the
//! instructions. That everything compiles, for every generation, is in `cuda_compile.rs`.
//!
//! It needs no GPU, only `nvcc` (`tools/cuda/toolkit.sh --compile-only`). Without it the tests report it and pass, unless
//! `THROUGHPUT_REQUIRE_NVCC=1` is set. The order is also checked where there is an `nvdisasm`.

use cpu_gpu::ladder::{LADDER, Rung, Tiles, rung};
use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

/// A tool of the CUDA toolkit: below `CUDA_PATH`, or on the path.
fn tool(name: &str) -> Option<PathBuf> {
    let folders = env::var_os("CUDA_PATH")
        .map(|root| PathBuf::from(root).join("bin"))
        .into_iter()
        .chain(env::split_paths(&env::var_os("PATH").unwrap_or_default()).collect::<Vec<_>>());
    folders.map(|folder| folder.join(name)).find(|path| path.is_file())
}

fn nvcc() -> Option<PathBuf> {
    let found = tool("nvcc");
    if found.is_none() {
        let required = env::var("THROUGHPUT_REQUIRE_NVCC").is_ok_and(|value| value == "1");
        assert!(!required, "a test needs nvcc: set CUDA_PATH, or see tools/cuda/README.md");
        eprintln!("skipped: there is no nvcc here");
    }
    found
}

/// Registers of a thread, bytes that it has to keep in memory for want of registers, and a block's shared memory.
#[derive(Debug, PartialEq)]
struct Needs {
    registers: usize,
    spilled: usize,
    shared: usize,
}

/// Compiles for `sm_ARCH` into `cubin`, and reads what `ptxas -v` says.
fn compile(nvcc: &Path, rung: &Rung, tiles: &Tiles, wide: u32, arch: u32, cubin: &Path) -> Needs {
    let source = cubin.with_extension("cu");
    fs::write(&source, rung.source).unwrap();
    let defines = tiles.defines.iter().map(|(name, value)| format!("-D{name}={value}"));
    let output = Command::new(nvcc)
        .args(["-cubin", "-Xptxas", "-v", &format!("-arch=sm_{arch}"), &format!("-DWIDE={wide}")])
        .args(defines)
        .arg("-o")
        .args([cubin, &source])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    let what = format!("{} {} for sm_{arch}, WIDE={wide}", rung.name, tiles.name);
    assert!(output.status.success(), "{what}: {said}");
    let before = |word: &str| {
        let (text, _) = said.split_once(word)?;
        text.trim_end().rsplit([' ', ',']).next()?.parse().ok()
    };
    let registers = before("registers").unwrap_or_else(|| panic!("{what}: {said}"));
    let spilled = before("bytes spill stores").unwrap_or_else(|| panic!("{what}: {said}"));
    Needs { registers, spilled, shared: before("bytes smem").unwrap_or(0) }
}

/// Registers of a multiprocessor, of compute capability 7.0 to 10.0.
const REGISTERS: usize = 65536;

/// As many blocks as the kernel's file promises, or one.
fn blocks(rung: &Rung, tiles: &Tiles) -> usize {
    let set = tiles.defines.iter().find(|(name, _)| *name == "BLOCKS");
    match (rung.name, set) {
        (_, Some((_, blocks))) => *blocks as usize,
        ("tile2d" | "vectorised" | "double_buffered" | "warp_tiles", None) => 2,
        _ => 1,
    }
}

#[test]
fn as_many_blocks_fit_a_multiprocessor_as_the_kernels_promise() {
    let Some(nvcc) = nvcc() else { return };
    let folder = tempfile::tempdir().unwrap();
    let cubin = folder.path().join("kernel.cubin");
    for rung in &LADDER {
        // Smaller blocks are for devices that are no NVIDIA GPUs, except those of the last rung.
        let count = if rung.name == "warp_tiles" { rung.tiles.len() } else { 1 };
        for tiles in &rung.tiles[..count] {
            let needs = compile(&nvcc, rung, tiles, 1, 90, &cubin);
            let what = format!("{} {}: {needs:?}", rung.name, tiles.name);
            assert_eq!(needs.spilled, 0, "{what}");
            assert_eq!(needs.shared, tiles.shared, "{what}");
            // A multiprocessor hands registers out in eights for each thread.
            let block = needs.registers.next_multiple_of(8) * tiles.block[0] * tiles.block[1];
            assert!(block * blocks(rung, tiles) <= REGISTERS, "{what}");
        }
    }
}

/// The machine code of a compiled kernel, as text.
fn disassemble(nvdisasm: &Path, cubin: &Path) -> String {
    let output = Command::new(nvdisasm).arg("-c").arg(cubin).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Along k the numbers of A are neighbours, and the compiler reads four of them with one instruction. The page predicts
/// rungs 3 and 4 from these counts: the simulator, which runs the kernels as they are written, does not see it.
#[test]
fn the_compiler_joins_the_reads_of_a() {
    let (Some(nvcc), Some(nvdisasm)) = (nvcc(), tool("nvdisasm")) else {
        eprintln!("skipped: there is no nvdisasm here");
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    // Multiplications, loads of 16 bytes and of 4 in the loop over a pair of tiles.
    for (name, counts) in [("shared", [32, 8, 32]), ("tile1d", [64, 16, 8])] {
        for arch in [80, 90] {
            let rung = rung(name).unwrap();
            let cubin = folder.path().join("kernel.cubin");
            compile(&nvcc, rung, &rung.tiles[0], 1, arch, &cubin);
            let code = disassemble(&nvdisasm, &cubin);
            let found = ["FFMA ", "LDS.128 ", "LDS "].map(|name| code.matches(name).count());
            assert_eq!(found, counts, "{name}, sm_{arch}");
        }
    }
}

/// The loads of the next tiles must come before the barrier, and most multiplications behind it: a compiler may move a
/// load down to where its value is needed, and did so when the barrier was elsewhere.
#[test]
fn the_next_tiles_are_asked_for_before_the_work() {
    let (Some(nvcc), Some(nvdisasm)) = (nvcc(), tool("nvdisasm")) else {
        eprintln!("skipped: there is no nvdisasm here");
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    for name in ["double_buffered", "warp_tiles"] {
        for arch in [80, 90] {
            let rung = rung(name).unwrap();
            let cubin = folder.path().join("kernel.cubin");
            compile(&nvcc, rung, &rung.tiles[0], 1, arch, &cubin);
            let code = disassemble(&nvdisasm, &cubin);
            // The two loads before the loop, then those in it.
            let loads: Vec<usize> = code.match_indices("LDG.E.128").map(|(at, _)| at).collect();
            let barrier = code.find("BAR.SYNC").unwrap();
            assert_eq!(loads.len(), 4, "{name}, sm_{arch}");
            assert!(loads.iter().all(|load| *load < barrier), "{name}, sm_{arch}");
            let first_work = code.find("FFMA").unwrap();
            assert!(first_work > barrier, "{name}, sm_{arch}");
            assert!(code.matches("LDS.128").count() >= 32, "{name}, sm_{arch}");
            assert_eq!(code.matches("FFMA").count(), 512, "{name}, sm_{arch}");
        }
    }
}
