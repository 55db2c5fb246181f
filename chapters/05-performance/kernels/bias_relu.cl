// A dense layer's bias and ReLU in one pass, forward and backward.
//
// Shows     what fusion is: an operation that needs the number that is already in a register costs no trip to memory.
// Launch    bias_relu: blocks of 256 threads along x, one thread for each number.
//           bias_relu_backward: blocks of 32×8 threads, one block for each 32 columns along x and each `slice` rows
//           along y: so many rows keep a whole GPU busy, not only as many blocks as 32 columns make.
// Reads     bias_relu: x (rows×cols) and bias (cols). bias_relu_backward: dy and y (rows×cols).
// Writes    bias_relu: x, in place. bias_relu_backward: dy, in place, and sums (slices×cols), those of the columns of
//           each slice. One slice is the gradient of the bias; the sums of several are summed by one more launch, with
//           RELU=0. The order is the same in every launch, so that a run can be repeated bit for bit.
// Macros    RELU=0: without ReLU, for a last layer. Then `y` is not read and `dy` not written.

#ifndef RELU
#define RELU 1
#endif

KERNEL THREADS_OF_BLOCK(256, 1) void bias_relu(
    GLOBAL float *x, GLOBAL const float *bias, uint count, uint cols)
{
    // ANCHOR: forward
    uint i = BLOCK_X * 256 + THREAD_X;
    if (i >= count) return;

    float value = x[i] + bias[i % cols];
#if RELU
    value = value < 0.0f ? 0.0f : value; // NaN stays NaN
#endif
    x[i] = value;
    // ANCHOR_END: forward
}

KERNEL THREADS_OF_BLOCK(32, 8) void bias_relu_backward(
    GLOBAL float *dy, GLOBAL const float *y, GLOBAL float *sums,
    uint rows, uint cols, uint slice)
{
    SHARED float parts[8][32];
    uint col = BLOCK_X * 32 + THREAD_X;
    float sum = 0.0f;
    uint first = BLOCK_Y * slice;
    uint after = rows - first < slice ? rows : first + slice;
    if (col < cols) {
        for (uint row = first + THREAD_Y; row < after; row += 8) {
            uint i = row * cols + col;
            float slope = dy[i];
#if RELU
            slope = y[i] > 0.0f ? slope : 0.0f;
            dy[i] = slope;
#endif
            sum += slope;
        }
    }
    parts[THREAD_Y][THREAD_X] = sum;
    BARRIER();
    if (THREAD_Y == 0 && col < cols) {
        for (uint part = 1; part < 8; part++) sum += parts[part][THREAD_X];
        sums[BLOCK_Y * cols + col] = sum;
    }
}
