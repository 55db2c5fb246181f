// Softmax, cross-entropy and their gradient in one pass over the scores.
//
// Shows     a fused reduction: a row's largest score, its sum and its gradient without a trip to memory in between.
// Launch    blocks of 32×8 threads along x, one block for each 8 rows; 32 threads share a row.
// Reads     scores (rows×cols) and labels (rows), each below cols.
// Writes    scores, in place: (probability − target)·scale, the gradient. losses (rows): −ln of the right class'
//           probability. A score of NaN makes its row's loss NaN.
// Before    chapter 3, softmax.rs: the same formulas.

KERNEL THREADS_OF_BLOCK(32, 8) void softmax_cross_entropy(
    GLOBAL float *scores, GLOBAL const uint *labels, GLOBAL float *losses,
    uint rows, uint cols, float scale)
{
    SHARED float parts[8 * 32];
    uint row = BLOCK_X * 8 + THREAD_Y;
    uint here = row < rows ? cols : 0; // others only wait at the barriers
    GLOBAL float *s = scores + row * here;
    uint label = row < rows ? labels[row] : 0;

    float highest = -INFINITY;
    for (uint j = THREAD_X; j < here; j += 32)
        highest = s[j] > highest ? s[j] : highest;
    highest = of_row(parts, highest, true);
    float sum = 0.0f;
    for (uint j = THREAD_X; j < here; j += 32) sum += EXP(s[j] - highest);
    sum = of_row(parts, sum, false);

    if (here > 0 && THREAD_X == 0)
        losses[row] = LOG(sum) - (s[label] - highest);
    BARRIER(); // the label's score is read before it is overwritten
    for (uint j = THREAD_X; j < here; j += 32) {
        float truth = j == label ? 1.0f : 0.0f;
        s[j] = (EXP(s[j] - highest) / sum - truth) * scale;
    }
}
