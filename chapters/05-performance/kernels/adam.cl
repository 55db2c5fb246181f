// Adam for all parameters in one pass, with a step's number that lives on the device.
//
// Shows     thirteen operations fused to one trip: four arrays are read once and written once (with CLEAR=0 it is
//           twelve operations, and three arrays are written).
// Launch    tick: one thread, before each adam. adam: blocks of 256 threads along x, a thread for each parameter.
// Reads     p, m, v, g (count), and the two factors of this step.
// Writes    p, m, v in place; with CLEAR=1 also zeros into g. tick: the step's number, from 1, and its factors.
// Before    chapter 3, adam.rs: `Factors` and `one_pass`.

#ifndef CLEAR
#define CLEAR 1
#endif

// state[0] is the step's number. 1 − β^t is −expm1(t·ln β): the difference would lose the digits that matter.
KERNEL THREADS_OF_BLOCK(1, 1) void tick(
    GLOBAL uint *state, GLOBAL float *factors,
    float ln_beta1, float ln_beta2, float lr, float eps)
{
    // ANCHOR: tick
    uint t = state[0] + 1;
    state[0] = t;
    float part1 = -EXPM1((float)t * ln_beta1);
    float part2 = -EXPM1((float)t * ln_beta2);
    factors[0] = lr * SQRT(part2) / part1;
    factors[1] = eps * SQRT(part2);
    // ANCHOR_END: tick
}

KERNEL THREADS_OF_BLOCK(256, 1) void adam(
    GLOBAL float *p, GLOBAL float *m, GLOBAL float *v, GLOBAL float *g,
    GLOBAL const float *factors, float beta1, float one_minus_beta1,
    float beta2, float one_minus_beta2, uint count)
{
    // ANCHOR: adam
    uint i = BLOCK_X * 256 + THREAD_X;
    if (i >= count) return;

    float slope = g[i];
    float mean = beta1 * m[i] + one_minus_beta1 * slope;
    float square = beta2 * v[i] + one_minus_beta2 * slope * slope;
    m[i] = mean;
    v[i] = square;
    p[i] -= factors[0] * mean / (SQRT(square) + factors[1]);
#if CLEAR
    g[i] = 0.0f;
#endif
    // ANCHOR_END: adam
}
