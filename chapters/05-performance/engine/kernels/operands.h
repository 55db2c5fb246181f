// How the engine's kernels name what they are given: of each operand a buffer, and where in it the tensor begins.

// ANCHOR: operands
#define IN(x) GLOBAL const float *x##_, uint x##_at
#define OUT(x) GLOBAL float *x##_, uint x##_at
#define READ(x) GLOBAL const float *x = x##_ + x##_at
#define WRITE(x) GLOBAL float *x = x##_ + x##_at
// ANCHOR_END: operands
#define WORDS(x) GLOBAL const uint *x = (GLOBAL const uint *)x##_ + x##_at // whole numbers
#define BYTES(x) GLOBAL BYTE *x = (GLOBAL BYTE *)(x##_ + x##_at)
// ReLU, and what it lets through of a derivative: NaN stays NaN, and a derivative goes through it.
#define RELU_OF(x) ((x) < 0.0f ? 0.0f : (x))
#define THROUGH(y, slope) ((y) == 0.0f ? 0.0f : (slope))
// A thread for each of `count` numbers, in blocks of 256.
#define EACH_OF(i, count) uint i = BLOCK_X * 256 + THREAD_X; if (i >= count) return
