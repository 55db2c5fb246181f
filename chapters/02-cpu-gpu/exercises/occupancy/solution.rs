//! The block that fills a multiprocessor.

use cpu_gpu::simt::{Block, Limits, occupancy};

/// The number of threads of a block, from 32 to 1024 in steps of 32, with which the most warps fit on a
/// multiprocessor; of several, the largest. Each thread takes so many registers and so many bytes of shared
/// memory.
pub fn best_block(registers: usize, shared_of_thread: usize, limits: Limits) -> usize {
    let warps = |threads: usize| {
        let shared = threads * shared_of_thread;
        occupancy(Block { threads, registers, shared }, limits).warps
    };
    // EXERCISE: begin
    (1..=32).map(|warp| 32 * warp).max_by_key(|threads| warps(*threads)).unwrap_or(32)
    // EXERCISE: instead
    // if warps(1024) > 0 { 1024 } else { 32 }
    // EXERCISE: end
}
