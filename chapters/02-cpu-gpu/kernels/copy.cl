// Copies 16-byte pieces of memory: y[i] = x[i]. What it moves in a second is the bandwidth that other kernels are held
// against.
//
// Shows     bytes in flight. A number is on its way for some 600 ns, and in this time the memory could deliver 25 KB to each
//           multiprocessor of an H200. A thread that asks for 4 bytes and waits is one of 2,048, which have 8 KB under way:
//           a third. Here a thread asks for four times 16 bytes before it stores the first.
// Launch    blocks of 256 threads along x, one for each 1,024 pieces.
// Reads     x (count pieces).
// Writes    y (count pieces).

#define EACH 4 // pieces of a thread

KERNEL THREADS_OF_BLOCK(256, 1) void copy(
    GLOBAL const float4 *x, GLOBAL float4 *y, uint count)
{
    uint first = BLOCK_X * (256 * EACH) + THREAD_X;
    if (first + 256 * (EACH - 1) < count) {
        float4 held[EACH];
        UNROLL
        for (uint e = 0; e < EACH; e++) held[e] = x[first + 256 * e];
        UNROLL
        for (uint e = 0; e < EACH; e++) y[first + 256 * e] = held[e];
    } else { // the last block
        for (uint i = first; i < count; i += 256) y[i] = x[i];
    }
}
