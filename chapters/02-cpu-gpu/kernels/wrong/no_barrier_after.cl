// WRONG: `shared.cl` without the barrier after the tiles are used.
//
// Bug       a fast thread fetches the next tiles while a slow one still needs the present ones.
// Hides     where k is no larger than TILE: then there is no next tile.
// Shows     in the simulator as a race, and on a device as wrong sums, or not at all: that depends on who comes first.

#ifndef TILE
#define TILE 16 // rows and columns of a tile, and threads along each side of a block
#endif

KERNEL THREADS_OF_BLOCK(TILE, TILE) void no_barrier_after(
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
        BARRIER(); // both tiles are whole
        for (uint p = 0; p < TILE; p++) {
            sum += a_tile[y][p] * b_tile[p][x];
        }
        // Here the barrier is missing.
    }
    if (row < m && column < n) c[row * n + column] = sum;
}
