// One step of a blocked LU decomposition, for a matrix that stays on the device. The panel is decomposed on
// the CPU; the rest of the step happens here.
//
// Matrix    a, row-major, `columns` wide. The step's panel begins at row and column `first` and has `height`
//           rows and `width` columns, by itself in `panel`, row-major.
// Used by   `src/lu/device.rs`, which holds the results against the same step on the CPU.
// Sources   LAPACK's sgetrf for the order of the four parts; `tile2d.cl` for the product, whose `tile.h` and `piece.h` this uses.

#define FEW 16 // rows that a thread solves for at a time, in registers

// Copies the panel out of the matrix: a thread for each element, `width` along x.
// Launch    blocks of 32×8: ceil(width / 32) along x, ceil(height / 8) along y.
KERNEL THREADS_OF_BLOCK(32, 8) void take(
    GLOBAL const float *a, GLOBAL float *panel,
    uint columns, uint first, uint height, uint width)
{
    uint j = BLOCK_X * 32 + THREAD_X, i = BLOCK_Y * 8 + THREAD_Y;
    if (i < height && j < width) panel[i * width + j] = a[(first + i) * columns + first + j];
}

// Copies the decomposed panel back, with the same launch as `take`.
KERNEL THREADS_OF_BLOCK(32, 8) void put(
    GLOBAL float *a, GLOBAL const float *panel,
    uint columns, uint first, uint height, uint width)
{
    uint j = BLOCK_X * 32 + THREAD_X, i = BLOCK_Y * 8 + THREAD_Y;
    if (i < height && j < width) a[(first + i) * columns + first + j] = panel[i * width + j];
}

// Exchanges whole rows: row first + step with row first + swaps[step], for one step after the other. A thread
// has a column, so that neighbours read neighbouring elements.
// Launch    blocks of 128 threads, ceil(columns / 128) of them.
KERNEL THREADS_OF_BLOCK(128, 1) void exchange(
    GLOBAL float *a, GLOBAL const uint *swaps,
    uint columns, uint first, uint width)
{
    uint j = BLOCK_X * 128 + THREAD_X;
    if (j >= columns) return;
    for (uint step = 0; step < width; step++) {
        uint here = (first + step) * columns + j;
        uint there = (first + swaps[step]) * columns + j;
        float x = a[here];
        a[here] = a[there];
        a[there] = x;
    }
}

// Solves for the panel's rows of U, right of the panel: a thread has a column and goes down it, FEW rows at a
// time. What the rows above contribute is summed in registers.
// Launch    blocks of 128 threads, ceil((columns - first - width) / 128) of them.
KERNEL THREADS_OF_BLOCK(128, 1) void solve(
    GLOBAL float *a, GLOBAL const float *panel,
    uint columns, uint first, uint width)
{
    uint j = first + width + BLOCK_X * 128 + THREAD_X;
    if (j >= columns) return;
    for (uint top = 0; top < width; top += FEW) {
        float x[FEW];
        for (uint i = 0; i < FEW && top + i < width; i++)
            x[i] = a[(first + top + i) * columns + j];
        for (uint k = 0; k < top; k++) {
            float u = a[(first + k) * columns + j];
            for (uint i = 0; i < FEW && top + i < width; i++)
                x[i] -= panel[(top + i) * width + k] * u;
        }
        for (uint i = 0; i < FEW && top + i < width; i++) {
            for (uint k = 0; k < i; k++)
                x[i] -= panel[(top + i) * width + top + k] * x[k];
            a[(first + top + i) * columns + j] = x[i];
        }
    }
}

// Takes the product of the panel's L, below its triangle, and the rows of U that were just solved for from all
// that remains.
// Launch    blocks of COLUMNS/ALONG × ROWS/DOWN threads, one for each ROWS×COLUMNS elements of what remains.
KERNEL THREADS_OF_BLOCK(THREADS_X, THREADS_Y) void subtract_product(
    GLOBAL float *a, GLOBAL const float *panel,
    uint columns, uint first, uint height, uint width)
{
    SHARED float l_tile[ROWS][DEPTH];
    SHARED float u_tile[DEPTH][COLUMNS];
    uint begin = first + width; // the first row and column of what remains
    uint m = height - width, n = columns - begin;
    uint top = BLOCK_Y * ROWS, left = BLOCK_X * COLUMNS;
    uint x = THREAD_X, y = THREAD_Y;
    uint thread = y * THREADS_X + x;
    float sums[DOWN][ALONG];
    UNROLL
    for (uint i = 0; i < DOWN; i++) {
        UNROLL
        for (uint j = 0; j < ALONG; j++) sums[i][j] = 0.0f;
    }

    for (uint start = 0; start < width; start += DEPTH) {
        for (uint at = thread; at < ROWS * DEPTH; at += THREADS) {
            uint row = top + at / DEPTH, p = start + at % DEPTH;
            bool inside = row < m && p < width;
            l_tile[at / DEPTH][at % DEPTH] = inside ? panel[(width + row) * width + p] : 0.0f;
        }
        for (uint at = thread; at < DEPTH * COLUMNS; at += THREADS) {
            uint p = start + at / COLUMNS, column = left + at % COLUMNS;
            bool inside = p < width && column < n;
            u_tile[at / COLUMNS][at % COLUMNS] = inside ? a[(first + p) * columns + begin + column] : 0.0f;
        }
        BARRIER(); // both tiles are whole
        for (uint p = 0; p < DEPTH; p++) {
            float from_l[DOWN], from_u[ALONG]; // registers
            UNROLL
            for (uint i = 0; i < DOWN; i++) from_l[i] = l_tile[y + i * THREADS_Y][p];
            UNROLL
            for (uint j = 0; j < ALONG; j++) from_u[j] = u_tile[p][x + j * THREADS_X];
            UNROLL
            for (uint i = 0; i < DOWN; i++) {
                UNROLL
                for (uint j = 0; j < ALONG; j++) sums[i][j] += from_l[i] * from_u[j];
            }
        }
        BARRIER(); // they are no longer needed
    }
    UNROLL
    for (uint i = 0; i < DOWN; i++) {
        UNROLL
        for (uint j = 0; j < ALONG; j++) {
            uint row = top + y + i * THREADS_Y;
            uint column = left + x + j * THREADS_X;
            if (row < m && column < n)
                a[(begin + row) * columns + begin + column] -= sums[i][j];
        }
    }
}
