//! A tile in shared memory whose rows and columns can both be accessed in one wavefront.

use cpu_gpu::simt::{Global, Thread};

/// Threads along each side of a block, and elements along each side of its tile.
pub const SIDE: usize = 32;

/// Words of shared memory for the tile.
// EXERCISE: begin
pub const WORDS: usize = SIDE * (SIDE + 1);
// EXERCISE: instead
// pub const WORDS: usize = SIDE * SIDE;
// EXERCISE: end

/// Where in shared memory the element in row `y` and column `x` of the tile lies.
fn at(y: usize, x: usize) -> usize {
    // EXERCISE: begin
    y * (SIDE + 1) + x
    // EXERCISE: instead
    // y * SIDE + x
    // EXERCISE: end
}

/// B = Aᵀ for an n×n matrix whose n is a multiple of 32.
pub async fn transpose(t: Thread, a: Global, b: Global, n: usize) {
    let [tile] = t.shared([WORDS]);
    let [x, y] = t.index;
    let [left, top] = t.block_index.map(|block| block * SIDE);
    let value = t.load(a, (top + y) * n + left + x).await;
    t.store(tile, at(y, x), value).await;
    t.barrier().await;
    let value = t.load(tile, at(x, y)).await;
    t.store(b, (left + y) * n + top + x, value).await;
}
