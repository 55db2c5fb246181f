// Causal attention of all heads in tiles, forward and backward, from rows to rows: no table of scores in memory, no head copied.
//
// Shows     an online softmax: each thread owns a query and repairs its sums when a higher score turns up. And the same work from
//           two sides: for the derivatives of queries a thread owns a query and goes through the keys, for those of keys and
//           values it owns a key and goes through the queries. No two threads add to one number.
// Launch    blocks of 64×1 threads; along x one for each head of each sequence, along y one for each 64 queries (or keys).
//           attention_dq comes first: it leaves `along`.
// Reads     qkv: [rows, 3, heads, HEAD], queries and keys not turned to their positions yet. dy, y: [rows, heads, HEAD]. angles:
//           the cosines of [tokens, HEAD / 2], then the sines.
// Writes    y. logs: [heads, tokens], the logarithm of each query's sum. along: as logs, the sums of dy·y. dqkv: as qkv.
// Macros    HEAD: numbers of a query; with 64 some of a thread's numbers no longer fit its registers.
// Before    attention/tiled.rs and layers/rotary.rs, the same on a CPU. Dao and others 2022, FlashAttention, algorithms 1 and 4.

#define HALF (HEAD / 2)
#define OWNED 64 // queries or keys of a block, a thread each
#define TILE 32 // rows that a block goes through at a time

// Where the head of this block begins in rows that are `parts` times as wide as its results.
#define BEGIN(parts) (BLOCK_X / heads * tokens * (parts) * width + BLOCK_X % heads * HEAD)

// A thread's query, how many keys it sees (none behind the last query: those threads only load and wait), and where the keys of
// its block end. The longest block is the first.
#define OWN_QUERY                                                                   \
    uint block = (tokens + OWNED - 1) / OWNED - 1 - BLOCK_Y;                        \
    uint query = block * OWNED + THREAD_X, at = query < tokens ? query : 0;         \
    uint seen = query < tokens ? query + 1 : 0;                                     \
    uint end = (block + 1) * OWNED < tokens ? (block + 1) * OWNED : tokens

// A thread's own row, turned to its position.
FUNCTION void turn(float *own, GLOBAL const float *row, GLOBAL const float *angles, uint at, uint tokens)
{
    UNROLL for (uint i = 0; i < HALF; i++) {
        float c = angles[at * HALF + i], s = angles[(tokens + at) * HALF + i];
        own[i] = row[i] * c - row[HALF + i] * s;
        own[HALF + i] = row[i] * s + row[HALF + i] * c;
    }
}

// A thread's derivatives, turned back.
FUNCTION void turn_back(GLOBAL float *row, const float *own, GLOBAL const float *angles, uint at, uint tokens)
{
    UNROLL for (uint i = 0; i < HALF; i++) {
        float c = angles[at * HALF + i], s = angles[(tokens + at) * HALF + i];
        row[i] = own[i] * c + own[HALF + i] * s;
        row[HALF + i] = own[HALF + i] * c - own[i] * s;
    }
}

// A tile of rows that are turned, and one of rows that are not, by all threads of the block; zeros beyond the last row.
FUNCTION void load(
    SHARED_POINTER float *turned, GLOBAL const float *x, uint x_step, SHARED_POINTER float *plain,
    GLOBAL const float *z, uint z_step, GLOBAL const float *angles, uint first, uint tokens)
{
    BARRIER(); // the last tile has been read
    for (uint i = THREAD_X; i < TILE * HALF; i += OWNED) {
        uint pair = i % HALF, at = first + i / HALF, to = i / HALF * HEAD + pair;
        float a = 0.0f, b = 0.0f, c = 0.0f, s = 0.0f, left = 0.0f, right = 0.0f;
        if (at < tokens) {
            a = x[at * x_step + pair], b = x[at * x_step + HALF + pair];
            c = angles[at * HALF + pair], s = angles[(tokens + at) * HALF + pair];
            left = z[at * z_step + pair], right = z[at * z_step + HALF + pair];
        }
        turned[to] = a * c - b * s;
        turned[to + HALF] = a * s + b * c;
        plain[to] = left;
        plain[to + HALF] = right;
    }
    BARRIER();
}

KERNEL THREADS_OF_BLOCK(OWNED, 1) void attention(
    IN(qkv), OUT(y), OUT(logs), IN(angles), uint tokens, uint heads, float scale)
{
    SHARED float keys[TILE * HEAD];
    SHARED float values[TILE * HEAD];
    READ(qkv);
    WRITE(y);
    WRITE(logs);
    READ(angles);
    uint width = heads * HEAD, step = 3 * width;
    GLOBAL const float *q = qkv + BEGIN(3), *k = q + width, *v = k + width;
    OWN_QUERY;

    float mine[HEAD], sum_of_values[HEAD];
    turn(mine, q + at * step, angles, at, tokens);
    UNROLL for (uint i = 0; i < HEAD; i++) {
        mine[i] *= scale;
        sum_of_values[i] = 0.0f;
    }
    float highest = -INFINITY, sum = 0.0f;

    for (uint first = 0; first < end; first += TILE) {
        load(keys, k, step, values, v, step, angles, first, tokens);
        uint count = seen > first ? seen - first : 0;
        count = count < TILE ? count : TILE;
        for (uint j = 0; j < count; j++) {
            float score = 0.0f;
            UNROLL for (uint i = 0; i < HEAD; i++)
                score += mine[i] * keys[j * HEAD + i];
            if (score > highest) { // everything so far was too large
                float factor = EXP(highest - score);
                sum *= factor;
                UNROLL for (uint i = 0; i < HEAD; i++)
                    sum_of_values[i] *= factor;
                highest = score;
            }
            float power = EXP(score - highest);
            sum += power;
            UNROLL for (uint i = 0; i < HEAD; i++)
                sum_of_values[i] += power * values[j * HEAD + i];
        }
    }

    if (seen > 0) {
        GLOBAL float *to = y + BEGIN(1) + query * width;
        UNROLL for (uint i = 0; i < HEAD; i++) to[i] = sum_of_values[i] / sum;
        logs[BLOCK_X * tokens + query] = highest + LOG(sum);
    }
}

