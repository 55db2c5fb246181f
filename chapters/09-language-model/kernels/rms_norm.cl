// RMSNorm of rows, forward and backward.
//
// Shows     sums along a row by the 32 threads that share it, and sums down the rows in two launches, in a fixed order.
// Launch    rms_norm, rms_norm_backward: blocks of 32×8 threads along x, one for each 8 rows. rms_norm_sums: as `columns` of chapter
//           5's sums.cl.
// Reads     x, dy: [rows, width]. scale: [width].
// Writes    y, dx: [rows, width]. inverse: [rows], 1 over each row's root mean square. parts: sums down the rows of a part.
// Before    layers/rms_norm.rs: the same formulas.

#define EPSILON_OF_NORM 1e-5f

KERNEL THREADS_OF_BLOCK(32, 8) void rms_norm(
    IN(x), IN(scale), OUT(y), OUT(inverse), uint rows, uint width)
{
    SHARED float parts[8 * 32];
    READ(x);
    READ(scale);
    WRITE(y);
    WRITE(inverse);
    // ANCHOR: rms_norm
    uint row = BLOCK_X * 8 + THREAD_Y;
    uint here = row < rows ? width : 0; // others only wait at the barriers
    GLOBAL const float *from = x + row * here;

    float squares = 0.0f;
    for (uint i = THREAD_X; i < here; i += 32) squares += from[i] * from[i];
    squares = of_row(parts, squares, false);
    float r = 1.0f / SQRT(squares / (float)width + EPSILON_OF_NORM);
    for (uint i = THREAD_X; i < here; i += 32)
        y[row * width + i] = from[i] * r * scale[i];
    // ANCHOR_END: rms_norm
    if (here > 0 && THREAD_X == 0) inverse[row] = r;
}

KERNEL THREADS_OF_BLOCK(32, 8) void rms_norm_backward(
    IN(x), IN(dy), IN(scale), IN(inverse), OUT(dx), uint rows, uint width)
{
    SHARED float parts[8 * 32];
    READ(x);
    READ(dy);
    READ(scale);
    READ(inverse);
    WRITE(dx);
    uint row = BLOCK_X * 8 + THREAD_Y;
    uint here = row < rows ? width : 0, first = row * here;
    float along = 0.0f;
    for (uint i = THREAD_X; i < here; i += 32)
        along += scale[i] * dy[first + i] * x[first + i];
    along = of_row(parts, along, false);
    float r = here > 0 ? inverse[row] : 0.0f;
    float c = along * r * r * r / (float)width;
    for (uint i = THREAD_X; i < here; i += 32)
        dx[first + i] = r * scale[i] * dy[first + i] - x[first + i] * c;
}

KERNEL THREADS_OF_BLOCK(32, 8) void rms_norm_sums(
    IN(x), IN(dy), IN(inverse), OUT(parts), uint rows, uint cols, uint each)
{
    SHARED float room[8 * 32];
    READ(x);
    READ(dy);
    READ(inverse);
    WRITE(parts);
    uint col = BLOCK_X * 32 + THREAD_X;
    float sum = 0.0f;
    if (col < cols)
        ROWS_OF_PART(row) sum += dy[row * cols + col] * x[row * cols + col] * inverse[row];
    fold(room, sum, parts, col, cols);
}
