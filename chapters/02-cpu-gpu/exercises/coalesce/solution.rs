//! Let neighbouring threads touch neighbouring numbers.

use cpu_gpu::simt::{Global, Thread};

/// Threads of a block along x and y.
pub const BLOCK: [usize; 2] = [32, 8];

/// Blocks along x and y for a matrix of `rows`×`columns`.
pub fn grid(rows: usize, columns: usize) -> [usize; 2] {
    // EXERCISE: begin
    [columns.div_ceil(BLOCK[0]), rows.div_ceil(BLOCK[1])]
    // EXERCISE: instead
    // [rows.div_ceil(BLOCK[0]), columns.div_ceil(BLOCK[1])]
    // EXERCISE: end
}

/// Multiplies each row of a row-major matrix by its factor.
pub async fn scale_rows(t: Thread, matrix: Global, factors: Global, rows: usize, columns: usize) {
    // EXERCISE: begin
    let row = t.block_index[1] * BLOCK[1] + t.index[1];
    let column = t.block_index[0] * BLOCK[0] + t.index[0];
    // EXERCISE: instead
    // let row = t.block_index[0] * BLOCK[0] + t.index[0];
    // let column = t.block_index[1] * BLOCK[1] + t.index[1];
    // EXERCISE: end
    if row >= rows || column >= columns {
        return;
    }
    let factor = t.load(factors, row).await;
    let value = t.load(matrix, row * columns + column).await;
    t.store(matrix, row * columns + column, t.fma(value, factor, 0.0)).await;
}
