// Softmax, cross-entropy and their gradient in one pass over the scores.
//
// Launch    blocks of 32×8 threads along x, one for each part of the rows; 32 threads share a row.
// Reads     scores: [rows, cols]. labels: [rows]. state.
// Writes    gradient: (probability − target)·share. sums: of each part the rows' losses, and how many were right. A score of
//           NaN, or a label beyond the scores, makes its row's loss NaN; a loss that is no number has no gradient.
// Before    chapter 3, softmax.rs: the same formulas.

KERNEL THREADS_OF_BLOCK(32, 8) void loss(
    IN(scores), IN(labels), IN(state), OUT(gradient), OUT(sums), uint rows, uint cols, uint each)
{
    SHARED float parts[8 * 32];
    READ(scores);
    WORDS(labels);
    READ(state);
    WRITE(gradient);
    WRITE(sums);
    uint end = (BLOCK_X + 1) * each < rows ? (BLOCK_X + 1) * each : rows;
    float share = state[SHARE], loss = 0.0f, right = 0.0f;
    for (uint first = BLOCK_X * each; first < end; first += 8) {
        uint row = first + THREAD_Y;
        uint here = row < end ? cols : 0; // others only wait at the barriers
        GLOBAL const float *s = scores + row * here;
        float highest = -INFINITY;
        for (uint j = THREAD_X; j < here; j += 32) highest = s[j] > highest ? s[j] : highest;
        highest = of_row(parts, highest, true);
        uint label = here > 0 ? labels[row] : 0;
        float others = 0.0f;
        for (uint j = THREAD_X; j < here; j += 32)
            if (j != label) others += EXP(s[j] - highest);
        others = of_row(parts, others, false);
        if (here == 0) continue;
        float own = label < cols ? s[label] - highest : NAN, sum = others + EXP(own);
        float ours = LOG(sum) - own, factor = ours < INFINITY ? share / sum : NAN;
        for (uint j = THREAD_X; j < cols; j += 32) // p - 1, without the difference
            gradient[row * cols + j] = (j == label ? -others : EXP(s[j] - highest)) * factor;
        loss += ours;
        right += own >= 0.0f ? 1.0f : 0.0f;
    }
    BARRIER();
    if (THREAD_X == 0) {
        parts[THREAD_Y] = loss;
        parts[8 + THREAD_Y] = right;
    }
    BARRIER();
    if (THREAD_X == 0 && THREAD_Y < 2) {
        float sum = 0.0f;
        for (uint y = 0; y < 8; y++) sum += parts[8 * THREAD_Y + y];
        sums[2 * BLOCK_X + THREAD_Y] = sum;
    }
}
