// RMSNorm of rows, forward and backward.
//
// Shows     sums along a row by the 32 threads that share it, and sums down the rows in two launches, in a fixed order.
// Launch    rms_norm, rms_norm_backward: blocks of 32×8 threads along x, one for each 8 rows. rms_norm_parts: blocks of
//           32×8 threads, along x one for each 32 columns, along y one for each 64 rows. sum_parts: blocks of 256 threads
//           along x, a thread for each column.
// Reads     x, dy: [rows, width]. scale: [width]. inverse: [rows], what rms_norm left.
// Writes    y: [rows, width]. inverse: 1 over each row's root mean square. dx: overwritten, or with `add` added to. parts:
//           [rows / 64, width], the sums of a piece of the rows; sum_parts adds them up to dscale.
// Before    layers/rms_norm.rs: the same formulas.

#define EPS 1e-5f
#define PIECE 64 // rows of a part

// The sum of the numbers of the 32 threads that share a row.
FUNCTION float sum_of_row(SHARED_POINTER float *parts, float mine)
{
    SHARED_POINTER float *row = parts + THREAD_Y * 32;
    BARRIER(); // the last result has been read
    row[THREAD_X] = mine;
    for (uint apart = 16; apart > 0; apart /= 2) {
        BARRIER();
        if (THREAD_X < apart) row[THREAD_X] += row[THREAD_X + apart];
    }
    BARRIER();
    return row[0];
}

KERNEL THREADS_OF_BLOCK(32, 8) void rms_norm(
    GLOBAL const float *x, GLOBAL const float *scale, GLOBAL float *y,
    GLOBAL float *inverse, uint rows, uint width)
{
    SHARED float parts[8 * 32];
    // ANCHOR: rms_norm
    uint row = BLOCK_X * 8 + THREAD_Y;
    uint here = row < rows ? width : 0; // others only wait at the barriers
    GLOBAL const float *from = x + row * here;

    float squares = 0.0f;
    for (uint i = THREAD_X; i < here; i += 32) squares += from[i] * from[i];
    squares = sum_of_row(parts, squares);
    float r = 1.0f / SQRT(squares / (float)width + EPS);
    for (uint i = THREAD_X; i < here; i += 32)
        y[row * width + i] = from[i] * r * scale[i];
    // ANCHOR_END: rms_norm
    if (here > 0 && THREAD_X == 0) inverse[row] = r;
}

KERNEL THREADS_OF_BLOCK(32, 8) void rms_norm_backward(
    GLOBAL const float *x, GLOBAL const float *scale, GLOBAL const float *inverse,
    GLOBAL const float *dy, GLOBAL float *dx, uint rows, uint width, uint add)
{
    SHARED float parts[8 * 32];
    uint row = BLOCK_X * 8 + THREAD_Y;
    uint here = row < rows ? width : 0, first = row * here;
    float along = 0.0f;
    for (uint i = THREAD_X; i < here; i += 32)
        along += scale[i] * dy[first + i] * x[first + i];
    along = sum_of_row(parts, along);
    float r = here > 0 ? inverse[row] : 0.0f;
    float c = along * r * r * r / (float)width;
    for (uint i = THREAD_X; i < here; i += 32) {
        float before = add ? dx[first + i] : 0.0f;
        dx[first + i] = before + r * scale[i] * dy[first + i] - x[first + i] * c;
    }
}

KERNEL THREADS_OF_BLOCK(32, 8) void rms_norm_parts(
    GLOBAL const float *x, GLOBAL const float *inverse, GLOBAL const float *dy,
    GLOBAL float *parts, uint rows, uint width)
{
    SHARED float sums[8][32];
    uint col = BLOCK_X * 32 + THREAD_X;
    uint end = (BLOCK_Y + 1) * PIECE;
    end = end < rows ? end : rows;
    float sum = 0.0f;
    for (uint row = BLOCK_Y * PIECE + THREAD_Y; row < end; row += 8)
        if (col < width) sum += dy[row * width + col] * x[row * width + col] * inverse[row];
    sums[THREAD_Y][THREAD_X] = sum;
    BARRIER();
    if (THREAD_Y == 0 && col < width) {
        for (uint y = 1; y < 8; y++) sum += sums[y][THREAD_X];
        parts[BLOCK_Y * width + col] = sum;
    }
}

KERNEL THREADS_OF_BLOCK(256, 1) void sum_parts(
    GLOBAL const float *parts, GLOBAL float *dscale, uint pieces, uint width)
{
    uint col = BLOCK_X * 256 + THREAD_X;
    if (col >= width) return;
    float sum = 0.0f;
    for (uint piece = 0; piece < pieces; piece++) sum += parts[piece * width + col];
    dscale[col] = sum;
}