KERNEL THREADS_OF_BLOCK(OWNED, 1) void attention_dq(
    IN(qkv), IN(dy), IN(y), IN(logs), OUT(dqkv), OUT(along), IN(angles), uint tokens, uint heads, float scale)
{
    SHARED float keys[TILE * HEAD];
    SHARED float values[TILE * HEAD];
    READ(qkv);
    READ(dy);
    READ(y);
    READ(logs);
    WRITE(dqkv);
    WRITE(along);
    READ(angles);
    uint width = heads * HEAD, step = 3 * width;
    GLOBAL const float *q = qkv + BEGIN(3), *k = q + width, *v = k + width;
    OWN_QUERY;

    float mine[HEAD], slope[HEAD], sum[HEAD];
    float of_all = 0.0f, own_log = logs[BLOCK_X * tokens + at];
    turn(mine, q + at * step, angles, at, tokens);
    UNROLL for (uint i = 0; i < HEAD; i++) {
        slope[i] = dy[BEGIN(1) + at * width + i];
        of_all += slope[i] * y[BEGIN(1) + at * width + i];
        sum[i] = 0.0f;
    }

    for (uint first = 0; first < end; first += TILE) {
        load(keys, k, step, values, v, step, angles, first, tokens);
        uint count = seen > first ? seen - first : 0;
        count = count < TILE ? count : TILE;
        // ANCHOR: dq
        for (uint j = 0; j < count; j++) {
            float score = 0.0f, dweight = 0.0f;
            UNROLL for (uint i = 0; i < HEAD; i++) {
                score += mine[i] * keys[j * HEAD + i];
                dweight += slope[i] * values[j * HEAD + i];
            }
            float weight = EXP(score * scale - own_log);
            float dscore = weight * (dweight - of_all) * scale;
            UNROLL for (uint i = 0; i < HEAD; i++)
                sum[i] += dscore * keys[j * HEAD + i];
        }
        // ANCHOR_END: dq
    }

    if (seen > 0) {
        turn_back(dqkv + BEGIN(3) + query * step, sum, angles, query, tokens);
        along[BLOCK_X * tokens + query] = of_all;
    }
}

KERNEL THREADS_OF_BLOCK(OWNED, 1) void attention_dkv(
    IN(qkv), IN(dy), IN(logs), IN(along), OUT(dqkv), IN(angles), uint tokens, uint heads, float scale)
{
    SHARED float queries[TILE * HEAD];
    SHARED float slopes[TILE * HEAD];
    READ(qkv);
    READ(dy);
    READ(logs);
    READ(along);
    WRITE(dqkv);
    READ(angles);
    uint width = heads * HEAD, step = 3 * width;
    GLOBAL const float *q = qkv + BEGIN(3), *k = q + width, *v = k + width;
    uint key = BLOCK_Y * OWNED + THREAD_X, at = key < tokens ? key : 0;
    float mine[HEAD], value[HEAD], dmine[HEAD], dvalue[HEAD];
    turn(mine, k + at * step, angles, at, tokens);
    UNROLL for (uint i = 0; i < HEAD; i++) {
        value[i] = v[at * step + i];
        dmine[i] = 0.0f;
        dvalue[i] = 0.0f;
    }
    for (uint first = BLOCK_Y * OWNED; first < tokens; first += TILE) {
        load(queries, q, step, slopes, dy + BEGIN(1), width, angles, first, tokens);
        uint end = first + TILE < tokens ? first + TILE : tokens;
        for (uint query = first; query < end; query++) {
            // All threads read the same row, a broadcast; a query before the key does not see it.
            if (query < key) continue;
            uint j = query - first;
            float score = 0.0f, dweight = 0.0f;
            UNROLL for (uint i = 0; i < HEAD; i++) {
                score += mine[i] * queries[j * HEAD + i];
                dweight += value[i] * slopes[j * HEAD + i];
            }
            float weight = EXP(score * scale - logs[BLOCK_X * tokens + query]);
            float dscore = weight * (dweight - along[BLOCK_X * tokens + query]) * scale;
            UNROLL for (uint i = 0; i < HEAD; i++) {
                dvalue[i] += weight * slopes[j * HEAD + i];
                dmine[i] += dscore * queries[j * HEAD + i];
            }
        }
    }
    if (key < tokens) {
        GLOBAL float *to = dqkv + BEGIN(3) + key * step;
        turn_back(to + width, dmine, angles, key, tokens);
        UNROLL for (uint i = 0; i < HEAD; i++) to[2 * width + i] = dvalue[i];
    }
}
