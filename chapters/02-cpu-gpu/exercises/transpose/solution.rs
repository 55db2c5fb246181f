//! The transpose of a matrix: a kernel for the simulated GPU, and the same for a real one.

use cpu_gpu::simt::{Global, Thread};

/// Rows and columns of a tile. A block turns one tile.
pub const TILE: usize = 32;

/// Rows of threads in a block, which has TILE×ROWS threads: each moves TILE / ROWS elements.
pub const ROWS: usize = 8;

/// B = Aᵀ. A is m×n and B n×m, both row-major. Blocks along x go over the columns of A, blocks along y over its rows.
pub async fn transpose(t: Thread, a: Global, b: Global, m: usize, n: usize) {
    // EXERCISE: begin
    let [tile] = t.shared([TILE * (TILE + 1)]);
    let [left, top] = t.block_index.map(|block| block * TILE);
    let x = t.index[0];
    // A row of A into a row of the tile.
    for y in (t.index[1]..TILE).step_by(ROWS) {
        if top + y < m && left + x < n {
            let value = t.load(a, (top + y) * n + left + x).await;
            t.store(tile, y * (TILE + 1) + x, value).await;
        }
    }
    t.barrier().await;
    // A column of the tile into a row of B.
    for y in (t.index[1]..TILE).step_by(ROWS) {
        if left + y < n && top + x < m {
            let value = t.load(tile, x * (TILE + 1) + y).await;
            t.store(b, (left + y) * m + top + x, value).await;
        }
    }
    // EXERCISE: instead
    // let [left, top] = t.block_index.map(|block| block * TILE);
    // let column = left + t.index[0];
    // for y in (t.index[1]..TILE).step_by(ROWS) {
    //     let row = top + y;
    //     if row < m && column < n {
    //         let value = t.load(a, row * n + column).await;
    //         t.store(b, column * m + row, value).await;
    //     }
    // }
    // EXERCISE: end
}

/// The same for a device, with the names of `kernels/portable.h`, so that it is OpenCL C and CUDA C++ at once. TILE and
/// ROWS are the numbers above.
pub const KERNEL: &str = r"
KERNEL THREADS_OF_BLOCK(TILE, ROWS)
void transpose(GLOBAL const float *a, GLOBAL float *b, uint m, uint n)
{
    // EXERCISE: begin
    SHARED float tile[TILE][TILE + 1];
    uint left = BLOCK_X * TILE, top = BLOCK_Y * TILE;
    uint x = THREAD_X;
    // A row of A into a row of the tile.
    for (uint y = THREAD_Y; y < TILE; y += ROWS) {
        if (top + y < m && left + x < n) tile[y][x] = a[(top + y) * n + left + x];
    }
    BARRIER();
    // A column of the tile into a row of B.
    for (uint y = THREAD_Y; y < TILE; y += ROWS) {
        if (left + y < n && top + x < m) b[(left + y) * m + top + x] = tile[x][y];
    }
    // EXERCISE: instead
    // uint left = BLOCK_X * TILE, top = BLOCK_Y * TILE;
    // uint column = left + THREAD_X;
    // for (uint y = THREAD_Y; y < TILE; y += ROWS) {
    //     uint row = top + y;
    //     if (row < m && column < n) b[column * m + row] = a[row * n + column];
    // }
    // EXERCISE: end
}
";
