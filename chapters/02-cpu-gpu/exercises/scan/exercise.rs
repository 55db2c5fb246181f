//! The inclusive scan of many numbers: sum i is that of the numbers 0 to i. Hillis and Steele 1986; Blelloch 1990.

// EXERCISE: begin
use cpu_gpu::simt::{Counts, Global, KernelFault, Machine, Thread};

/// Writes the scan of `numbers` to `sums`, `count` of each. Returns the counts of all its launches, added up.
pub fn scan(
    gpu: &mut Machine,
    numbers: Global,
    sums: Global,
    count: usize,
) -> Result<Counts, KernelFault> {
    // One block of one thread does all of it.
    gpu.launch("scan", [1, 1], [1, 1], |t| one_thread(t, numbers, sums, count))
}

/// Number after number.
async fn one_thread(t: Thread, numbers: Global, sums: Global, count: usize) {
    let mut sum = 0.0;
    for i in 0..count {
        sum = t.add(sum, t.load(numbers, i).await);
        t.store(sums, i, sum).await;
    }
}
// EXERCISE: end
