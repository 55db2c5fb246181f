//! The transpose of a matrix: a kernel for the simulated GPU, and the same for a real one.

use cpu_gpu::simt::{Global, Thread};

/// Rows and columns of a tile. A block turns one tile.
pub const TILE: usize = 32;

/// Rows of threads in a block, which has TILE×ROWS threads: each moves TILE / ROWS elements.
pub const ROWS: usize = 8;

/// B = Aᵀ. A is m×n and B n×m, both row-major. Blocks along x go over the columns of A, blocks along y over its rows.
pub async fn transpose(t: Thread, a: Global, b: Global, m: usize, n: usize) {
    // EXERCISE: begin
    let [left, top] = t.block_index.map(|block| block * TILE);
    let column = left + t.index[0];
    for y in (t.index[1]..TILE).step_by(ROWS) {
        let row = top + y;
        if row < m && column < n {
            let value = t.load(a, row * n + column).await;
            t.store(b, column * m + row, value).await;
        }
    }
    // EXERCISE: end
}

/// The same for a device, with the names of `kernels/portable.h`, so that it is OpenCL C and CUDA C++ at once. TILE and
/// ROWS are the numbers above.
pub const KERNEL: &str = r"
KERNEL THREADS_OF_BLOCK(TILE, ROWS)
void transpose(GLOBAL const float *a, GLOBAL float *b, uint m, uint n)
{
    // EXERCISE: begin
    uint left = BLOCK_X * TILE, top = BLOCK_Y * TILE;
    uint column = left + THREAD_X;
    for (uint y = THREAD_Y; y < TILE; y += ROWS) {
        uint row = top + y;
        if (row < m && column < n) b[column * m + row] = a[row * n + column];
    }
    // EXERCISE: end
}
";
