// Layer normalisation of rows, forward and backward.
//
// Launch    layer_norm, norm_backward: blocks of 32×8 threads along x, one for each 8 rows. norm_sums: as `columns` of sums.cl.
// Writes    normal: the rows with mean 0 and variance 1. rates: one over each row's deviation. dscale, dshift: parts.
// Before    ops/norm.rs: the same formulas.

KERNEL THREADS_OF_BLOCK(32, 8) void layer_norm(
    IN(x), IN(scale), IN(shift), OUT(y), OUT(normal), OUT(rates), uint rows, uint width)
{
    SHARED float parts[8 * 32];
    READ(x);
    READ(scale);
    READ(shift);
    WRITE(y);
    WRITE(normal);
    WRITE(rates);
    uint row = BLOCK_X * 8 + THREAD_Y;
    uint here = row < rows ? width : 0, first = row * here; // others only wait at the barriers
    float sum = 0.0f, squares = 0.0f;
    for (uint i = THREAD_X; i < here; i += 32) sum += x[first + i];
    float mean = of_row(parts, sum, false) / (float)width;
    for (uint i = THREAD_X; i < here; i += 32) squares += (x[first + i] - mean) * (x[first + i] - mean);
    squares = of_row(parts, squares, false);
    float rate = 1.0f / SQRT(squares / (float)width + EPSILON_OF_NORM);
    for (uint i = THREAD_X; i < here; i += 32) {
        float own = (x[first + i] - mean) * rate;
        normal[first + i] = own;
        y[first + i] = own * scale[i] + shift[i];
    }
    if (here > 0 && THREAD_X == 0) rates[row] = rate;
}

KERNEL THREADS_OF_BLOCK(32, 8) void norm_backward(
    IN(normal), IN(rates), IN(dy), IN(scale), OUT(dx), uint rows, uint width)
{
    SHARED float parts[8 * 32];
    READ(normal);
    READ(rates);
    READ(dy);
    READ(scale);
    WRITE(dx);
    uint row = BLOCK_X * 8 + THREAD_Y;
    uint here = row < rows ? width : 0, first = row * here;
    float mean = 0.0f, along = 0.0f;
    for (uint i = THREAD_X; i < here; i += 32) {
        float slope = dy[first + i] * scale[i];
        mean += slope;
        along += slope * normal[first + i];
    }
    mean = of_row(parts, mean, false) / (float)width;
    along = of_row(parts, along, false) / (float)width;
    for (uint i = THREAD_X; i < here; i += 32)
        dx[first + i] = (dy[first + i] * scale[i] - mean - normal[first + i] * along) * rates[row];
}

KERNEL THREADS_OF_BLOCK(32, 8) void norm_sums(
    IN(normal), IN(dy), OUT(dscale), OUT(dshift), uint rows, uint cols, uint each)
{
    SHARED float room[8 * 32];
    READ(normal);
    READ(dy);
    WRITE(dscale);
    WRITE(dshift);
    uint col = BLOCK_X * 32 + THREAD_X;
    float along = 0.0f, sum = 0.0f;
    if (col < cols)
        ROWS_OF_PART(row) {
            along += dy[row * cols + col] * normal[row * cols + col];
            sum += dy[row * cols + col];
        }
    fold(room, along, dscale, col, cols);
    fold(room, sum, dshift, col, cols);
}
