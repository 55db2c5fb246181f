// WRONG: `shared.cl` without the barrier before the tiles are used.
//
// Bug       a thread starts on tiles that others have not filled yet. It takes stale numbers.
// Hides     within a warp, whose threads often keep step: with small blocks it can pass for years.
// Shows     in the simulator as a race, and on a device as wrong sums, or not at all: that depends on who comes first.

#ifndef TILE
#define TILE 16 // rows and columns of a tile, and threads along each side of a block
#endif

KERNEL THREADS_OF_BLOCK(TILE, TILE) void no_barrier_before(
    GLOBAL const float *a, GLOBAL const float *b, GLOBAL float *c,
    uint m, uint n, uint k)
{
    SHARED float a_tile[TILE][TILE];
    SHARED float b_tile[TILE][TILE];
    uint x = THREAD_X, y = THREAD_Y;
    uint row = BLOCK_Y * TILE + y, column = BLOCK_X * TILE + x;

    float sum = 0.0f;
    for (uint start = 0; start < k; start += TILE) {
        bool a_inside = row < m && start + x < k;
        bool b_inside = start + y < k && column < n;
        a_tile[y][x] = a_inside ? a[row * k + start + x] : 0.0f;
        b_tile[y][x] = b_inside ? b[(start + y) * n + column] : 0.0f;
        // Here the barrier is missing.
        for (uint p = 0; p < TILE; p++) {
            sum += a_tile[y][p] * b_tile[p][x];
        }
        BARRIER(); // they are no longer needed
    }
    if (row < m && column < n) c[row * n + column] = sum;
}
