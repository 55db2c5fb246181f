// The same operations one at a time, each a kernel that reads its operands from memory and writes its result back:
// what a library does that knows no more of your program than the next line.
//
// Shows     what fusion saves: count the arrays in "Reads" and "Writes".
// Launch    each: blocks of 256 threads along x, one thread for each number. rows: blocks of 32×8 threads along x, one
//           block for each 8 rows; 32 threads share a row, as in softmax.cl. pick: blocks of 256 threads along x, one
//           thread for each row. truth: as each.
// Reads     each: x (count) and y, whose element is SECOND. rows: x (rows×cols). pick: log_sums (rows), x, labels.
// Writes    each: z (count), which may be x. rows: z (rows). pick: z (rows). truth: x, in place.
// Macros    OPERATION: an expression of a and b, such as a+b. SECOND: which element of y is b: i, i%cols or i/cols.
//           START and COMBINE: what rows begins with, and what it makes of `sum` and the next number `a`; the order of
//           the numbers must not matter, but for rounding.

#ifndef OPERATION
#define OPERATION a+b
#endif
#ifndef SECOND
#define SECOND i
#endif
#ifndef START
#define START 0.0f
#endif
#ifndef COMBINE
#define COMBINE sum+a
#endif

KERNEL THREADS_OF_BLOCK(256, 1) void each(
    GLOBAL const float *x, GLOBAL const float *y, GLOBAL float *z,
    float number, uint count, uint cols)
{
    uint i = BLOCK_X * 256 + THREAD_X;
    if (i >= count) return;
    float a = x[i];
    float b = y[SECOND];
    z[i] = OPERATION;
}

KERNEL THREADS_OF_BLOCK(32, 8) void rows(
    GLOBAL const float *x, GLOBAL float *z, uint count, uint cols)
{
    SHARED float parts[8][32];
    uint row = BLOCK_X * 8 + THREAD_Y, lane = THREAD_X;
    uint here = row < count ? cols : 0; // others only wait at the barriers
    float sum = START;
    for (uint j = lane; j < here; j += 32) {
        float a = x[row * cols + j];
        sum = COMBINE;
    }
    parts[THREAD_Y][lane] = sum;
    for (uint apart = 16; apart > 0; apart /= 2) {
        BARRIER();
        if (lane < apart) {
            float a = parts[THREAD_Y][lane + apart];
            sum = COMBINE;
            parts[THREAD_Y][lane] = sum;
        }
    }
    if (row < count && lane == 0) z[row] = sum;
}

KERNEL THREADS_OF_BLOCK(256, 1) void pick(
    GLOBAL const float *log_sums, GLOBAL const float *x, GLOBAL const uint *labels,
    GLOBAL float *z, uint count, uint cols)
{
    uint row = BLOCK_X * 256 + THREAD_X;
    if (row >= count) return;
    z[row] = log_sums[row] - x[row * cols + labels[row]];
}

KERNEL THREADS_OF_BLOCK(256, 1) void truth(
    GLOBAL float *x, GLOBAL const uint *labels, uint count, uint cols)
{
    uint i = BLOCK_X * 256 + THREAD_X;
    if (i >= count) return;
    x[i] -= i % cols == labels[i / cols] ? 1.0f : 0.0f;
}
