// Two tiles of each matrix in shared memory: while one is used, the next one is in flight.
//
// Shows     that waiting can overlap with work. Each thread asks for its numbers of the next tile before it
//           starts on the present one, and they arrive in registers while it multiplies. A second pair of
//           tiles in shared memory needs one barrier for each tile where `vectorised.cl` needs two.
// Launch    blocks of COLUMNS/ALONG × ROWS/DOWN threads, one for each ROWS×COLUMNS elements of C:
//           ceil(n / COLUMNS) along x, ceil(m / ROWS) along y. WIDE is 1 where n and k are multiples of 4.
// Reads     a (m×k) and b (k×n), row-major: for a block, ROWS·k numbers of A and COLUMNS·k of B.
// Writes    c (m×n), row-major: DOWN·ALONG elements for a thread, in pieces of 4×4. Shared memory: two tiles
//           of A, transposed and padded, and two of B. Beyond an edge zeros are fetched, and nothing is
//           written.
// Before    `vectorised.cl`. Uses `tile.h`, `piece.h` and `four.h`.

// This thread's part of the tile of A whose first column is `start`, from memory into registers.
FUNCTION void fetch_a(
    float4 *next, GLOBAL const float *a, uint m, uint k, uint top, uint start, uint thread)
{
    UNROLL
    for (uint i = 0; i < A_LOADS; i++) {
        uint at = thread + i * THREADS;
        next[i] = load4(a, m, k, top + at / (DEPTH / 4), start + at % (DEPTH / 4) * 4);
    }
}

// The same for B, whose tile begins with row `start`.
FUNCTION void fetch_b(
    float4 *next, GLOBAL const float *b, uint k, uint n, uint left, uint start, uint thread)
{
    UNROLL
    for (uint i = 0; i < B_LOADS; i++) {
        uint at = thread + i * THREADS;
        next[i] = load4(b, k, n, start + at / (COLUMNS / 4), left + at % (COLUMNS / 4) * 4);
    }
}

// From registers into shared memory, where the tile of A lies transposed.
FUNCTION void stash_a(SHARED_POINTER float *tile, const float4 *next, uint thread)
{
    UNROLL
    for (uint i = 0; i < A_LOADS; i++) {
        uint at = thread + i * THREADS;
        uint row = at / (DEPTH / 4), p = at % (DEPTH / 4) * 4;
        tile[(p + 0) * PADDED + row] = next[i].x;
        tile[(p + 1) * PADDED + row] = next[i].y;
        tile[(p + 2) * PADDED + row] = next[i].z;
        tile[(p + 3) * PADDED + row] = next[i].w;
    }
}

FUNCTION void stash_b(SHARED_POINTER float4 *tile, const float4 *next, uint thread)
{
    UNROLL
    for (uint i = 0; i < B_LOADS; i++) tile[thread + i * THREADS] = next[i];
}

// Two blocks at a time on a multiprocessor: the compiler may use up to 128 registers for a thread.
KERNEL THREADS_AND_BLOCKS(THREADS_X, THREADS_Y, 2) void double_buffered(
    GLOBAL const float *a, GLOBAL const float *b, GLOBAL float *c,
    uint m, uint n, uint k)
{
    SHARED float4 a_tiles[2][DEPTH][PADDED / 4];
    SHARED float4 b_tiles[2][DEPTH][COLUMNS / 4];
    uint top = BLOCK_Y * ROWS, left = BLOCK_X * COLUMNS; // of this block's tile of C
    uint x = THREAD_X, y = THREAD_Y; // of this thread's first piece, in pieces
    uint thread = y * THREADS_X + x;
    float4 sums[DOWN][ALONG / 4];
    UNROLL
    for (uint i = 0; i < DOWN; i++) {
        UNROLL
        for (uint j = 0; j < ALONG / 4; j++) sums[i][j] = FLOAT4(0.0f, 0.0f, 0.0f, 0.0f);
    }

    // ANCHOR: pipeline
    float4 next_a[A_LOADS], next_b[B_LOADS]; // registers
    fetch_a(next_a, a, m, k, top, 0, thread);
    fetch_b(next_b, b, k, n, left, 0, thread);
    stash_a((SHARED_POINTER float *)a_tiles[0], next_a, thread);
    stash_b(b_tiles[0][0], next_b, thread);
    for (uint start = 0; start < k; start += DEPTH) {
        uint now = start / DEPTH % 2, next = 1 - now; // pairs of tiles
        // Ask for the next pair, without waiting. Beyond the last: zeros.
        fetch_a(next_a, a, m, k, top, start + DEPTH, thread);
        fetch_b(next_b, b, k, n, left, start + DEPTH, thread);
        BARRIER(); // this pair is whole, and the other one is not needed
        // ANCHOR_END: pipeline
        UNROLL
        for (uint p = 0; p < DEPTH; p++) {
            float4 from_a[DOWN / 4], from_b[ALONG / 4];
            UNROLL
            for (uint i = 0; i < DOWN / 4; i++) {
                from_a[i] = a_tiles[now][p][y + i * THREADS_Y];
            }
            UNROLL
            for (uint j = 0; j < ALONG / 4; j++) {
                from_b[j] = b_tiles[now][p][x + j * THREADS_X];
            }
            UNROLL
            for (uint i = 0; i < DOWN / 4; i++) {
                UNROLL
                for (uint j = 0; j < ALONG / 4; j++) {
                    add_piece(&sums[4 * i][j], ALONG / 4, from_a[i], from_b[j]);
                }
            }
        }
        // ANCHOR: stash
        stash_a((SHARED_POINTER float *)a_tiles[next], next_a, thread);
        stash_b(b_tiles[next][0], next_b, thread);
        // ANCHOR_END: stash
    }
    UNROLL
    for (uint i = 0; i < DOWN; i++) {
        UNROLL
        for (uint j = 0; j < ALONG / 4; j++) {
            uint row = top + 4 * (y + i / 4 * THREADS_Y) + i % 4;
            uint column = left + 4 * (x + j * THREADS_X);
            store4(c, m, n, row, column, sums[i][j]);
        }
    }
}
