// Causal attention in tiles, forward: no table of scores in memory.
//
// Shows     an online softmax: each thread owns a query and repairs its sums when a higher score turns up.
// Launch    blocks of 64×1 threads; along x one block for each 64 queries, along y one for each head of each sequence.
// Reads     q, k, v: [heads, tokens, HEAD] each, queries and keys turned to their positions.
// Writes    out: [heads, tokens, HEAD]. logs: [heads, tokens], the logarithm of each query's sum, for a backward pass.
// Before    attention/tiled.rs, the same on a CPU. Dao and others 2022, FlashAttention, algorithm 1.

#ifndef HEAD
#define HEAD 32 // numbers of a query
#endif
#define QUERIES 64 // queries of a block, a thread each
#define KEYS 32 // keys of a tile

KERNEL THREADS_OF_BLOCK(QUERIES, 1) void attention(
    GLOBAL const float *q, GLOBAL const float *k, GLOBAL const float *v,
    GLOBAL float *out, GLOBAL float *logs, uint tokens, float scale)
{
    SHARED float keys[KEYS * HEAD];
    SHARED float values[KEYS * HEAD];
    uint head = BLOCK_Y * tokens * HEAD;
    uint query = BLOCK_X * QUERIES + THREAD_X;
    uint seen = query < tokens ? query + 1 : 0; // the others only load and wait
    uint end = (BLOCK_X + 1) * QUERIES;
    end = end < tokens ? end : tokens;

    float mine[HEAD], sum_of_values[HEAD];
    UNROLL for (uint i = 0; i < HEAD; i++) {
        mine[i] = seen > 0 ? q[head + query * HEAD + i] * scale : 0.0f;
        sum_of_values[i] = 0.0f;
    }
    float highest = -INFINITY, sum = 0.0f;

    for (uint first = 0; first < end; first += KEYS) {
        BARRIER(); // the last tile has been read
        for (uint i = THREAD_X; i < KEYS * HEAD; i += QUERIES) {
            uint at = first * HEAD + i;
            keys[i] = at < tokens * HEAD ? k[head + at] : 0.0f;
            values[i] = at < tokens * HEAD ? v[head + at] : 0.0f;
        }
        BARRIER();
        uint count = seen > first ? seen - first : 0;
        count = count < KEYS ? count : KEYS;
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
        UNROLL for (uint i = 0; i < HEAD; i++)
            out[head + query * HEAD + i] = sum_of_values[i] / sum;
        logs[BLOCK_Y * tokens + query] = highest + LOG(sum);
    }
}
