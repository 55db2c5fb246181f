// A block fetches a tile of A and a tile of B together, and each thread uses a row and a column of them.
//
// Shows     that threads can share what they fetch: every value goes from memory to the block once and
//           serves TILE threads.
// Launch    blocks of TILE×TILE threads, one for each TILE×TILE elements of C: ceil(n / TILE) along x,
//           ceil(m / TILE) along y.
// Reads     a (m×k) and b (k×n), row-major: k / TILE numbers of each for a thread, and 2k from shared
//           memory, without bank conflicts: a warp reads one value of a_tile, and a row of b_tile.
// Writes    c (m×n), row-major: one element for a thread. Shared memory: two tiles, 8·TILE² bytes.
//           Beyond an edge zeros are fetched, which add nothing, and nothing is written.
// Before    `coalesced.cl`.

#ifndef TILE
#define TILE 32 // rows and columns of a tile, and threads along each side of a block
#endif

KERNEL THREADS_OF_BLOCK(TILE, TILE) void shared(
    GLOBAL const float *a, GLOBAL const float *b, GLOBAL float *c,
    uint m, uint n, uint k)
{
    SHARED float a_tile[TILE][TILE];
    SHARED float b_tile[TILE][TILE];
    // ANCHOR: kernel
    uint x = THREAD_X, y = THREAD_Y;
    uint row = BLOCK_Y * TILE + y, column = BLOCK_X * TILE + x;

    float sum = 0.0f;
    for (uint start = 0; start < k; start += TILE) {
        bool a_inside = row < m && start + x < k;
        bool b_inside = start + y < k && column < n;
        a_tile[y][x] = a_inside ? a[row * k + start + x] : 0.0f;
        b_tile[y][x] = b_inside ? b[(start + y) * n + column] : 0.0f;
        BARRIER(); // both tiles are whole
        for (uint p = 0; p < TILE; p++) {
            sum += a_tile[y][p] * b_tile[p][x];
        }
        BARRIER(); // they are no longer needed
    }
    if (row < m && column < n) c[row * n + column] = sum;
    // ANCHOR_END: kernel
}
