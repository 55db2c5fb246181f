// Each thread computes a square of DOWN×ALONG elements of C, spread over the block's tile.
//
// Shows     that registers also hold a tile: DOWN + ALONG reads of shared memory serve DOWN·ALONG
//           multiplications and additions.
// Launch    blocks of COLUMNS/ALONG × ROWS/DOWN threads, one for each ROWS×COLUMNS elements of C:
//           ceil(n / COLUMNS) along x, ceil(m / ROWS) along y.
// Reads     a (m×k) and b (k×n), row-major: for a block, ROWS·k numbers of A and COLUMNS·k of B.
// Writes    c (m×n), row-major: DOWN·ALONG elements for a thread. They lie as far apart as the block has
//           threads, so that neighbouring threads always have neighbouring columns: shared memory is read
//           without bank conflicts, C written in whole sectors. Shared memory: a ROWS×DEPTH tile of A, a
//           DEPTH×COLUMNS tile of B. Beyond an edge zeros are fetched, and nothing is written.
// Before    `tile1d.cl`. Uses `tile.h` and `piece.h`.

KERNEL THREADS_OF_BLOCK(THREADS_X, THREADS_Y) void tile2d(
    GLOBAL const float *a, GLOBAL const float *b, GLOBAL float *c,
    uint m, uint n, uint k)
{
    SHARED float a_tile[ROWS][DEPTH];
    SHARED float b_tile[DEPTH][COLUMNS];
    uint top = BLOCK_Y * ROWS, left = BLOCK_X * COLUMNS; // of this block's tile of C
    uint x = THREAD_X, y = THREAD_Y; // of this thread's first element in that tile
    uint thread = y * THREADS_X + x;
    float sums[DOWN][ALONG];
    UNROLL
    for (uint i = 0; i < DOWN; i++) {
        UNROLL
        for (uint j = 0; j < ALONG; j++) sums[i][j] = 0.0f;
    }

    for (uint start = 0; start < k; start += DEPTH) {
        for (uint at = thread; at < ROWS * DEPTH; at += THREADS) {
            uint row = at / DEPTH, p = at % DEPTH;
            bool inside = top + row < m && start + p < k;
            a_tile[row][p] = inside ? a[(top + row) * k + start + p] : 0.0f;
        }
        for (uint at = thread; at < DEPTH * COLUMNS; at += THREADS) {
            uint p = at / COLUMNS, column = at % COLUMNS;
            bool inside = start + p < k && left + column < n;
            b_tile[p][column] = inside ? b[(start + p) * n + left + column] : 0.0f;
        }
        BARRIER(); // both tiles are whole
        // ANCHOR: steps
        for (uint p = 0; p < DEPTH; p++) {
            float from_a[DOWN], from_b[ALONG]; // registers
            UNROLL
            for (uint i = 0; i < DOWN; i++) {
                from_a[i] = a_tile[y + i * THREADS_Y][p];
            }
            UNROLL
            for (uint j = 0; j < ALONG; j++) {
                from_b[j] = b_tile[p][x + j * THREADS_X];
            }
            UNROLL
            for (uint i = 0; i < DOWN; i++) {
                UNROLL
                for (uint j = 0; j < ALONG; j++) {
                    sums[i][j] += from_a[i] * from_b[j];
                }
            }
        }
        // ANCHOR_END: steps
        BARRIER(); // they are no longer needed
    }
    UNROLL
    for (uint i = 0; i < DOWN; i++) {
        UNROLL
        for (uint j = 0; j < ALONG; j++) {
            uint row = top + y + i * THREADS_Y;
            uint column = left + x + j * THREADS_X;
            if (row < m && column < n) c[row * n + column] = sums[i][j];
        }
    }
}
