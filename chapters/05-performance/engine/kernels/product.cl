// C = A·B and C + A·B, with what follows while the sums are at hand: a row that is added, ReLU, dropout.
//
// Shows     that a transposed operand, and the windows of a convolution, change only the way into shared memory: no matrix is
//           ever turned around, and no image copied nine times.
// Launch    product: blocks of 16×16 threads, one for each TILE×TILE sums of C: along x their rows, once for each slice of the
//           terms; along y their columns: CUDA has 65,535 blocks there, and rows may be all images' pixels. finish: blocks of
//           256 threads, a thread for each sum.
// Reads     a and b by A_AT and B_AT. bias: [n]. state: dropout's seed and draw.
// Writes    c: [m, n]. With SPLIT=1 c has a matrix of sums for each slice, which `finish` adds in order: where C is small and the
//           sums are long, so that all multiprocessors have some.
// Macros    EACH: sums of a thread along each side. A: 0 as it lies, 1 transposed, 2 windows, 3 windows transposed.
//           B: 0 as it lies, 1 transposed, 2 filters with inputs and outputs exchanged. BACK=1: windows of what comes back.
// Before    chapter 2, tile2d.cl.

#define TILE (16 * EACH)
#define DEPTH 16

#if A >= 2
// Number `tap` of the window around pixel `pixel` of all images of OUT_H×OUT_W, in images of IN_H×IN_W pixels of CHANNELS
// numbers: zero beyond the border.
// ANCHOR: window
FUNCTION float window(GLOBAL const float *x, uint pixel, uint tap)
{
    uint col = pixel % OUT_W, row = pixel / OUT_W % OUT_H;
    uint image = pixel / (OUT_W * OUT_H);
    uint across = tap / CHANNELS % SIDE, down = tap / CHANNELS / SIDE;
#if BACK
    row += PAD - down; // a number below zero is a large one without a sign
    col += PAD - across;
#else
    row += down - PAD;
    col += across - PAD;
#endif
    bool inside = row < IN_H && col < IN_W;
    uint at = ((image * IN_H + row) * IN_W + col) * CHANNELS + tap % CHANNELS;
    return inside ? x[at] : 0.0f;
}
// ANCHOR_END: window
#endif

// Row i and term p of the left side; neighbouring threads fetch neighbouring numbers.
// ANCHOR: left
#if A == 0
#define A_AT(i, p) a[(i) * k + (p)]
#elif A == 1
#define A_AT(i, p) a[(p) * m + (i)]
#elif A == 2
#define A_AT(i, p) window(a, i, p)
#else
#define A_AT(i, p) window(a, p, i)
#endif
// ANCHOR_END: left
// Term p and column j of the right side.
#if B == 0
#define B_AT(p, j) b[(p) * b_step + (j)]
#elif B == 1
#define B_AT(p, j) b[(j) * k + (p)]
#else
#define B_AT(p, j) b[((p) / CHANNELS * n + (j)) * CHANNELS + (p) % CHANNELS]
#endif

#if DROPOUT
// Whether number `at` of all is kept. Philox-4×32-7, as in philox.rs: a counter decides about eight numbers.
FUNCTION bool keeps(GLOBAL const uint *state, uint at, uint below, uint site)
{
    uint a = at / 128 * 16 + at % 16, b = state[DRAW], c = 0, d = 0, key = state[SEED], other = site;
    for (uint round = 0; round < 7; round++) {
        uint one = MUL_HIGH(a, 0xd2511f53u), two = MUL_HIGH(c, 0xcd9e8d57u);
        uint low = a * 0xd2511f53u;
        a = two ^ b ^ key;
        b = c * 0xcd9e8d57u;
        c = one ^ d ^ other;
        d = low;
        key += 0x9e3779b9u;
        other += 0xbb67ae85u;
    }
    uint lane = at % 128 / 16, word = lane / 2 == 0 ? a : lane / 2 == 1 ? b : lane / 2 == 2 ? c : d;
    return (word >> 16 * (lane % 2) & 0xffff) >= below;
}
#endif

