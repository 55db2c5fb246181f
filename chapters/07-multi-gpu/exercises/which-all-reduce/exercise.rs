//! The choice between three all-reduces.

use multi_gpu::comm::{Algorithm, AlphaBeta};

/// Naive, tree or ring: the one with the least predicted time for `bytes` on each of `p` ranks, of equals the first.
pub fn best(link: AlphaBeta, bytes: f64, p: usize) -> Algorithm {
    // EXERCISE: begin
    let _ = (link.alpha, link.beta, bytes, p);
    Algorithm::Ring
    // EXERCISE: end
}
