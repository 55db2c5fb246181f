// WRONG: `shared.cl` without the guard around its store.
//
// Bug       the threads beyond the last column write into the next row, those beyond the last row behind C.
// Hides     where m and n are multiples of TILE.
// Shows     in the strip behind C, and where the zeros of a thread that is outside come after the right number.

#ifndef TILE
#define TILE 16 // rows and columns of a tile, and threads along each side of a block
#endif

KERNEL THREADS_OF_BLOCK(TILE, TILE) void unguarded_write(
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
        BARRIER(); // they are no longer needed
    }
    c[row * n + column] = sum; // here the guard is missing
}