// What follows a sum.
FUNCTION float after(
    float sum, uint at, uint n, GLOBAL const float *c, GLOBAL const float *bias,
    GLOBAL const uint *state, uint below, float scale, uint site)
{
// ANCHOR: after
#if ACCUMULATE
    sum += c[at];
#endif
#if BIAS
    sum += bias[at % n];
#endif
#if RELU
    sum = RELU_OF(sum);
#endif
#if DROPOUT
    bool kept = keeps(state, (state[FIRST] + BEFORE) * IMAGE + at, below, site);
    sum *= kept ? scale : 0.0f; // NaN stays NaN
#endif
    return sum;
// ANCHOR_END: after
}

KERNEL THREADS_OF_BLOCK(16, 16) void product(
    IN(a), IN(b), OUT(c), IN(bias), IN(state), uint m, uint k, uint n, uint b_step, uint slice,
    uint below, float scale, uint site)
{
    // Two more: a warp that stores 16×2 numbers meets 32 banks.
    SHARED float a_tile[DEPTH][TILE + 2];
    SHARED float b_tile[DEPTH][TILE + 2];
    READ(a);
    READ(b);
    WRITE(c);
    uint rows = (m + TILE - 1) / TILE, part = BLOCK_X / rows;
    uint top = BLOCK_X % rows * TILE, left = BLOCK_Y * TILE;
    uint x = THREAD_X, y = THREAD_Y, thread = y * 16 + x;
    uint end = (part + 1) * slice < k ? (part + 1) * slice : k;
    float sums[EACH][EACH];
    UNROLL for (uint i = 0; i < EACH; i++)
        UNROLL for (uint j = 0; j < EACH; j++) sums[i][j] = 0.0f;

    for (uint start = part * slice; start < end; start += DEPTH) {
        UNROLL for (uint step = 0; step < EACH; step++) {
            uint at = step * 256 + thread;
#if A == 1 || A == 3
            uint p = at / TILE, i = at % TILE;
#else
            uint p = at % DEPTH, i = at / DEPTH;
#endif
            bool inside = top + i < m && start + p < end;
            a_tile[p][i] = inside ? A_AT(top + i, start + p) : 0.0f;
        }
        UNROLL for (uint step = 0; step < EACH; step++) {
            uint at = step * 256 + thread;
#if B == 0
            uint p = at / TILE, j = at % TILE;
#else
            uint p = at % DEPTH, j = at / DEPTH;
#endif
            bool inside = left + j < n && start + p < end;
            b_tile[p][j] = inside ? B_AT(start + p, left + j) : 0.0f;
        }
        BARRIER(); // both tiles are whole
        for (uint p = 0; p < DEPTH; p++) {
            float above[EACH], beside[EACH];
            UNROLL for (uint i = 0; i < EACH; i++) above[i] = a_tile[p][y + 16 * i];
            UNROLL for (uint j = 0; j < EACH; j++) beside[j] = b_tile[p][x + 16 * j];
            UNROLL for (uint i = 0; i < EACH; i++)
                UNROLL for (uint j = 0; j < EACH; j++) sums[i][j] += above[i] * beside[j];
        }
        BARRIER(); // the tiles are no longer needed
    }
    UNROLL for (uint i = 0; i < EACH; i++) {
        UNROLL for (uint j = 0; j < EACH; j++) {
            uint row = top + y + 16 * i, col = left + x + 16 * j, at = row * n + col;
            if (row >= m || col >= n) continue;
#if SPLIT
            c[part * m * n + at] = sums[i][j];
#else
            READ(bias);
            WORDS(state);
            c[at] = after(sums[i][j], at, n, c, bias, state, below, scale, site);
#endif
        }
    }
}

KERNEL THREADS_OF_BLOCK(256, 1) void finish(
    IN(parts), OUT(c), IN(bias), IN(state), uint count, uint slices, uint n, uint below,
    float scale, uint site)
{
    READ(parts);
    WRITE(c);
    READ(bias);
    WORDS(state);
    EACH_OF(i, count);
    // ANCHOR: slices
    float sum = 0.0f;
    for (uint slice = 0; slice < slices; slice++) sum += parts[slice * count + i];
    c[i] = after(sum, i, n, c, bias, state, below, scale, site);
    // ANCHOR_END: slices
}
