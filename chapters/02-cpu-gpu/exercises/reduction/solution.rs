//! The sum of a block's numbers.

use cpu_gpu::simt::{Global, Thread};

/// Writes the sum of the block's numbers, one for each thread, to `sums`.
pub async fn sum(t: Thread, numbers: Global, sums: Global) {
    let (i, threads) = (t.index[0], t.block[0]);
    let [partial] = t.shared([threads]);
    let value = t.load(numbers, t.block_index[0] * threads + i).await;
    t.store(partial, i, value).await;
    // EXERCISE: begin
    let mut half = threads / 2;
    while half > 0 {
        t.barrier().await;
        if i < half {
            let (own, other) = (t.load(partial, i).await, t.load(partial, i + half).await);
            t.store(partial, i, t.add(own, other)).await;
        }
        half /= 2;
    }
    // EXERCISE: instead
    // let mut step = 1;
    // while step < threads {
    //     if i.is_multiple_of(2 * step) {
    //         let (own, other) = (t.load(partial, i).await, t.load(partial, i + step).await);
    //         t.store(partial, i, t.add(own, other)).await;
    //     }
    //     step *= 2;
    // }
    // EXERCISE: end
    if i == 0 {
        t.store(sums, t.block_index[0], t.load(partial, 0).await).await;
    }
}
