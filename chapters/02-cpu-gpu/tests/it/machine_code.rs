//! The machine code of the kernels, compiled by NVRTC as the course does it: whether the instructions are there that a
//! kernel was written for, how many, and in which order. That everything compiles, for every generation, is in
//! `cuda_compile.rs`.
//!
//! It needs no GPU, only NVRTC and `nvdisasm` (`tools/cuda/toolkit.sh --compile-only --checks`). Without them the tests are
//! skipped.

use crate::{
    code::{self, Code, Resources},
    cuda_compile::variants,
};
use cpu_gpu::{
    gpu::{nvrtc::Nvrtc, testing::nvrtc},
    ladder::{LADDER, Rung, Tiles},
};
use std::path::PathBuf;

/// What compiles and what reads it.
struct Tools {
    nvrtc: Nvrtc,
    nvdisasm: PathBuf,
}

impl Tools {
    fn find() -> Option<Self> {
        let (nvrtc, nvdisasm) = (nvrtc(), code::nvdisasm()); // each that is missing is told
        Some(Self { nvrtc: nvrtc?, nvdisasm: nvdisasm? })
    }

    /// The code of the first variant whose name begins so.
    fn code(&self, name: &str, generation: u32) -> Code {
        let all = variants();
        let variant = all.iter().find(|v| v.name.starts_with(name)).unwrap();
        let target = variant.target(generation);
        let compiled =
            self.nvrtc.compile(variant.source, &variant.options, variant.entry, &target).unwrap();
        Code::of(&self.nvdisasm, &compiled.0).unwrap()
    }
}

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
    let Some(nvrtc) = nvrtc() else { return };
    for rung in &LADDER {
        // Smaller blocks are for devices that are no NVIDIA GPUs, except those of the last rung.
        let count = if rung.name == "warp_tiles" { rung.tiles.len() } else { 1 };
        for tiles in &rung.tiles[..count] {
            let (_, words) =
                nvrtc.compile(rung.source, &tiles.options(true), rung.name, "sm_90").unwrap();
            let needs = Resources::parse(&words).unwrap();
            let what = format!("{} {}: {needs:?}", rung.name, tiles.name);
            assert_eq!(needs.shared, tiles.shared, "{what}");
            assert!(needs.blocks(tiles.block[0] * tiles.block[1]) >= blocks(rung, tiles), "{what}");
        }
    }
}

/// Along k the numbers of A are neighbours, and the compiler reads four of them with one instruction. The page predicts
/// rungs 3 and 4 from these counts: the simulator, which runs the kernels as they are written, does not see it.
#[test]
fn the_compiler_joins_the_reads_of_a() {
    let Some(tools) = Tools::find() else { return };
    // Multiplications, loads of 16 bytes and of 4 in the loop over a pair of tiles.
    for (name, counts) in [("shared 32x32x32 ", [32, 8, 32]), ("tile1d 64x64x8 ", [64, 16, 8])] {
        for generation in [80, 90] {
            let code = tools.code(name, generation);
            let wide = code.count("LDS.128");
            let found = [code.count("FFMA"), wide, code.count("LDS") - wide];
            assert_eq!(found, counts, "{name}, sm_{generation}");
        }
    }
}

/// The loads of the next tiles must come before the barrier, and most multiplications behind it: a compiler may move a
/// load down to where its value is needed, and did so when the barrier was elsewhere.
#[test]
fn the_next_tiles_are_asked_for_before_the_work() {
    let Some(tools) = Tools::find() else { return };
    for name in ["double_buffered 128x128x8 wide=1", "warp_tiles 128x128x8 wide=1"] {
        for generation in [80, 90] {
            let code = tools.code(name, generation);
            let text = &code.0;
            // The two loads before the loop, then those in it.
            let loads: Vec<usize> = text.match_indices("LDG.E.128").map(|(at, _)| at).collect();
            let barrier = text.find("BAR.SYNC").unwrap();
            assert_eq!(loads.len(), 4, "{name}, sm_{generation}");
            assert!(loads.iter().all(|load| *load < barrier), "{name}, sm_{generation}");
            let first_work = text.find("FFMA").unwrap();
            assert!(first_work > barrier, "{name}, sm_{generation}");
            assert!(code.count("LDS.128") >= 32, "{name}, sm_{generation}");
            assert_eq!(code.count("FFMA"), 512, "{name}, sm_{generation}");
        }
    }
}

/// The loops of `async_copy` as they run, for blocks inside C and for those at its edges: in each the multiplications and
/// wide loads that its file counts, and copies that need no registers.
#[test]
fn async_copy_multiplies_and_copies_by_itself() {
    let Some(tools) = Tools::find() else { return };
    for generation in [80, 90, 100] {
        let code = tools.code("async_copy 128x256-8x16-s4 n=256", generation);
        assert_eq!(code.count("FFMA") + 2 * code.count("FFMA2"), 2 * 2048, "sm_{generation}");
        assert_eq!(code.count("LDS.128"), 2 * 96, "sm_{generation}");
        assert!(code.count("LDGSTS") > 0, "sm_{generation}");
    }
}

/// Tensor cores are fed by `ldmatrix` (LDSM), 512 bytes an instruction: 4 of A and 2 of B for 16 steps along k, twice. Each
/// 16×16×16 product of a fragment is two instructions.
#[test]
fn wmma_loads_whole_fragments() {
    let Some(tools) = Tools::find() else { return };
    for generation in [80, 90, 100] {
        let code = tools.code("wmma", generation);
        assert_eq!(code.count("LDSM"), 12, "sm_{generation}");
        assert_eq!(code.count("HMMA"), 2 * 2 * 4 * 2, "sm_{generation}");
        assert!(code.count("LDGSTS") > 0, "sm_{generation}");
    }
}

/// Hopper's kernel: four products a round, in the round before the loop and in the loop; the very first takes no sums;
/// each round is one group, and only then is waited for. One thread asks the copy engine, and registers change hands.
#[test]
fn wgmma_keeps_its_products_in_flight() {
    let Some(tools) = Tools::find() else { return };
    let code = tools.code("wgmma", 90);
    let products: Vec<&str> = code.instructions().filter(|line| line.contains("HGMMA")).collect();
    assert_eq!(products.len(), 8, "{products:?}");
    assert!(products.iter().all(|line| line.contains("HGMMA.64x256x16.F32.BF16")));
    let closes = |line: &&&str| line.contains("gsb0");
    assert_eq!(products.iter().filter(closes).count(), 2, "{products:?}");
    assert!(closes(&&products[3]) && closes(&&products[7]), "{products:?}");
    assert!(products[0].contains("RZ") && !products[1].contains("RZ"), "{products:?}");
    assert_eq!(code.count("WARPGROUP.DEPBAR"), 2);
    assert_eq!(code.count("USETMAXREG"), 2);
    // A's box, and this block's half of B's for both blocks.
    assert_eq!(code.count("UTMALDG"), 3);
    assert_eq!(code.0.matches("MULTICAST").count(), 2);
    // Compiled for another generation it is the kernel that reports it.
    assert_eq!(tools.code("wgmma", 100).count("HGMMA"), 0);
}
