//! Adam on the f32 weights, and their copy in bf16 for the next products, in one pass over memory.

use super::{number::Number, pass::part};
use backprop::adam::{self, Factors, Moments};
use matmul::team::share;

/// Values that are updated and then converted: four rows of f32 and one of bf16 fit into the first-level cache.
const BLOCK: usize = 1024;

/// Bytes that the update reads and writes for each parameter: gradient, moments and master weight are read, the last
/// three are written.
pub const BYTES: f64 = 16.0 + 12.0;

/// One step, whose factors are `f`, of the master weights `p` with the gradient `g`. `copy` gets the new weights as the products read them; it
/// is empty where they read the master weights.
pub fn update<E: Number>(
    f: Factors,
    p: &mut [f32],
    moments: &mut Moments<f32>,
    g: &[f32],
    copy: &mut [E],
    threads: usize,
) {
    let size = part(p.len(), BLOCK, threads);
    let mut copies = copy.chunks_mut(size);
    let moments = moments.m.chunks_mut(size).zip(moments.v.chunks_mut(size));
    let parts = p.chunks_mut(size).zip(g.chunks(size)).zip(moments);
    let parts = parts.map(|(here, moments)| (here, moments, copies.next().unwrap_or_default()));
    share(parts, |((p, g), (m, v), copy)| walk(f, p, (m, v), g, copy));
}

/// [`update`] in one thread.
// ANCHOR: update
fn walk<E: Number>(
    f: Factors, // of this step
    p: &mut [f32],
    (m, v): (&mut [f32], &mut [f32]),
    g: &[f32],
    copy: &mut [E],
) {
    for (at, p) in p.chunks_mut(BLOCK).enumerate() {
        let here = at * BLOCK..at * BLOCK + p.len();
        let (m, v) = (&mut m[here.clone()], &mut v[here.clone()]);
        adam::fused(f, p, m, v, &g[here.clone()]);
        if let Some(copy) = copy.get_mut(here) {
            E::convert(p, copy); // still in the first-level cache
        }
    }
}
// ANCHOR_END: update
