// Attention between the rows of an image, forward and backward, a thread for each row of each head.
//
// Launch    blocks of 256 threads along x.
// Reads     qkv: [images, tokens, 3, heads, HEAD]. dy, y: [images, tokens, heads, HEAD].
// Writes    y. shares: [images, heads, tokens of queries, tokens of keys]. dqkv: as qkv. As a query a thread owns its derivative, and as
//           a key those of its key and its value.
// Macros    HEAD: numbers of a head's row.
// Before    ops/attention.rs.

// Where a thread's row begins among queries, and in what comes out.
#define PLACES(i) \
    uint token = i % tokens, head = i / tokens % heads, image = i / tokens / heads; \
    uint width = heads * HEAD, first = image * tokens * width + head * HEAD

KERNEL THREADS_OF_BLOCK(256, 1) void attend(
    IN(qkv), OUT(y), OUT(shares), uint count, uint tokens, uint heads, float factor)
{
    READ(qkv);
    WRITE(y);
    WRITE(shares);
    EACH_OF(i, count);
    PLACES(i);
    GLOBAL const float *rows = qkv + 3 * (first - head * HEAD) + head * HEAD;
    GLOBAL float *own = shares + i * tokens;
    float query[HEAD], out[HEAD], highest = -INFINITY, sum = 0.0f;
    UNROLL for (uint d = 0; d < HEAD; d++) query[d] = rows[token * 3 * width + d];
    for (uint j = 0; j < tokens; j++) {
        GLOBAL const float *key = rows + j * 3 * width + width;
        float score = 0.0f;
        UNROLL for (uint d = 0; d < HEAD; d++) score += query[d] * key[d];
        own[j] = score;
        highest = score > highest ? score : highest;
    }
    for (uint j = 0; j < tokens; j++) {
        own[j] = EXP((own[j] - highest) * factor);
        sum += own[j];
    }
    UNROLL for (uint d = 0; d < HEAD; d++) out[d] = 0.0f;
    for (uint j = 0; j < tokens; j++) {
        GLOBAL const float *value = rows + j * 3 * width + 2 * width;
        float share = own[j] / sum;
        own[j] = share;
        UNROLL for (uint d = 0; d < HEAD; d++) out[d] += share * value[d];
    }
    UNROLL for (uint d = 0; d < HEAD; d++) y[first + token * width + d] = out[d];
}

KERNEL THREADS_OF_BLOCK(256, 1) void attend_backward(
    IN(qkv), IN(shares), IN(dy), IN(y), OUT(dqkv), uint count, uint tokens, uint heads, float factor)
{
    READ(qkv);
    READ(shares);
    READ(dy);
    READ(y);
    WRITE(dqkv);
    EACH_OF(i, count);
    PLACES(i);
    uint begin = 3 * (first - head * HEAD) + head * HEAD;
    GLOBAL const float *rows = qkv + begin, *table = shares + (i - token) * tokens;
    float own[HEAD], slope[HEAD], sum[HEAD], mean = 0.0f;
    // As a query: one share can only grow at the cost of the others.
    UNROLL for (uint d = 0; d < HEAD; d++) {
        slope[d] = dy[first + token * width + d];
        mean += slope[d] * y[first + token * width + d];
        sum[d] = 0.0f;
    }
    for (uint j = 0; j < tokens; j++) {
        GLOBAL const float *key = rows + j * 3 * width + width, *value = key + width;
        float dshare = 0.0f;
        UNROLL for (uint d = 0; d < HEAD; d++) dshare += slope[d] * value[d];
        float dscore = table[token * tokens + j] * (dshare - mean) * factor;
        UNROLL for (uint d = 0; d < HEAD; d++) sum[d] += dscore * key[d];
    }
    GLOBAL float *to = dqkv + begin + token * 3 * width;
    UNROLL for (uint d = 0; d < HEAD; d++) to[d] = sum[d];
    // As a key, with its value.
    UNROLL for (uint d = 0; d < HEAD; d++) {
        own[d] = rows[token * 3 * width + 2 * width + d];
        slope[d] = 0.0f;
        sum[d] = 0.0f;
    }
    for (uint j = 0; j < tokens; j++) {
        GLOBAL const float *query = rows + j * 3 * width, *from = dy + first + j * width;
        GLOBAL const float *came = y + first + j * width;
        float dshare = 0.0f, share = table[j * tokens + token];
        mean = 0.0f;
        UNROLL for (uint d = 0; d < HEAD; d++) {
            dshare += from[d] * own[d];
            mean += from[d] * came[d];
        }
        float dscore = share * (dshare - mean) * factor;
        UNROLL for (uint d = 0; d < HEAD; d++) {
            sum[d] += dscore * query[d];
            slope[d] += share * from[d];
        }
    }
    UNROLL for (uint d = 0; d < HEAD; d++) {
        to[width + d] = sum[d];
        to[2 * width + d] = slope[d];
    }
}
