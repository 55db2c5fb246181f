//! The test of the exercise `occupancy`.

#[cfg_attr(feature = "solutions", path = "solution.rs")]
mod exercise;

use cpu_gpu::simt::{Block, Limits, occupancy};

#[test]
fn no_other_block_holds_more_warps() {
    for limits in Limits::ALL {
        for (registers, shared) in [(40, 80), (32, 0), (64, 16), (128, 64), (255, 200), (48, 8)] {
            let best = exercise::best_block(registers, shared, limits);
            let warps = |threads: usize| {
                occupancy(Block { threads, registers, shared: threads * shared }, limits).warps
            };
            let most = warps(best);
            println!("{registers} registers, {shared} bytes: {best} threads, {most} warps");
            assert!((32..=1024).contains(&best) && best.is_multiple_of(32), "{best} threads");
            for other in (32..=1024).step_by(32) {
                let makes = warps(other);
                let better = makes > most || makes == most && other > best;
                let what = format!("{registers} registers and {shared} bytes for a thread");
                let what = format!("{what}: a block of {other} threads makes {makes} warps");
                assert!(!better, "{what}, and {best} threads make {most}");
            }
        }
    }
}
