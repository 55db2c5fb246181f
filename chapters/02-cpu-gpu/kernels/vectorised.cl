// The same tiles, moved four numbers at a time: 16 bytes for each load, from memory and from shared memory.
//
// Shows     that instructions are a cost of their own: a step takes DOWN/4 + ALONG/4 loads where
//           `tile2d.cl` takes DOWN + ALONG, and the multiplications get the slots that this frees.
// Launch    blocks of COLUMNS/ALONG × ROWS/DOWN threads, one for each ROWS×COLUMNS elements of C:
//           ceil(n / COLUMNS) along x, ceil(m / ROWS) along y. WIDE is 1 where n and k are multiples of 4.
// Reads     a (m×k) and b (k×n), row-major: for a block, ROWS·k numbers of A and COLUMNS·k of B.
// Writes    c (m×n), row-major: DOWN·ALONG elements for a thread, in pieces of 4×4. Shared memory: the tile
//           of A lies transposed, so that four rows of a column are neighbours; its padding puts the numbers
//           that a warp writes at a time into 32 different banks. Beyond an edge zeros are fetched, and
//           nothing is written.
// Before    `tile2d.cl`. Uses `tile.h`, `piece.h` and `four.h`.

KERNEL THREADS_OF_BLOCK(THREADS_X, THREADS_Y) void vectorised(
    GLOBAL const float *a, GLOBAL const float *b, GLOBAL float *c,
    uint m, uint n, uint k)
{
    SHARED float4 a_tile[DEPTH][PADDED / 4];
    SHARED float4 b_tile[DEPTH][COLUMNS / 4];
    SHARED_POINTER float *a_numbers = (SHARED_POINTER float *)&a_tile[0][0];
    uint top = BLOCK_Y * ROWS, left = BLOCK_X * COLUMNS; // of this block's tile of C
    uint x = THREAD_X, y = THREAD_Y; // of this thread's first piece, in pieces
    uint thread = y * THREADS_X + x;
    float4 sums[DOWN][ALONG / 4];
    UNROLL
    for (uint i = 0; i < DOWN; i++) {
        UNROLL
        for (uint j = 0; j < ALONG / 4; j++) sums[i][j] = FLOAT4(0.0f, 0.0f, 0.0f, 0.0f);
    }

    for (uint start = 0; start < k; start += DEPTH) {
        // ANCHOR: fetch
        UNROLL
        for (uint at = thread; at < ROWS * DEPTH / 4; at += THREADS) {
            uint row = at / (DEPTH / 4), p = at % (DEPTH / 4) * 4;
            float4 four = load4(a, m, k, top + row, start + p);
            a_numbers[(p + 0) * PADDED + row] = four.x; // transposed
            a_numbers[(p + 1) * PADDED + row] = four.y;
            a_numbers[(p + 2) * PADDED + row] = four.z;
            a_numbers[(p + 3) * PADDED + row] = four.w;
        }
        UNROLL
        for (uint at = thread; at < DEPTH * COLUMNS / 4; at += THREADS) {
            uint p = at / (COLUMNS / 4), column = at % (COLUMNS / 4);
            b_tile[p][column] = load4(b, k, n, start + p, left + 4 * column);
        }
        // ANCHOR_END: fetch
        BARRIER(); // both tiles are whole
        UNROLL
        for (uint p = 0; p < DEPTH; p++) {
            float4 from_a[DOWN / 4], from_b[ALONG / 4];
            UNROLL
            for (uint i = 0; i < DOWN / 4; i++) {
                from_a[i] = a_tile[p][y + i * THREADS_Y];
            }
            UNROLL
            for (uint j = 0; j < ALONG / 4; j++) {
                from_b[j] = b_tile[p][x + j * THREADS_X];
            }
            UNROLL
            for (uint i = 0; i < DOWN / 4; i++) {
                UNROLL
                for (uint j = 0; j < ALONG / 4; j++) {
                    add_piece(&sums[4 * i][j], ALONG / 4, from_a[i], from_b[j]);
                }
            }
        }
        BARRIER(); // they are no longer needed
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
