// The same work for every number: y[i] = x[i] after STEPS times "multiply, add".
//
// Shows     a GPU's best case, and what STEPS changes: with one step the memory is the limit, with many the
//           arithmetic.
// Launch    blocks of 256 threads along x, one for each 256 numbers.
// Reads     x (count): one number for a thread.
// Writes    y (count): one number for a thread. Threads beyond the end leave at once.

#ifndef STEPS
#define STEPS 1
#endif

KERNEL THREADS_OF_BLOCK(256, 1) void map(GLOBAL const float *x, GLOBAL float *y, uint count)
{
    // ANCHOR: kernel
    uint i = BLOCK_X * 256 + THREAD_X;
    if (i >= count) return;

    float value = x[i];
    for (uint step = 0; step < STEPS; step++) value = value * 0.5f + 1.0f;
    y[i] = value;
    // ANCHOR_END: kernel
}
