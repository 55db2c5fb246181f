//! What a card will be asked to check, as far as it goes without one: each kernel compiles for sizes that fit no tile, and
//! each launch passes its checks.

use crate::Entry;
use tile::{
    catalog::{Kernel, tile_for},
    check::{ATTENTION, PRODUCTS},
    library::{HINTS, compile},
};

/// Compiles a kernel for the last of some sizes, which fits no tile, and makes the checks of a launch for all.
fn launches(name: &str, generics: &str, sizes: &[[usize; 3]], target: &str) -> Entry {
    let generics: Vec<&str> = generics.split(' ').collect();
    let kernel = |size: &[usize; 3]| Kernel::new(name, &generics, *size).unwrap();
    let entry = Entry::new(kernel(sizes.last().unwrap()), target);
    assert_eq!(entry.compiled.left, 0, "{}", entry.kernel);
    for size in sizes {
        entry.compiled.may_launch(&kernel(size)).unwrap();
    }
    entry
}

#[test]
fn products_and_layers_of_any_size() {
    for target in ["sm_80", "sm_90"] {
        let [f32_tile, tile] = ["f32", "bf16"]
            .map(|element| tile_for(target, element).map(|size| size.to_string()).join(" "));
        for name in ["product", "product_nt", "product_tn", "product_tt"] {
            launches(name, &format!("f32 {f32_tile}"), &PRODUCTS, target);
            launches(name, &format!("bf16 {tile}"), &PRODUCTS, target);
        }
        for gelu in [0, 1] {
            launches("linear", &format!("{tile} {gelu}"), &PRODUCTS, target);
        }
    }
}

#[test]
fn attention_of_any_length() {
    let sizes = ATTENTION.map(|[heads, length]| [heads, length, 0]);
    launches("attention_dq", "64 64 64", &sizes, "sm_90");
}

/// The checks are not all passed whatever is launched: B must be as long as A is wide.
#[test]
fn a_launch_that_would_read_beyond_an_edge_is_refused() {
    let kernel = crate::product("bf16 128 256 64");
    let compiled = compile(&kernel, "sm_90", HINTS).unwrap();
    compiled.may_launch(&kernel).unwrap();
    let mut short = crate::product("bf16 128 256 64");
    short.arguments[2].shape[0] = 500;
    assert!(compiled.may_launch(&short).is_err());
}
