//! What the tile instructions do, in plain Rust, after the manual's description of each (Intel, *Architectures Software
//! Developer's Manual*, volume 2): `tdpbf16ps` adds the even terms and the odd terms of each sum apart, each with
//! one rounding for a multiplication and an addition, then both to the old value; denormal numbers count as zero,
//! going in and coming out.

use super::{SIDE, Tiles};
use crate::bf16::{flush, fused};

/// Eight tiles.
#[derive(Clone, Debug)]
pub struct Model([[[u32; SIDE]; SIDE]; 8]);

/// No CPU but x86-64 has AMX.
#[cfg(not(target_arch = "x86_64"))]
pub fn available() -> bool {
    false
}

// SAFETY: plain Rust that reads and writes 16 rows of 64 bytes.
unsafe impl Tiles for Model {
    fn start() -> Self {
        Self([[[0; SIDE]; SIDE]; 8])
    }

    fn zero<const T: usize>(&mut self) {
        self.0[T] = [[0; SIDE]; SIDE];
    }

    unsafe fn load<const T: usize>(&mut self, from: *const u32, stride: usize) {
        for (i, row) in self.0[T].iter_mut().enumerate() {
            // SAFETY: the caller vouches for 16 rows of 64 bytes.
            *row = unsafe { from.byte_add(i * stride).cast::<[u32; SIDE]>().read_unaligned() };
        }
    }

    unsafe fn store<const T: usize>(&self, to: *mut u32, stride: usize) {
        for (i, row) in self.0[T].iter().enumerate() {
            // SAFETY: the caller vouches for 16 rows of 64 bytes.
            unsafe { to.byte_add(i * stride).cast::<[u32; SIDE]>().write_unaligned(*row) }
        }
    }

    fn multiply<const C: usize, const A: usize, const B: usize>(&mut self) {
        let even = |word: u32| flush(f32::from_bits(word << 16));
        let odd = |word: u32| flush(f32::from_bits(word & 0xffff_0000));
        for i in 0..SIDE {
            for j in 0..SIDE {
                let (mut evens, mut odds) = (0.0_f32, 0.0_f32);
                for q in 0..SIDE {
                    let (x, y) = (self.0[A][i][q], self.0[B][q][j]);
                    evens = flush(fused(even(x), even(y), evens));
                    odds = flush(fused(odd(x), odd(y), odds));
                }
                let old = flush(f32::from_bits(self.0[C][i][j]));
                self.0[C][i][j] = flush(old + flush(evens + odds)).to_bits();
            }
        }
    }
}
