// The same loop, with the threads of a warp side by side in a row of C.
//
// Shows     that neighbouring threads should read neighbouring numbers: a warp's load of B is now 128
//           bytes in one piece, its load of A one number for all, and its store of C one piece again.
// Launch    blocks of TILE×TILE threads, one for each TILE×TILE elements of C: ceil(n / TILE) along x,
//           ceil(m / TILE) along y.
// Reads     a (m×k) and b (k×n), row-major: k numbers of each for a thread.
// Writes    c (m×n), row-major: one element for a thread. Threads beyond an edge leave at once.
// Before    `naive.cl`: x and y are swapped, nothing else.

#ifndef TILE
#define TILE 32 // threads along each side of a block
#endif

KERNEL THREADS_OF_BLOCK(TILE, TILE) void coalesced(
    GLOBAL const float *a, GLOBAL const float *b, GLOBAL float *c,
    uint m, uint n, uint k)
{
    // ANCHOR: kernel
    uint row = BLOCK_Y * TILE + THREAD_Y;
    uint column = BLOCK_X * TILE + THREAD_X; // x counts the columns
    if (row >= m || column >= n) return;

    float sum = 0.0f;
    for (uint p = 0; p < k; p++) {
        sum += a[row * k + p] * b[p * n + column];
    }
    c[row * n + column] = sum;
    // ANCHOR_END: kernel
}
