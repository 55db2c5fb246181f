// The embedding: a row of the table for each token, and backward the rows' derivatives to the table's.
//
// Shows     one owner for each sum, where many rows add to one number.
// Launch    look_up: blocks of 256 threads along x, a thread for each number of the rows. add_up: blocks of 64×1 threads, along x one for
//           each token that the model knows, along y one for each 64 columns.
// Reads     tokens: [rows]. table: [vocabulary, width]. dx: [rows, width].
// Writes    x: [rows, width]. dtable: its sums, in the order of the rows, or with `add` added to.
// Before    layers/embedding.rs.

KERNEL THREADS_OF_BLOCK(256, 1) void look_up(IN(tokens), IN(table), OUT(x), uint count, uint width)
{
    WORDS(tokens);
    READ(table);
    WRITE(x);
    EACH_OF(i, count);
    x[i] = table[tokens[i / width] * width + i % width];
}

KERNEL THREADS_OF_BLOCK(64, 1) void add_up(
    IN(tokens), IN(dx), OUT(dtable), uint rows, uint width, uint add)
{
    WORDS(tokens);
    READ(dx);
    WRITE(dtable);
    // ANCHOR: add_up
    uint token = BLOCK_X, col = BLOCK_Y * 64 + THREAD_X;
    if (col >= width) return;
    float sum = add ? dtable[token * width + col] : 0.0f;
    for (uint row = 0; row < rows; row++)
        if (tokens[row] == token) sum += dx[row * width + col];
    dtable[token * width + col] = sum;
    // ANCHOR_END: add_up
}
