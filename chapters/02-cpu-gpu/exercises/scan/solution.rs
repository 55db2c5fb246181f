//! The inclusive scan of many numbers: sum i is that of the numbers 0 to i. Hillis and Steele 1986; Blelloch 1990.

// EXERCISE: begin
use cpu_gpu::simt::{Counts, Global, KernelFault, Machine, Thread};

/// Threads of a block, and numbers that it scans.
const THREADS: usize = 256;

/// Writes the scan of `numbers` to `sums`, `count` of each. Returns the counts of all its launches, added up.
pub fn scan(
    gpu: &mut Machine,
    numbers: Global,
    sums: Global,
    count: usize,
) -> Result<Counts, KernelFault> {
    let blocks = count.div_ceil(THREADS);
    let (grid, block) = ([blocks, 1], [THREADS, 1]);
    let totals = gpu.unwritten(blocks);
    let stretch = |t| scan_stretch(t, numbers, sums, totals, count);
    let mut counts = gpu.launch("scan_stretch", grid, block, stretch)?;
    if blocks > 1 {
        // The scan of the totals says what comes before each block.
        let carries = gpu.unwritten(blocks);
        counts += scan(gpu, totals, carries, blocks)?;
        counts += gpu.launch("carry", grid, block, |t| carry(t, carries, sums, count))?;
    }
    Ok(counts)
}

/// Scans the numbers of each block alone, and writes their sum to `totals`.
async fn scan_stretch(t: Thread, numbers: Global, sums: Global, totals: Global, count: usize) {
    let [mut now, mut next] = t.shared([THREADS; 2]);
    let i = t.index[0];
    let at = t.block_index[0] * THREADS + i;
    let mut sum = if at < count { t.load(numbers, at).await } else { 0.0 };
    let mut distance = 1;
    while distance < THREADS {
        t.store(now, i, sum).await;
        t.barrier().await;
        if i >= distance {
            sum = t.add(t.load(now, i - distance).await, sum);
        }
        // The next round writes to the other array: this one may still be read.
        (now, next) = (next, now);
        distance *= 2;
    }
    if at < count {
        t.store(sums, at, sum).await;
    }
    if i == THREADS - 1 {
        t.store(totals, t.block_index[0], sum).await;
    }
}

/// Adds to the sums of each block what the blocks before it add up to.
async fn carry(t: Thread, carries: Global, sums: Global, count: usize) {
    let at = t.block_index[0] * THREADS + t.index[0];
    if t.block_index[0] > 0 && at < count {
        let before = t.load(carries, t.block_index[0] - 1).await;
        t.store(sums, at, t.add(before, t.load(sums, at).await)).await;
    }
}
// EXERCISE: instead
// use cpu_gpu::simt::{Counts, Global, KernelFault, Machine, Thread};
//
// /// Writes the scan of `numbers` to `sums`, `count` of each. Returns the counts of all its launches, added up.
// pub fn scan(
//     gpu: &mut Machine,
//     numbers: Global,
//     sums: Global,
//     count: usize,
// ) -> Result<Counts, KernelFault> {
//     // One block of one thread does all of it.
//     gpu.launch("scan", [1, 1], [1, 1], |t| one_thread(t, numbers, sums, count))
// }
//
// /// Number after number.
// async fn one_thread(t: Thread, numbers: Global, sums: Global, count: usize) {
//     let mut sum = 0.0;
//     for i in 0..count {
//         sum = t.add(sum, t.load(numbers, i).await);
//         t.store(sums, i, sum).await;
//     }
// }
// EXERCISE: end
