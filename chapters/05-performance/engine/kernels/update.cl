// Optimizers' rules for all parameters in one pass. What changes from step to step is in `state`.
//
// Launch    blocks of 256 threads along x, a thread for each parameter.
// Reads     state, g.
// Writes    p, m, v in place: m and v as far as the rule has means.
// Macros    RULE: 0 SGD, 1 with momentum, 2 RMSprop, 3 Adam, 4 AdamW.
// Before    chapter 4, optimizer.rs, and chapter 3, adam.rs: `Factors` and `one_pass`.

KERNEL THREADS_OF_BLOCK(256, 1) void update(
    IN(state), OUT(p), OUT(m), OUT(v), OUT(g), uint count, float decay)
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
    float own = p[i], slope = g[i];
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
    float mean = 0.9f * m[i] + 0.1f * slope;
    float square = 0.999f * v[i] + 0.001f * slope * slope;
    m[i] = mean;
    v[i] = square;
    own -= state[AHEAD] * mean / (SQRT(square) + state[EPSILON]);
    // ANCHOR_END: adam
#endif
    p[i] = own;
}
