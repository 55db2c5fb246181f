// What lies between rows of tokens and the heads of attention, and the embedding.
//
// Shows     passes that only move numbers: each thread computes where its number comes from.
// Launch    blocks of 256 threads along x: embed, merge, split: a thread for each number of the rows; to_heads and from_heads: a
//           thread for each pair of a head's numbers. embed_backward: blocks of 64 threads, along x one for each token that the
//           model knows, along y one for each 64 columns.
// Reads     tokens: [rows]. table: [vocabulary, width]. cosines, sines: [tokens, HEAD / 2]. A row of queries, keys and values has
//           3·width numbers, a head is [tokens, HEAD].
// Writes    to_heads turns queries and keys to their positions, from_heads turns derivatives back. embed_backward adds to
//           dtable, the rows in their order.
// Before    layers/embedding.rs, layers/rotary.rs, layers/attention.rs.

#ifndef HEAD
#define HEAD 32 // numbers of a query
#endif
#define HALF (HEAD / 2)

KERNEL THREADS_OF_BLOCK(256, 1) void embed(
    GLOBAL const uint *tokens, GLOBAL const float *table, GLOBAL float *x,
    uint count, uint width)
{
    uint i = BLOCK_X * 256 + THREAD_X;
    if (i < count) x[i] = table[tokens[i / width] * width + i % width];
}

KERNEL THREADS_OF_BLOCK(64, 1) void embed_backward(
    GLOBAL const uint *tokens, GLOBAL const float *dx, GLOBAL float *dtable,
    uint rows, uint width)
{
    // ANCHOR: embed_backward
    uint token = BLOCK_X, col = BLOCK_Y * 64 + THREAD_X;
    if (col >= width) return;
    float sum = dtable[token * width + col];
    for (uint row = 0; row < rows; row++)
        if (tokens[row] == token) sum += dx[row * width + col];
    dtable[token * width + col] = sum;
    // ANCHOR_END: embed_backward
}

// Where a pair begins, in its row of queries and in its head.
FUNCTION void places(uint i, uint heads, uint tokens, uint *row, uint *head, uint *position)
{
    uint pair = i % HALF, h = i / HALF % heads, r = i / HALF / heads;
    *position = r % tokens;
    *row = r * 3 * heads * HEAD + h * HEAD + pair;
    *head = ((r / tokens * heads + h) * tokens + *position) * HEAD + pair;
}

KERNEL THREADS_OF_BLOCK(256, 1) void to_heads(
    GLOBAL const float *rows, GLOBAL const float *cosines, GLOBAL const float *sines,
    GLOBAL float *q, GLOBAL float *k, GLOBAL float *v, uint pairs, uint heads, uint tokens)
{
    uint i = BLOCK_X * 256 + THREAD_X;
    if (i >= pairs) return;
    uint row, head, position, width = heads * HEAD;
    places(i, heads, tokens, &row, &head, &position);
    float c = cosines[position * HALF + i % HALF], s = sines[position * HALF + i % HALF];
    float a = rows[row], b = rows[row + HALF];
    q[head] = a * c - b * s;
    q[head + HALF] = a * s + b * c;
    a = rows[row + width], b = rows[row + width + HALF];
    k[head] = a * c - b * s;
    k[head + HALF] = a * s + b * c;
    v[head] = rows[row + 2 * width];
    v[head + HALF] = rows[row + 2 * width + HALF];
}

KERNEL THREADS_OF_BLOCK(256, 1) void from_heads(
    GLOBAL const float *dq, GLOBAL const float *dk, GLOBAL const float *dv,
    GLOBAL const float *cosines, GLOBAL const float *sines,
    GLOBAL float *rows, uint pairs, uint heads, uint tokens)
{
    uint i = BLOCK_X * 256 + THREAD_X;
    if (i >= pairs) return;
    uint row, head, position, width = heads * HEAD;
    places(i, heads, tokens, &row, &head, &position);
    float c = cosines[position * HALF + i % HALF], s = sines[position * HALF + i % HALF];
    float a = dq[head], b = dq[head + HALF];
    rows[row] = a * c + b * s;
    rows[row + HALF] = b * c - a * s;
    a = dk[head], b = dk[head + HALF];
    rows[row + width] = a * c + b * s;
    rows[row + width + HALF] = b * c - a * s;
    rows[row + 2 * width] = dv[head];
    rows[row + 2 * width + HALF] = dv[head + HALF];
}

// Where number i of the rows lies among the heads.
FUNCTION uint in_heads(uint i, uint heads, uint tokens)
{
    uint col = i % (heads * HEAD), row = i / (heads * HEAD);
    return ((row / tokens * heads + col / HEAD) * tokens + row % tokens) * HEAD + col % HEAD;
}

KERNEL THREADS_OF_BLOCK(256, 1) void merge(
    GLOBAL const float *all, GLOBAL float *rows, uint count, uint heads, uint tokens)
{
    uint i = BLOCK_X * 256 + THREAD_X;
    if (i < count) rows[i] = all[in_heads(i, heads, tokens)];
}

KERNEL THREADS_OF_BLOCK(256, 1) void split(
    GLOBAL const float *rows, GLOBAL float *all, uint count, uint heads, uint tokens)
{
    uint i = BLOCK_X * 256 + THREAD_X;
    if (i < count) all[in_heads(i, heads, tokens)] = rows[i];
}
