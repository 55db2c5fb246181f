//! All rungs in a list, for the experiments and the tests.

use crate::{
    Shape, amx, avx512bf16, blocked, naive, packed,
    pairs::Pairs,
    parallel, reordered,
    simd::{self, Level},
    tiles::{self, Hardware},
};

/// One way to compute C = A·B from row-major f32 matrices.
#[derive(Clone, Copy, Debug)]
pub struct Rung {
    /// Short and stable, for records: `naive`, `avx2`, `threads`.
    pub key: &'static str,
    /// For figures and tables.
    pub name: &'static str,
    /// Whether it runs on all threads; the others run on one.
    pub parallel: bool,
    /// Whether it rounds its inputs to bf16.
    pub bf16: bool,
    /// Whether this CPU can run it.
    pub available: fn() -> bool,
    /// Computes C = A·B; panics when a slice's length is not the shape's.
    pub multiply: fn(c: &mut [f32], a: &[f32], b: &[f32], shape: Shape),
}

/// The rungs from the slowest to the fastest, those that this CPU can't run included.
pub fn ladder() -> Vec<Rung> {
    let rung = |key, name, multiply| Rung {
        key,
        name,
        parallel: false,
        bf16: false,
        available: || true,
        multiply,
    };
    vec![
        rung("naive", "three loops", naive::multiply),
        rung("reordered", "loop order", reordered::multiply),
        rung("blocked", "cache blocks", blocked::multiply),
        rung("packed", "packing and registers", packed::multiply),
        Rung {
            available: || Level::Avx2.available(),
            ..rung("avx2", "AVX2", |c, a, b, s| simd::multiply(Level::Avx2, c, a, b, s))
        },
        Rung {
            available: || Level::Avx512.available(),
            ..rung("avx512", "AVX-512", |c, a, b, s| simd::multiply(Level::Avx512, c, a, b, s))
        },
        Rung {
            parallel: true,
            ..rung("threads", "all threads", |c, a, b, s| {
                parallel::multiply(c, a, b, s, parallel::available());
            })
        },
        Rung {
            bf16: true,
            available: || Pairs::Hardware.available(),
            ..rung("avx512bf16", "AVX512-BF16", |c, a, b, s| {
                avx512bf16::multiply(Pairs::Hardware, c, a, b, s, 1);
            })
        },
        Rung {
            bf16: true,
            parallel: true,
            available: || Pairs::Hardware.available(),
            ..rung("avx512bf16_threads", "AVX512-BF16, all threads", |c, a, b, s| {
                avx512bf16::multiply(Pairs::Hardware, c, a, b, s, parallel::available());
            })
        },
        Rung {
            bf16: true,
            available: tiles::available,
            ..rung("amx", "AMX, bf16", |c, a, b, s| amx::multiply::<Hardware>(c, a, b, s, 1))
        },
        Rung {
            bf16: true,
            parallel: true,
            available: tiles::available,
            ..rung("amx_threads", "AMX, all threads", |c, a, b, s| {
                amx::multiply::<Hardware>(c, a, b, s, parallel::available());
            })
        },
    ]
}
