// One thread for each element of C, and a warp covers part of a column.
//
// Shows     what the textbook's loop costs on a GPU when neighbouring threads read distant numbers:
//           the 32 threads of a warp are in 32 rows of A, so each load fetches 32 sectors of memory
//           and uses 4 of their 32 bytes.
// Launch    blocks of TILE×TILE threads, one for each TILE×TILE elements of C: ceil(m / TILE) along x,
//           ceil(n / TILE) along y.
// Reads     a (m×k) and b (k×n), row-major: k numbers of each for a thread.
// Writes    c (m×n), row-major: one element for a thread. Threads beyond an edge leave at once.
// Before    the three loops of chapter 1: the two outer ones have become the grid.

#ifndef TILE
#define TILE 32 // threads along each side of a block
#endif

KERNEL THREADS_OF_BLOCK(TILE, TILE) void naive(
    GLOBAL const float *a, GLOBAL const float *b, GLOBAL float *c,
    uint m, uint n, uint k)
{
    // ANCHOR: kernel
    uint row = BLOCK_X * TILE + THREAD_X; // x counts the rows
    uint column = BLOCK_Y * TILE + THREAD_Y;
    if (row >= m || column >= n) return;

    float sum = 0.0f;
    for (uint p = 0; p < k; p++) {
        sum += a[row * k + p] * b[p * n + column];
    }
    c[row * n + column] = sum;
    // ANCHOR_END: kernel
}
