//! A product in tiles where each thread computes several elements of C.

use cpu_gpu::simt::{Global, Thread};
use matmul::Shape;

/// Rows and columns of a tile.
pub const TILE: usize = 32;

/// Elements of C for a thread, below each other. A block has TILE×(TILE / RESULTS) threads.
// EXERCISE: begin
pub const RESULTS: usize = 4;
// EXERCISE: instead
// pub const RESULTS: usize = 1;
// EXERCISE: end

/// C = A·B for one thread. A is m×k, B is k×n, C is m×n, all row-major.
pub async fn product(t: Thread, a: Global, b: Global, c: Global, shape: Shape) {
    let Shape { m, k, n } = shape;
    let [a_tile, b_tile] = t.shared([TILE * TILE; 2]);
    let [x, y] = t.index;
    let [left, top] = t.block_index.map(|block| block * TILE);
    // EXERCISE: begin
    let mut sums = [0.0; RESULTS];
    for start in (0..k).step_by(TILE) {
        for row in y * RESULTS..(y + 1) * RESULTS {
            let from_a = guarded(&t, a, [m, k], top + row, start + x).await;
            let from_b = guarded(&t, b, [k, n], start + row, left + x).await;
            t.store(a_tile, row * TILE + x, from_a).await;
            t.store(b_tile, row * TILE + x, from_b).await;
        }
        t.barrier().await; // both tiles are whole
        for p in 0..TILE {
            let from_b = t.load(b_tile, p * TILE + x).await;
            for (i, sum) in sums.iter_mut().enumerate() {
                let from_a = t.load(a_tile, (y * RESULTS + i) * TILE + p).await;
                *sum = t.fma(from_a, from_b, *sum);
            }
        }
        t.barrier().await; // they are no longer needed
    }
    for (i, sum) in sums.into_iter().enumerate() {
        let row = top + y * RESULTS + i;
        if row < m && left + x < n {
            t.store(c, row * n + left + x, sum).await;
        }
    }
    // EXERCISE: instead
    // let mut sum = 0.0;
    // for start in (0..k).step_by(TILE) {
    //     let from_a = guarded(&t, a, [m, k], top + y, start + x).await;
    //     let from_b = guarded(&t, b, [k, n], start + y, left + x).await;
    //     t.store(a_tile, y * TILE + x, from_a).await;
    //     t.store(b_tile, y * TILE + x, from_b).await;
    //     t.barrier().await; // both tiles are whole
    //     for p in 0..TILE {
    //         let from_a = t.load(a_tile, y * TILE + p).await;
    //         let from_b = t.load(b_tile, p * TILE + x).await;
    //         sum = t.fma(from_a, from_b, sum);
    //     }
    //     t.barrier().await; // they are no longer needed
    // }
    // if top + y < m && left + x < n {
    //     t.store(c, (top + y) * n + left + x, sum).await;
    // }
    // EXERCISE: end
}

/// The number in `row` and `column` of a row-major matrix, zero beyond its edges.
async fn guarded(t: &Thread, matrix: Global, size: [usize; 2], row: usize, column: usize) -> f32 {
    let [rows, columns] = size;
    if row < rows && column < columns { t.load(matrix, row * columns + column).await } else { 0.0 }
}
