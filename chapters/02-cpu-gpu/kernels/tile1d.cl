// Each thread computes RESULTS elements below each other in a column of C.
//
// Shows     that registers save reads of shared memory: a number of B, once read, serves RESULTS
//           multiplications. RESULTS + 1 reads for RESULTS steps, where `shared.cl` needs 2·RESULTS.
// Launch    blocks of COLUMNS × ROWS/RESULTS threads, one for each ROWS×COLUMNS elements of C:
//           ceil(n / COLUMNS) along x, ceil(m / ROWS) along y.
// Reads     a (m×k) and b (k×n), row-major: for a block, ROWS·k numbers of A and COLUMNS·k of B.
// Writes    c (m×n), row-major: RESULTS elements for a thread, and a warp always writes to one row.
//           Shared memory: a ROWS×DEPTH tile of A, a DEPTH×COLUMNS tile of B. Beyond an edge zeros are
//           fetched, which add nothing, and nothing is written.
// Before    `shared.cl`.

#ifndef ROWS
#define ROWS 64 // of the tile of C
#endif
#ifndef COLUMNS
#define COLUMNS 64 // of the tile of C
#endif
#ifndef DEPTH
#define DEPTH 8 // columns of A and rows of B in shared memory at a time
#endif
#ifndef RESULTS
#define RESULTS 8 // elements of C for a thread
#endif
#define THREADS (COLUMNS * ROWS / RESULTS)

KERNEL THREADS_OF_BLOCK(COLUMNS, ROWS / RESULTS) void tile1d(
    GLOBAL const float *a, GLOBAL const float *b, GLOBAL float *c,
    uint m, uint n, uint k)
{
    SHARED float a_tile[ROWS][DEPTH];
    SHARED float b_tile[DEPTH][COLUMNS];
    uint top = BLOCK_Y * ROWS, left = BLOCK_X * COLUMNS; // of this block's tile of C
    uint x = THREAD_X, y = THREAD_Y * RESULTS; // of this thread's elements in that tile
    uint thread = THREAD_Y * COLUMNS + THREAD_X;
    float sums[RESULTS];
    for (uint i = 0; i < RESULTS; i++) sums[i] = 0.0f;

    for (uint start = 0; start < k; start += DEPTH) {
        // ANCHOR: fetch
        // The threads load both tiles together, row by row.
        for (uint at = thread; at < ROWS * DEPTH; at += THREADS) {
            uint row = at / DEPTH, p = at % DEPTH;
            bool inside = top + row < m && start + p < k;
            uint from = (top + row) * k + start + p;
            a_tile[row][p] = inside ? a[from] : 0.0f;
        }
        for (uint at = thread; at < DEPTH * COLUMNS; at += THREADS) {
            uint p = at / COLUMNS, column = at % COLUMNS;
            bool inside = start + p < k && left + column < n;
            uint from = (start + p) * n + left + column;
            b_tile[p][column] = inside ? b[from] : 0.0f;
        }
        // ANCHOR_END: fetch
        BARRIER(); // both tiles are whole
        // ANCHOR: steps
        for (uint p = 0; p < DEPTH; p++) {
            float from_b = b_tile[p][x]; // read once, used RESULTS times
            UNROLL
            for (uint i = 0; i < RESULTS; i++) {
                sums[i] += a_tile[y + i][p] * from_b;
            }
        }
        // ANCHOR_END: steps
        BARRIER(); // they are no longer needed
    }
    for (uint i = 0; i < RESULTS; i++) {
        uint row = top + y + i, column = left + x;
        if (row < m && column < n) c[row * n + column] = sums[i];
    }
}
