//! A sum on several threads.

use std::thread;

/// The sum of `f` over the values, by at most `threads` threads (1 or more). The same values give the same bits for any
/// number of threads.
pub fn sum(values: &[f32], threads: usize, f: impl Fn(f32) -> f32 + Sync) -> f32 {
    let f = &f;
    // EXERCISE: begin
    let blocks: Vec<&[f32]> = values.chunks(1024).collect();
    let mut sums = vec![0.0_f32; blocks.len()];
    let part = blocks.len().div_ceil(threads).max(1);
    thread::scope(|scope| {
        for (sums, blocks) in sums.chunks_mut(part).zip(blocks.chunks(part)) {
            scope.spawn(move || {
                for (sum, block) in sums.iter_mut().zip(blocks) {
                    *sum = block.iter().map(|x| f(*x)).sum();
                }
            });
        }
    });
    sums.iter().sum()
    // EXERCISE: instead
    // // A part for each thread.
    // let part = values.len().div_ceil(threads).max(1);
    // let mut sums = vec![0.0_f32; values.len().div_ceil(part)];
    // thread::scope(|scope| {
    //     for (sum, part) in sums.iter_mut().zip(values.chunks(part)) {
    //         scope.spawn(move || *sum = part.iter().map(|x| f(*x)).sum());
    //     }
    // });
    // sums.iter().sum()
    // EXERCISE: end
}
