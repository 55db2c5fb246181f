// A level between block and thread: each warp has a tile of its own, and its lanes fixed positions in it.
//
// Shows     how the last of shared memory's cost goes: a warp that covers a near-square tile reads fewer
//           numbers for a step, and its lanes are numbered so that two of them always want the same 16 bytes,
//           which the hardware then serves together. Threads with a larger piece of C need fewer reads for
//           each multiplication, and more registers: which tiles are best, each device is asked (`autotune`).
// Launch    blocks of THREADS threads in a row, one for each ROWS×COLUMNS elements of C: ceil(n / COLUMNS)
//           along x, ceil(m / ROWS) along y. WIDE is 1 where n and k are multiples of 4.
// Reads     a (m×k) and b (k×n), row-major: for a block, ROWS·k numbers of A and COLUMNS·k of B.
// Writes    c (m×n), row-major: for a thread, DOWN·ALONG pieces of 4×4, the pieces of a row of lanes side by
//           side. Shared memory: two tiles of A, transposed and padded, and two of B. Beyond an edge zeros
//           are fetched, and nothing is written.
// Before    `double_buffered.cl`. Uses `tile.h` and `four.h`.
// Sources   Warp tiles: Boehm's worklog (SGEMM_CUDA, kernel 10) and NVIDIA's CUTLASS. Lanes in pairs: NVIDIA's
//           developer forum, "Unexpected shared memory bank conflict" (topic 77228).

#ifndef WARP_ROWS
#define WARP_ROWS 32 // of a warp's tile of C: a multiple of 16
#endif
#ifndef WARP_COLUMNS
#define WARP_COLUMNS 64 // of a warp's tile of C: a multiple of 32
#endif
#ifndef BLOCKS
#define BLOCKS 2 // at a time on a multiprocessor: this bounds the registers of a thread
#endif
#define WARPS_ALONG (COLUMNS / WARP_COLUMNS)
#define THREADS (ROWS / WARP_ROWS * WARPS_ALONG * 32)
// A warp's lanes are 4 down and 8 along, each with a piece of 4×4. This often they fit into its tile:
#define DOWN (WARP_ROWS / 16)
#define ALONG (WARP_COLUMNS / 32)

// Where a thread's load number `at` lies in the tile of A: two threads for 32 bytes of a row. Then the
// numbers that a warp writes into the transposed tile at a time are in 32 different banks.
#define A_ROW(at) ((at) / 2 % ROWS)
#define A_COLUMN(at) ((at) % 2 * 4 + (at) / (2 * ROWS) * 8)

// This thread's part of the next tile of A, from memory into registers.
FUNCTION void fetch_a(
    float4 *next, GLOBAL const float *a, uint m, uint k, uint top, uint start, uint thread)
{
    UNROLL
    for (uint i = 0; i < A_LOADS; i++) {
        uint at = thread + i * THREADS;
        next[i] = load4(a, m, k, top + A_ROW(at), start + A_COLUMN(at));
    }
}

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
        uint to = A_COLUMN(at) * PADDED + A_ROW(at);
        tile[to] = next[i].x;
        tile[to + PADDED] = next[i].y;
        tile[to + 2 * PADDED] = next[i].z;
        tile[to + 3 * PADDED] = next[i].w;
    }
}

FUNCTION void stash_b(SHARED_POINTER float4 *tile, const float4 *next, uint thread)
{
    UNROLL
    for (uint i = 0; i < B_LOADS; i++) tile[thread + i * THREADS] = next[i];
}

KERNEL THREADS_AND_BLOCKS(THREADS, 1, BLOCKS) void warp_tiles(
    GLOBAL const float *a, GLOBAL const float *b, GLOBAL float *c,
    uint m, uint n, uint k)
{
    SHARED float4 a_tiles[2][DEPTH][PADDED / 4];
    SHARED float4 b_tiles[2][DEPTH][COLUMNS / 4];
    uint top = BLOCK_Y * ROWS, left = BLOCK_X * COLUMNS; // of this block's tile of C
    uint thread = THREAD_X;
    // ANCHOR: lanes
    uint warp = thread / 32, lane = thread % 32;
    // Bits 4 and 1 of the lane's number say how far down it is, bits 3, 2 and
    // 0 how far along. So lanes 0 and 1, 2 and 3, … are in one row and read
    // the same of A; lanes 0 and 2, 1 and 3, … are in one column, the same of B.
    uint down = lane / 16 * 2 + lane / 2 % 2; // 0 to 3
    uint along = lane / 4 % 4 * 2 + lane % 2; // 0 to 7
    // This thread's first piece in the block's tile, in pieces of 4×4.
    uint y = warp / WARPS_ALONG * (WARP_ROWS / 4) + down;
    uint x = warp % WARPS_ALONG * (WARP_COLUMNS / 4) + along;
    // ANCHOR_END: lanes
    float4 sums[4 * DOWN][ALONG];
    UNROLL
    for (uint i = 0; i < 4 * DOWN; i++) {
        UNROLL
        for (uint j = 0; j < ALONG; j++) sums[i][j] = FLOAT4(0.0f, 0.0f, 0.0f, 0.0f);
    }

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
        UNROLL
        for (uint p = 0; p < DEPTH; p++) {
            float4 from_a[DOWN], from_b[ALONG];
            UNROLL
            for (uint i = 0; i < DOWN; i++) {
                from_a[i] = a_tiles[now][p][y + 4 * i];
            }
            UNROLL
            for (uint j = 0; j < ALONG; j++) {
                from_b[j] = b_tiles[now][p][x + 8 * j];
            }
            UNROLL
            for (uint i = 0; i < DOWN; i++) {
                UNROLL
                for (uint j = 0; j < ALONG; j++) {
                    add_piece(&sums[4 * i][j], ALONG, from_a[i], from_b[j]);
                }
            }
        }
        stash_a((SHARED_POINTER float *)a_tiles[next], next_a, thread);
        stash_b(b_tiles[next][0], next_b, thread);
    }
    UNROLL
    for (uint i = 0; i < 4 * DOWN; i++) {
        UNROLL
        for (uint j = 0; j < ALONG; j++) {
            uint row = top + 4 * (y + i / 4 * 4) + i % 4;
            uint column = left + 4 * (x + 8 * j);
            store4(c, m, n, row, column, sums[i][j]);
        }
    }
}
