// WRONG: `shared.cl`, which reads A beyond the end of its rows.
//
// Bug       the last tile takes the first numbers of the next row of A, and in the last row what lies behind A. They are
//           multiplied by the zeros that replace the missing rows of B, so nearly always nothing happens.
// Hides     as long as no infinity and no NaN lies behind A, and the memory there may be read.
// Shows     because the strip behind A is full of NaNs, and zero times NaN is NaN.

#ifndef TILE
#define TILE 16 // rows and columns of a tile, and threads along each side of a block
#endif

KERNEL THREADS_OF_BLOCK(TILE, TILE) void unguarded_read(
    GLOBAL const float *a, GLOBAL const float *b, GLOBAL float *c,
    uint m, uint n, uint k)
{
    SHARED float a_tile[TILE][TILE];
    SHARED float b_tile[TILE][TILE];
    uint x = THREAD_X, y = THREAD_Y;
    uint row = BLOCK_Y * TILE + y, column = BLOCK_X * TILE + x;

    float sum = 0.0f;
    for (uint start = 0; start < k; start += TILE) {
        bool a_inside = row < m; // here a guard is missing
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
