// The rows of a part, for a block of 32×8 threads: 32 columns, and every eighth row for a thread.
#define ROWS_OF_PART(row) \
    for (uint row = BLOCK_Y * each + THREAD_Y; row < rows && row < (BLOCK_Y + 1) * each; row += 8)

// What a normalisation adds to a variance before it takes the root.
#define EPSILON_OF_NORM 1e-5f

// ANCHOR: fold
// Adds up what the eight threads of a column have, in their order: the
// first of them has the sum.
FUNCTION float of_column(SHARED_POINTER float *room, float sum)
{
    BARRIER(); // the last sums have been read
    room[THREAD_Y * 32 + THREAD_X] = sum;
    BARRIER();
    if (THREAD_Y == 0)
        for (uint y = 1; y < 8; y++) sum += room[y * 32 + THREAD_X];
    return sum;
}
// ANCHOR_END: fold

// Writes a column's sum of a part.
FUNCTION void fold(
    SHARED_POINTER float *room, float sum, GLOBAL float *parts, uint col, uint cols)
{
    sum = of_column(room, sum);
    if (THREAD_Y == 0 && col < cols) parts[BLOCK_Y * cols + col] = sum;
}
