// Optimizers' rules for all parameters in one pass, and the squares of the gradient. What changes from step to step is in `state`.
//
// Launch    update: blocks of 256 threads along x, a thread for each parameter. squares: blocks of 32×8 threads along x, one for
//           each 8 rows of the gradient. clip: one block of 32×8 threads.
// Reads     state, g. spared: a bit for each 64 parameters, whether they lose nothing.
// Writes    p, m, v in place: m and v as far as the rule has means; nothing if CLIP is below zero. sums: of each row. state: CLIP
//           alone. norm: the gradient's length.
// Macros    RULE: 0 SGD, 1 with momentum, 2 RMSprop, 3 Adam, 4 AdamW. SPARED: whether some parameters are.
// Before    chapter 4, optimizer.rs, and chapter 3, adam.rs: `Factors` and `one_pass`.

KERNEL THREADS_OF_BLOCK(256, 1) void update(
    IN(state), OUT(p), OUT(m), OUT(v), OUT(g),
#if SPARED
    IN(spared),
#endif
    uint count, float decay, float beta1, float rest1, float beta2, float rest2, uint skip)
{
    READ(state);
    WRITE(p);
#if RULE > 0
    WRITE(m);
#endif
#if RULE > 2
    WRITE(v);
#endif
    READ(g);
    EACH_OF(i, count);
    if (state[CLIP] < 0.0f) return; // a gradient was no number
    float own = p[i], slope = g[i] * state[CLIP];
#if SPARED
    WORDS(spared);
    uint at = (i + skip) / 64; // the first 64 may have begun before
    if (spared[at / 32] >> at % 32 & 1) decay = 0.0f;
#endif
#if RULE < 3 || RULE == 4
    float rate = state[RATE];
#endif
#if RULE == 4
    own -= rate * decay * own;
#else
    slope += decay * own;
#endif
#if RULE == 0
    own -= rate * slope;
#elif RULE == 1
    m[i] = 0.9f * m[i] + slope;
    own -= rate * m[i];
#elif RULE == 2
    m[i] = 0.9f * m[i] + (1.0f - 0.9f) * slope * slope;
    own -= rate * slope / SQRT(m[i] + 1e-8f);
#else
    // ANCHOR: adam
    float mean = beta1 * m[i] + rest1 * slope;
    float square = beta2 * v[i] + rest2 * slope * slope;
    m[i] = mean;
    v[i] = square;
    own -= state[AHEAD] * mean / (SQRT(square) + state[EPSILON]);
    // ANCHOR_END: adam
#endif
    p[i] = own;
}

KERNEL THREADS_OF_BLOCK(32, 8) void squares(IN(g), OUT(sums), uint rows, uint width)
{
    SHARED float parts[8 * 32];
    READ(g);
    WRITE(sums);
    uint row = BLOCK_X * 8 + THREAD_Y;
    uint here = row < rows ? width : 0, first = row * here; // others only wait at the barriers
    float sum = 0.0f;
    for (uint i = THREAD_X; i < here; i += 32) sum += g[first + i] * g[first + i];
    sum = of_row(parts, sum, false);
    if (here > 0 && THREAD_X == 0) sums[row] = sum;
}

KERNEL THREADS_OF_BLOCK(32, 8) void clip(IN(squares), OUT(state), OUT(norm), uint count)
{
    SHARED float parts[8 * 32];
    READ(squares);
    WRITE(state);
    WRITE(norm);
    float sum = 0.0f;
    for (uint i = THREAD_Y * 32 + THREAD_X; i < count; i += 256) sum += squares[i];
    sum = of_row(parts, sum, false);
    BARRIER();
    if (THREAD_X == 0) parts[THREAD_Y] = sum;
    BARRIER();
    if (THREAD_X > 0 || THREAD_Y > 0) return;
    for (uint y = 1; y < 8; y++) sum += parts[y];
    // ANCHOR: clip
    float length = SQRT(sum), limit = state[LIMIT];
    norm[0] = length;
    if (!(length < INFINITY)) state[CLIP] = -1.0f; // no number: nothing moves
    if (state[CLIP] >= 0.0f) state[CLIP] = length > limit ? limit / length : 1.0f;
    // ANCHOR_END: clip
}
