// Sums down the rows of a matrix: each part of the rows has a block that owns its sums, then the parts are added in order.
//
// Shows     one owner for each sum: the order of additions is the same in every run.
// Launch    sum: a thread for each column. sum_all: the same for many gradients at once, by a table: for each its first
//           thread, whose parts, where they begin, where the gradient begins, its length and its parts. columns,
//           relu_backward: blocks of 32×8 threads, along x one for each 32 columns, along y one for each part of the rows.
// Reads     dy: rows of `step` numbers, of which `cols` from `from` on are summed. y: what ReLU and dropout left.
// Writes    parts: a row for each part. dz: the derivative before ReLU and dropout.

KERNEL THREADS_OF_BLOCK(256, 1) void sum(IN(parts), OUT(to), uint count, uint rows, uint add)
{
    READ(parts);
    WRITE(to);
    EACH_OF(col, count);
    float sum = add ? to[col] : 0.0f;
    for (uint row = 0; row < rows; row++) sum += parts[row * count + col];
    to[col] = sum;
}

KERNEL THREADS_OF_BLOCK(256, 1) void sum_all(
    IN(table), IN(memory), IN(slices), OUT(gradient), uint count, uint entries)
{
    WORDS(table);
    READ(memory);
    READ(slices);
    WRITE(gradient);
    EACH_OF(i, count);
    uint entry = 0;
    for (uint end = entries; end - entry > 1;) { // the last one that begins here or before
        uint middle = (entry + end) / 2;
        if (table[6 * middle] <= i) entry = middle;
        else end = middle;
    }
    GLOBAL const uint *own = table + 6 * entry;
    uint col = i - own[0];
    GLOBAL const float *from = (own[1] ? slices : memory) + own[2] + col;
    float sum = 0.0f;
    for (uint part = 0; part < own[5]; part++) sum += from[part * own[4]];
    gradient[own[3] + col] = sum;
}

KERNEL THREADS_OF_BLOCK(32, 8) void columns(
    IN(dy), OUT(parts), uint rows, uint cols, uint each, uint step, uint from)
{
    SHARED float room[8 * 32];
    READ(dy);
    WRITE(parts);
    uint col = BLOCK_X * 32 + THREAD_X;
    float sum = 0.0f;
    if (col < cols)
        ROWS_OF_PART(row) sum += dy[row * step + from + col];
    fold(room, sum, parts, col, cols);
}

KERNEL THREADS_OF_BLOCK(32, 8) void relu_backward(
    IN(dy), IN(y), OUT(dz), OUT(parts), uint rows, uint cols, uint each, float scale)
{
    SHARED float room[8 * 32];
    READ(dy);
    READ(y);
    WRITE(dz);
    WRITE(parts);
    uint col = BLOCK_X * 32 + THREAD_X;
    float sum = 0.0f;
    if (col < cols)
        ROWS_OF_PART(row) {
            uint i = row * cols + col;
            // An output above zero was neither cut off nor left out.
            float slope = THROUGH(y[i], dy[i] * scale);
            dz[i] = slope;
            sum += slope;
        }
    fold(room, sum, parts, col, cols);
}
