// WRONG: `shared.cl`, which forgets the last tile if it is not whole.
//
// Bug       the loop runs k / TILE times, rounded down.
// Hides     where k is a multiple of TILE, as in every round benchmark. It is even a little faster elsewhere.
// Shows     as wrong sums at any other k.

#ifndef TILE
#define TILE 16 // rows and columns of a tile, and threads along each side of a block
#endif

KERNEL THREADS_OF_BLOCK(TILE, TILE) void last_tile(
    GLOBAL const float *a, GLOBAL const float *b, GLOBAL float *c,
    uint m, uint n, uint k)
{
    SHARED float a_tile[TILE][TILE];
    SHARED float b_tile[TILE][TILE];
    uint x = THREAD_X, y = THREAD_Y;
    uint row = BLOCK_Y * TILE + y, column = BLOCK_X * TILE + x;

    float sum = 0.0f;
    for (uint start = 0; start + TILE <= k; start += TILE) { // should be start < k
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
}
