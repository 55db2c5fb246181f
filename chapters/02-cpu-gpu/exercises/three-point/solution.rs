//! The mean of three neighbours, for any number of elements on any grid.

use cpu_gpu::simt::{Global, Thread};

/// y = the mean of each element of x and its two neighbours; at the ends the element itself stands in for the
/// neighbour that is missing. A thread takes every element that is its own by its global index and the stride.
pub async fn smooth(t: Thread, x: Global, y: Global, count: usize) {
    let threads = t.grid[0] * t.block[0];
    let first = t.block_index[0] * t.block[0] + t.index[0];
    // EXERCISE: begin
    let mut i = first;
    while i < count {
        let left = t.load(x, i.saturating_sub(1)).await;
        let middle = t.load(x, i).await;
        let right = t.load(x, (i + 1).min(count - 1)).await;
        t.store(y, i, (left + middle + right) / 3.0).await;
        i += threads;
    }
    // EXERCISE: instead
    // let _ = (threads, count);
    // let left = if first == 0 { t.load(x, first).await } else { t.load(x, first - 1).await };
    // let middle = t.load(x, first).await;
    // let right = t.load(x, first + 1).await;
    // t.store(y, first, (left + middle + right) / 3.0).await;
    // EXERCISE: end
}
