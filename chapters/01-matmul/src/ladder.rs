//! All rungs in a list, for the experiments and the tests.

use crate::{
    Shape, Unit, amx, avx512bf16, blocked, naive, packed,
    pairs::Pairs,
    parallel::{self, available},
    reordered,
    simd::{self, Level},
    tiles::Hardware,
};

/// One way to compute C = A·B from row-major f32 matrices.
#[derive(Clone, Copy, Debug)]
pub struct Rung {
    /// Short and stable, for records: `naive`, `avx2`, `threads`.
    pub key: &'static str,
    /// For figures and tables.
    pub name: &'static str,
    /// What it runs on, which this CPU may not have.
    pub unit: Unit,
    /// Whether it runs on all threads; the others run on one.
    pub parallel: bool,
    /// Computes C = A·B; panics when a slice's length is not the shape's.
    pub multiply: fn(c: &mut [f32], a: &[f32], b: &[f32], shape: Shape),
}

impl Rung {
    /// Whether it rounds its inputs to bf16.
    pub fn bf16(&self) -> bool {
        !matches!(self.unit, Unit::Vectors(_))
    }
}

/// The rungs from the slowest to the fastest, those that this CPU can't run included.
pub fn ladder() -> Vec<Rung> {
    let rung = |key, name, unit, multiply| Rung { key, name, unit, parallel: false, multiply };
    let threads = |key, name, unit, multiply| Rung { key, name, unit, parallel: true, multiply };
    let [portable, avx2, avx512] = Level::ALL.map(Unit::Vectors);
    vec![
        rung("naive", "three loops", portable, naive::multiply),
        rung("reordered", "loop order", portable, reordered::multiply),
        rung("blocked", "cache blocks", portable, blocked::multiply),
        rung("packed", "packing and registers", portable, packed::multiply),
        rung("avx2", "AVX2", avx2, |c, a, b, s| simd::multiply(Level::Avx2, c, a, b, s)),
        rung("avx512", "AVX-512", avx512, |c, a, b, s| simd::multiply(Level::Avx512, c, a, b, s)),
        threads("threads", "all threads", portable, |c, a, b, s| {
            parallel::multiply(c, a, b, s, available());
        }),
        rung("avx512bf16", "AVX512-BF16", Unit::Pairs, |c, a, b, s| {
            avx512bf16::multiply(Pairs::Hardware, c, a, b, s, 1);
        }),
        threads("avx512bf16_threads", "AVX512-BF16, all threads", Unit::Pairs, |c, a, b, s| {
            avx512bf16::multiply(Pairs::Hardware, c, a, b, s, available());
        }),
        rung("amx", "AMX, bf16", Unit::Tiles, |c, a, b, s| {
            amx::multiply::<Hardware>(c, a, b, s, 1);
        }),
        threads("amx_threads", "AMX, all threads", Unit::Tiles, |c, a, b, s| {
            amx::multiply::<Hardware>(c, a, b, s, available());
        }),
    ]
}
