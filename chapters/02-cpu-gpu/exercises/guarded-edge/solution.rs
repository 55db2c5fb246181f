//! A product in tiles that must also be right at the edges.

use cpu_gpu::simt::{Global, Thread};
use matmul::Shape;

/// Rows and columns of a tile, and threads along each side of a block.
pub const TILE: usize = 16;

/// C = A·B for one thread of a block of TILE×TILE. A is m×k, B is k×n, C is m×n, all row-major.
pub async fn product(t: Thread, a: Global, b: Global, c: Global, shape: Shape) {
    let Shape { m, k, n } = shape;
    let [a_tile, b_tile] = t.shared([TILE * TILE; 2]);
    let [x, y] = t.index;
    let (row, column) = (t.block_index[1] * TILE + y, t.block_index[0] * TILE + x);
    let mut sum = 0.0;
    for start in (0..k).step_by(TILE) {
        // EXERCISE: begin
        let a_inside = row < m && start + x < k;
        let b_inside = start + y < k && column < n;
        let from_a = if a_inside { t.load(a, row * k + start + x).await } else { 0.0 };
        let from_b = if b_inside { t.load(b, (start + y) * n + column).await } else { 0.0 };
        // EXERCISE: instead
        // let from_a = t.load(a, row * k + start + x).await;
        // let from_b = t.load(b, (start + y) * n + column).await;
        // EXERCISE: end
        t.store(a_tile, y * TILE + x, from_a).await;
        t.store(b_tile, y * TILE + x, from_b).await;
        t.barrier().await; // both tiles are whole
        for p in 0..TILE {
            let from_a = t.load(a_tile, y * TILE + p).await;
            let from_b = t.load(b_tile, p * TILE + x).await;
            sum = t.fma(from_a, from_b, sum);
        }
        t.barrier().await; // they are no longer needed
    }
    // EXERCISE: begin
    if row < m && column < n {
        t.store(c, row * n + column, sum).await;
    }
    // EXERCISE: instead
    // let _ = m; // The rows of C; it is not used yet.
    // t.store(c, row * n + column, sum).await;
    // EXERCISE: end
}
