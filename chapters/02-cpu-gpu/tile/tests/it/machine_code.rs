//! What the kernels become.

use crate::{Entry, TARGETS, product, table};
use tile::{
    code::Code,
    library::{Hints, compile},
};

/// One source, and for each generation its own tensor instructions and its own way to bring tiles.
#[test]
fn each_generation_gets_its_own_instructions() {
    for (target, multiplies, copies) in [
        ("sm_80", "HMMA.16816.F32.BF16", "LDGSTS"),
        ("sm_90", "HGMMA.64x", "UTMALDG"),
        ("sm_100", "UTCHMMA", "UTMALDG"),
        ("sm_120", "HMMA.16816.F32.BF16", "UTMALDG"),
    ] {
        for entry in table(target) {
            let Entry { kernel, code, .. } = entry;
            let in_f32 = kernel.generics[0] == "f32";
            assert_eq!(code.count(multiplies) == 0, in_f32, "{kernel}, {target}");
            if kernel.module == "products" {
                assert!(code.count(copies) > 0, "{kernel}, {target}");
            }
        }
    }
}

/// No kernel keeps in memory what belongs into registers, and none has the words of a failed check there.
#[test]
fn nothing_has_a_stack() {
    for target in TARGETS {
        for Entry { kernel, code, .. } in table(target) {
            let memory = [code.stack as usize, code.count("STL"), code.count("LDL")];
            assert_eq!(memory, [0; 3], "{kernel}, {target}");
        }
    }
}

/// Every index is proved when a kernel is compiled, or compared once before each launch.
#[test]
fn no_index_is_checked_while_a_kernel_runs() {
    for target in TARGETS {
        for Entry { kernel, compiled, .. } in table(target) {
            assert_eq!(compiled.left, 0, "{kernel}, {target}");
            assert!(compiled.proved > 0 && compiled.at_launch() > 0, "{kernel}, {target}");
        }
    }
}

/// f32 is f32: no rounding to fewer bits to please the tensor cores. Each of 256 threads has its part of a tile.
#[test]
fn products_in_f32_multiply_as_often_as_they_must() {
    for target in ["sm_90", "sm_100", "sm_120"] {
        for Entry { kernel, code, .. } in &table(target)[..4] {
            let size: usize =
                kernel.generics[1..].iter().map(|n| n.parse::<usize>().unwrap()).product();
            assert_eq!(code.count("FFMA") * 256, size, "{kernel}, {target}");
        }
    }
}

/// What the section predicts. On Hopper an instruction multiplies 64×N by 16.
/// Two groups of warps run the same ones, each for its half of the tile, and
/// those of the first step along k stand once more before the loop: the code
/// has as many as a tile takes. On Blackwell one multiplies 128×N by 16.
#[test]
fn the_number_of_products_is_predicted() {
    for (target, rows, tile) in [
        ("sm_90", 64, [128, 256, 64]),
        ("sm_90", 64, [128, 128, 64]),
        ("sm_90", 64, [256, 128, 64]),
        ("sm_90", 64, [128, 256, 32]),
        ("sm_100", 128, [128, 256, 64]),
        ("sm_100", 128, [128, 128, 32]),
    ] {
        let [m, n, k] = tile;
        let entry = Entry::new(product(&format!("bf16 {m} {n} {k}")), target);
        let (name, count) = entry.code.multiplies().unwrap();
        assert!(target == "sm_100" || name == format!("HGMMA.64x{n}x16.F32.BF16"), "{name}");
        assert_eq!(m * n * k, count * rows * n * 16, "{target} {tile:?}");
    }
}

/// Four stages of A and B in bf16, the tile of C in halves, CUDA's own
/// kibibyte, and barriers.
#[test]
fn shared_memory_is_predicted() {
    let [m, n, k] = [128, 256, 64];
    let entry = Entry::new(product(&format!("bf16 {m} {n} {k}")), "sm_90");
    let predicted = 4 * (m * k + k * n) * 2 + 32 * 1024 + 1024;
    assert!((predicted..predicted + 256).contains(&entry.code.shared), "{}", entry.code.shared);
}

/// The compiler's own choice, four warps, is one that spills; eight do not.
#[test]
fn one_hint_decides_on_hopper() {
    let stack = |warps| {
        let hints = Hints { warps, cluster: 1 };
        let compiled = compile(&product("bf16 128 256 64"), "sm_90", hints).unwrap();
        Code::read(&compiled.cubin).unwrap().stack
    };
    assert!(stack(4) > 1000, "{}", stack(4));
    assert_eq!(stack(8), 0);
}

/// Producers and consumers are warps of their own: registers go from the ones to the others.
#[test]
fn hopper_specialises_its_warps() {
    for Entry { kernel, code, .. } in
        table("sm_90").iter().filter(|e| e.kernel.module == "products")
    {
        assert!(code.count("USETMAXREG") >= 2, "{kernel}");
    }
}
