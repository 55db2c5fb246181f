// What is left of a transformer's training step: SwiGLU, the residual path, the gradient's norm and AdamW.
//
// Shows     a thread for each number; and a sum over millions of them in a fixed order, so that a step gives the same bits again.
// Launch    blocks of 256 threads along x. squares: a block for each 8192 numbers; the others: a thread for each number.
// Reads     gate_up: [rows, 2·hidden]. dh: [rows, hidden]. p, m, v, g: count.
// Writes    h: [rows, hidden]. swiglu_backward: gate_up becomes its own derivative, h is computed once more. add: to = a + b. squares:
//           a sum for each block. adamw: p, m and v in place.
// Before    layers/swiglu.rs, train/clip.rs, train/adamw.rs.

#define PIECE 8192 // numbers of a block of squares

KERNEL THREADS_OF_BLOCK(256, 1) void swiglu(
    GLOBAL const float *gate_up, GLOBAL float *h, uint count, uint hidden)
{
    uint i = BLOCK_X * 256 + THREAD_X;
    if (i >= count) return;
    uint at = i / hidden * 2 * hidden + i % hidden;
    float gate = gate_up[at], up = gate_up[at + hidden];
    h[i] = gate / (1.0f + EXP(-gate)) * up;
}

KERNEL THREADS_OF_BLOCK(256, 1) void swiglu_backward(
    GLOBAL float *gate_up, GLOBAL float *h, GLOBAL const float *dh, uint count, uint hidden)
{
    uint i = BLOCK_X * 256 + THREAD_X;
    if (i >= count) return;
    uint at = i / hidden * 2 * hidden + i % hidden;
    float gate = gate_up[at], up = gate_up[at + hidden];
    float open = 1.0f / (1.0f + EXP(-gate)), silu = gate * open;
    h[i] = silu * up;
    gate_up[at] = dh[i] * up * (open + silu * (1.0f - open));
    gate_up[at + hidden] = dh[i] * silu;
}

KERNEL THREADS_OF_BLOCK(256, 1) void add(
    GLOBAL const float *a, GLOBAL const float *b, GLOBAL float *to, uint count)
{
    uint i = BLOCK_X * 256 + THREAD_X;
    if (i < count) to[i] = a[i] + b[i];
}

KERNEL THREADS_OF_BLOCK(256, 1) void squares(
    GLOBAL const float *g, GLOBAL float *parts, uint count)
{
    SHARED float sums[256];
    uint end = (BLOCK_X + 1) * PIECE;
    end = end < count ? end : count;
    float sum = 0.0f;
    for (uint i = BLOCK_X * PIECE + THREAD_X; i < end; i += 256) sum += g[i] * g[i];
    sums[THREAD_X] = sum;
    for (uint apart = 128; apart > 0; apart /= 2) {
        BARRIER();
        if (THREAD_X < apart) sums[THREAD_X] += sums[THREAD_X + apart];
    }
    if (THREAD_X == 0) parts[BLOCK_X] = sums[0];
}

KERNEL THREADS_OF_BLOCK(256, 1) void adamw(
    GLOBAL float *p, GLOBAL float *m, GLOBAL float *v, GLOBAL const float *g, uint count,
    float kept, float clip, float beta1, float one_minus_beta1,
    float beta2, float one_minus_beta2, float lr, float eps)
{
    uint i = BLOCK_X * 256 + THREAD_X;
    if (i >= count) return;
    float slope = g[i] * clip;
    float mean = beta1 * m[i] + one_minus_beta1 * slope;
    float square = beta2 * v[i] + one_minus_beta2 * slope * slope;
    m[i] = mean;
    v[i] = square;
    p[i] = p[i] * kept - lr * mean / (SQRT(square) + eps);
}
