// Causal attention in tiles, backward: each kernel computes the scores again, and no table of them is in memory.
//
// Shows     the same work from two sides: for the derivatives of queries a thread owns a query and goes through the keys,
//           for those of keys and values it owns a key and goes through the queries. No two threads add to one number.
// Launch    blocks of 64×1 threads; along x one block for each 64 queries (or keys), along y one for each head of each sequence.
//           attention_dq comes first: it leaves `along`.
// Reads     q, k, v, out, dout: [heads, tokens, HEAD] each. logs: [heads, tokens], from attention.cl.
// Writes    dq, dk, dv: [heads, tokens, HEAD]. along: [heads, tokens], the sums of dout·out.
// Before    attention/tiled.rs, the same on a CPU. Dao and others 2022, FlashAttention, algorithm 4.

#ifndef HEAD
#define HEAD 32 // numbers of a query; with 64 some of a thread's numbers no longer fit its registers
#endif
#define OWNED 64 // queries or keys of a block, a thread each
#define TILE 32 // rows that a block goes through at a time

// A tile of two kinds of rows, by all threads of the block; zeros beyond the last row.
FUNCTION void load(
    SHARED_POINTER float *a, SHARED_POINTER float *b, GLOBAL const float *from_a,
    GLOBAL const float *from_b, uint head, uint first, uint tokens)
{
    BARRIER(); // the last tile has been read
    for (uint i = THREAD_X; i < TILE * HEAD; i += OWNED) {
        uint at = first * HEAD + i;
        a[i] = at < tokens * HEAD ? from_a[head + at] : 0.0f;
        b[i] = at < tokens * HEAD ? from_b[head + at] : 0.0f;
    }
    BARRIER();
}

KERNEL THREADS_OF_BLOCK(OWNED, 1) void attention_dq(
    GLOBAL const float *q, GLOBAL const float *k, GLOBAL const float *v,
    GLOBAL const float *out, GLOBAL const float *dout, GLOBAL const float *logs,
    GLOBAL float *dq, GLOBAL float *along, uint tokens, float scale)
{
    SHARED float keys[TILE * HEAD];
    SHARED float values[TILE * HEAD];
    uint head = BLOCK_Y * tokens * HEAD;
    uint query = BLOCK_X * OWNED + THREAD_X;
    uint seen = query < tokens ? query + 1 : 0; // the others only load and wait
    uint end = (BLOCK_X + 1) * OWNED;
    end = end < tokens ? end : tokens;

    float mine[HEAD], slope[HEAD], sum[HEAD];
    float of_all = 0.0f;
    UNROLL for (uint i = 0; i < HEAD; i++) {
        uint at = head + query * HEAD + i;
        mine[i] = seen > 0 ? q[at] : 0.0f;
        slope[i] = seen > 0 ? dout[at] : 0.0f;
        of_all += seen > 0 ? slope[i] * out[at] : 0.0f;
        sum[i] = 0.0f;
    }
    float own_log = seen > 0 ? logs[BLOCK_Y * tokens + query] : 0.0f;

    for (uint first = 0; first < end; first += TILE) {
        load(keys, values, k, v, head, first, tokens);
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
        UNROLL for (uint i = 0; i < HEAD; i++) dq[head + query * HEAD + i] = sum[i];
        along[BLOCK_Y * tokens + query] = of_all;
    }
}

KERNEL THREADS_OF_BLOCK(OWNED, 1) void attention_dkv(
    GLOBAL const float *q, GLOBAL const float *k, GLOBAL const float *v,
    GLOBAL const float *dout, GLOBAL const float *logs, GLOBAL const float *along,
    GLOBAL float *dk, GLOBAL float *dv, uint tokens, float scale)
{
    SHARED float queries[TILE * HEAD];
    SHARED float slopes[TILE * HEAD];
    uint head = BLOCK_Y * tokens * HEAD;
    uint key = BLOCK_X * OWNED + THREAD_X;
    float mine[HEAD], value[HEAD], dmine[HEAD], dvalue[HEAD];
    UNROLL for (uint i = 0; i < HEAD; i++) {
        mine[i] = key < tokens ? k[head + key * HEAD + i] : 0.0f;
        value[i] = key < tokens ? v[head + key * HEAD + i] : 0.0f;
        dmine[i] = 0.0f;
        dvalue[i] = 0.0f;
    }
    for (uint first = BLOCK_X * OWNED; first < tokens; first += TILE) {
        load(queries, slopes, q, dout, head, first, tokens);
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
            float weight = EXP(score * scale - logs[BLOCK_Y * tokens + query]);
            float dscore = weight * (dweight - along[BLOCK_Y * tokens + query]) * scale;
            UNROLL for (uint i = 0; i < HEAD; i++) {
                dvalue[i] += weight * slopes[j * HEAD + i];
                dmine[i] += dscore * queries[j * HEAD + i];
            }
        }
    }
    if (key < tokens) {
        UNROLL for (uint i = 0; i < HEAD; i++) {
            dk[head + key * HEAD + i] = dmine[i];
            dv[head + key * HEAD + i] = dvalue[i];
        }
    }
}
