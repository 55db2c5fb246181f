//! What `vdpbf16ps` does, in plain Rust, after the manual's description (Intel, *Architectures Software Developer's Manual*,
//! volume 2, VDPBF16PS): in each lane the products of the upper and then of the lower halves are added to the sum, each
//! with one rounding, to nearest even, for a multiplication and an addition; denormal numbers count as zero, going in and
//! coming out; MXCSR has no say in it.

use crate::{
    bf16::{flush, fused},
    registers::{Vector, array},
};

/// 16 words of two bf16, or 16 sums.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C, align(64))]
pub struct Model(pub [f32; 16]);

/// One lane: sum + the products of both halves of two words.
fn lane(x: u32, y: u32, sum: f32) -> f32 {
    let upper = |word: u32| flush(f32::from_bits(word & 0xffff_0000));
    let lower = |word: u32| flush(f32::from_bits(word << 16));
    let odd = flush(fused(upper(x), upper(y), flush(sum)));
    flush(fused(lower(x), lower(y), odd))
}

// SAFETY: plain Rust on plain numbers.
unsafe impl Vector for Model {
    unsafe fn splat(x: f32) -> Self {
        Self([x; 16])
    }

    // One copy serves all 28 sums of a tile: it is slow in any case.
    #[inline(never)]
    unsafe fn mul_add(self, y: Self, sum: Self) -> Self {
        Self(array(|i| lane(self.0[i].to_bits(), y.0[i].to_bits(), sum.0[i])))
    }

    unsafe fn add(self, other: Self) -> Self {
        Self(array(|i| self.0[i] + other.0[i]))
    }

    unsafe fn relu(self) -> Self {
        Self(array(|i| if self.0[i] < 0.0 { 0.0 } else { self.0[i] }))
    }
}
