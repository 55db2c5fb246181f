// C = A·B, Aᵀ·B or A·Bᵀ: the three products of a dense layer, from one source.
//
// Shows     that a transposed operand changes only the way into shared memory: no matrix is ever turned around.
// Launch    blocks of 16×16 threads, one for each 32×32 elements of C: ceil(n / 32) along x, ceil(m / 32) along y.
// Reads     a and b, row-major as they lie in memory: a is m×k, or k×m with TRANSPOSE_A=1; b is k×n, or n×k with
//           TRANSPOSE_B=1. Neighbouring threads fetch neighbouring numbers in each case.
// Writes    c (m×n): four elements for a thread. Beyond an edge zeros are fetched, and nothing is written.
// Before    chapter 2, tile2d.cl: the same steps with larger tiles. Small ones keep more multiprocessors busy where C
//           is as small as a batch.

#ifndef TRANSPOSE_A
#define TRANSPOSE_A 0
#endif
#ifndef TRANSPOSE_B
#define TRANSPOSE_B 0
#endif
#define TILE 32
#define DEPTH 16

KERNEL THREADS_OF_BLOCK(16, 16) void product(
    GLOBAL const float *a, GLOBAL const float *b, GLOBAL float *c,
    uint m, uint n, uint k)
{
    // Two more: a warp that stores 16×2 numbers meets 32 banks.
    SHARED float a_tile[DEPTH][TILE + 2];
    SHARED float b_tile[DEPTH][TILE + 2];
    uint top = BLOCK_Y * TILE, left = BLOCK_X * TILE;
    uint x = THREAD_X, y = THREAD_Y, thread = y * 16 + x;
    float sums[2][2] = {{0.0f, 0.0f}, {0.0f, 0.0f}};

    for (uint start = 0; start < k; start += DEPTH) {
        for (uint at = thread; at < DEPTH * TILE; at += 256) {
#if TRANSPOSE_A
            uint p = at / TILE, i = at % TILE; // a is k×m
            uint offset = (start + p) * m + top + i;
#else
            uint p = at % DEPTH, i = at / DEPTH; // a is m×k
            uint offset = (top + i) * k + start + p;
#endif
            bool inside = top + i < m && start + p < k;
            a_tile[p][i] = inside ? a[offset] : 0.0f;
        }
        for (uint at = thread; at < DEPTH * TILE; at += 256) {
#if TRANSPOSE_B
            uint p = at % DEPTH, j = at / DEPTH; // b is n×k
            uint offset = (left + j) * k + start + p;
#else
            uint p = at / TILE, j = at % TILE; // b is k×n
            uint offset = (start + p) * n + left + j;
#endif
            bool inside = left + j < n && start + p < k;
            b_tile[p][j] = inside ? b[offset] : 0.0f;
        }
        BARRIER(); // both tiles are whole
        for (uint p = 0; p < DEPTH; p++) {
            float a0 = a_tile[p][y], a1 = a_tile[p][y + 16];
            float b0 = b_tile[p][x], b1 = b_tile[p][x + 16];
            sums[0][0] += a0 * b0;
            sums[0][1] += a0 * b1;
            sums[1][0] += a1 * b0;
            sums[1][1] += a1 * b1;
        }
        BARRIER(); // the tiles are no longer needed
    }
    UNROLL
    for (uint i = 0; i < 2; i++) {
        UNROLL
        for (uint j = 0; j < 2; j++) {
            uint row = top + y + 16 * i, col = left + x + 16 * j;
            if (row < m && col < n) c[row * n + col] = sums[i][j];
        }
    }
}
