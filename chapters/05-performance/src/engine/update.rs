//! Adam in one pass, and the zeroing of the gradients with it.
//!
//! dfdx's kernel is also one pass, with three divisions for each parameter, on one thread and in the vectors that every
//! CPU has; then another pass zeros the gradients. Here one division is left, in the vectors of this CPU,
//! and a block of gradients is zeroed while it is in the first-level cache.

use crate::engine::layer::WORTH;
use backprop::adam::{self, Factors};
use matmul::team::share;

/// Numbers of a block: four rows of them fill a first-level cache of 32 KiB.
const BLOCK: usize = 2048;

/// One set of parameters and what belongs to each: all of one length.
pub struct Rows<'a> {
    /// The parameters.
    pub p: &'a mut [f32],
    /// Adam's running means of the gradients and of their squares.
    pub moments: (&'a mut [f32], &'a mut [f32]),
    /// The gradients.
    pub g: &'a mut [f32],
}

// ANCHOR: update
impl Rows<'_> {
    /// Adam's step of all parameters; `clear` leaves zeros in the gradients.
    pub fn update(&mut self, factors: Factors, clear: bool) {
        let (m, v) = &mut self.moments;
        let p = self.p.chunks_mut(BLOCK);
        let means = m.chunks_mut(BLOCK).zip(v.chunks_mut(BLOCK));
        for ((p, (m, v)), g) in p.zip(means).zip(self.g.chunks_mut(BLOCK)) {
            adam::fused(factors, p, m, v, g);
            if clear {
                g.fill(0.0); // it is still in the cache
            }
        }
    }
}
// ANCHOR_END: update

/// [`Rows::update`], shared by up to `threads` threads. The result has the same bits for any number of them.
///
/// # Panics
/// When the lengths differ.
pub fn shared(rows: Rows, factors: Factors, clear: bool, threads: usize) {
    let Rows { p, moments: (m, v), g } = rows;
    assert!(p.len() == g.len() && m.len() == g.len() && v.len() == g.len(), "four equal lengths");
    let each = p.len().div_ceil(threads.min(p.len() / WORTH).max(1)).max(1);
    let means = m.chunks_mut(each).zip(v.chunks_mut(each));
    let parts = p.chunks_mut(each).zip(means).zip(g.chunks_mut(each));
    let parts = parts.map(|((p, moments), g)| Rows { p, moments, g });
    share(parts, |rows: &mut Rows| rows.update(factors, clear));
}
