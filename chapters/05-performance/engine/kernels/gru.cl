// A gated recurrent unit through all its moments in one kernel, forward and backward.
//
// Shows     a loop over time inside a kernel: states stay in shared memory, weights come from the cache, and nothing is launched
//           from moment to moment.
// Launch    blocks of THREADS×1 threads along x, one for each SEQUENCES of them.
// Reads     seen: [rows, moments, 3·UNITS], what each row of the image says to the gates. weights: [UNITS, 3·UNITS], and backward
//           [3·UNITS, UNITS]. bias: [3·UNITS].
// Writes    before: [rows, moments, UNITS], each moment's state before it. state: [rows, UNITS], the last one. gates: [rows,
//           moments, 4·UNITS]: r, z, n, and what the state said to n. dseen, dsaid: [rows, moments, 3·UNITS].
// Before    ops/gru.rs.

FUNCTION float sigmoid(float x)
{
    return 1.0f / (1.0f + EXP(-x));
}

KERNEL THREADS_OF_BLOCK(THREADS, 1) void moments(
    IN(seen), IN(weights), IN(bias), OUT(before), OUT(state), OUT(gates), uint rows, uint moments)
{
    SHARED float states[UNITS][SEQUENCES];
    SHARED float said[SEQUENCES][3 * UNITS];
    READ(seen);
    READ(weights);
    READ(bias);
    WRITE(before);
    WRITE(state);
    WRITE(gates);
    uint first = BLOCK_X * SEQUENCES;
    for (uint i = THREAD_X; i < SEQUENCES * UNITS; i += THREADS) states[i / SEQUENCES][i % SEQUENCES] = 0.0f;
    for (uint moment = 0; moment < moments; moment++) {
        // ANCHOR: said
        BARRIER(); // the states are whole
        for (uint j = THREAD_X; j < 3 * UNITS; j += THREADS) {
            float sums[SEQUENCES];
            UNROLL for (uint s = 0; s < SEQUENCES; s++) sums[s] = bias[j];
            for (uint i = 0; i < UNITS; i++) {
                float weight = weights[i * 3 * UNITS + j];
                UNROLL for (uint s = 0; s < SEQUENCES; s++)
                    sums[s] += states[i][s] * weight;
            }
            UNROLL for (uint s = 0; s < SEQUENCES; s++) said[s][j] = sums[s];
        }
        BARRIER(); // so is what they say
        // ANCHOR_END: said
        for (uint i = THREAD_X; i < SEQUENCES * UNITS; i += THREADS) {
            uint s = i / UNITS, u = i % UNITS, row = (first + s) * moments + moment;
            if (first + s >= rows) continue;
            GLOBAL const float *x = seen + row * 3 * UNITS + u;
            float said_n = said[s][2 * UNITS + u], old = states[u][s];
            float r = sigmoid(x[0] + said[s][u]), z = sigmoid(x[UNITS] + said[s][UNITS + u]);
            // tanh: a sigmoid from -1 to 1.
            float n = 2.0f * sigmoid(2.0f * (x[2 * UNITS] + r * said_n)) - 1.0f;
            GLOBAL float *kept = gates + row * 4 * UNITS + u;
            kept[0] = r;
            kept[UNITS] = z;
            kept[2 * UNITS] = n;
            kept[3 * UNITS] = said_n;
            before[row * UNITS + u] = old;
            states[u][s] = n + z * (old - n);
        }
    }
    BARRIER();
    for (uint i = THREAD_X; i < SEQUENCES * UNITS; i += THREADS) {
        uint s = i / UNITS, u = i % UNITS;
        if (first + s < rows) state[(first + s) * UNITS + u] = states[u][s];
    }
}

KERNEL THREADS_OF_BLOCK(THREADS, 1) void moments_backward(
    IN(gates), IN(before), IN(dy), IN(weights), OUT(dseen), OUT(dsaid), uint rows, uint moments)
{
    SHARED float ups[SEQUENCES][UNITS];
    SHARED float slopes[3 * UNITS][SEQUENCES];
    READ(gates);
    READ(before);
    READ(dy);
    READ(weights);
    WRITE(dseen);
    WRITE(dsaid);
    uint first = BLOCK_X * SEQUENCES;
    for (uint i = THREAD_X; i < SEQUENCES * UNITS; i += THREADS) {
        uint s = i / UNITS, u = i % UNITS;
        ups[s][u] = first + s < rows ? dy[(first + s) * UNITS + u] : 0.0f;
    }
    for (uint moment = moments; moment-- > 0;) {
        BARRIER(); // what comes back is whole
        for (uint i = THREAD_X; i < SEQUENCES * UNITS; i += THREADS) {
            uint s = i / UNITS, u = i % UNITS, row = (first + s) * moments + moment;
            float dr = 0.0f, dz = 0.0f, dsaid_n = 0.0f;
            if (first + s < rows) {
                GLOBAL const float *kept = gates + row * 4 * UNITS + u;
                float r = kept[0], z = kept[UNITS], n = kept[2 * UNITS], said_n = kept[3 * UNITS];
                float dh = ups[s][u], dn = dh * (1.0f - z) * (1.0f - n * n);
                dz = dh * (before[row * UNITS + u] - n) * z * (1.0f - z);
                dr = dn * said_n * r * (1.0f - r);
                dsaid_n = dn * r;
                ups[s][u] = dh * z;
                GLOBAL float *to = dseen + row * 3 * UNITS + u, *other = dsaid + row * 3 * UNITS + u;
                to[0] = dr;
                to[UNITS] = dz;
                to[2 * UNITS] = dn;
                other[0] = dr;
                other[UNITS] = dz;
                other[2 * UNITS] = dsaid_n;
            }
            slopes[u][s] = dr;
            slopes[UNITS + u][s] = dz;
            slopes[2 * UNITS + u][s] = dsaid_n;
        }
        BARRIER(); // so are the gates'
        for (uint u = THREAD_X; u < UNITS; u += THREADS) {
            float sums[SEQUENCES];
            UNROLL for (uint s = 0; s < SEQUENCES; s++) sums[s] = 0.0f;
            for (uint j = 0; j < 3 * UNITS; j++) {
                float weight = weights[j * UNITS + u];
                UNROLL for (uint s = 0; s < SEQUENCES; s++) sums[s] += slopes[j][s] * weight;
            }
            UNROLL for (uint s = 0; s < SEQUENCES; s++) ups[s][u] += sums[s];
        }
    }
}
