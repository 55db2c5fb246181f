// The rows of a part, for a block of 32×8 threads: 32 columns, and every eighth row for a thread.
#define ROWS_OF_PART(row) \
    for (uint row = BLOCK_Y * each + THREAD_Y; row < rows && row < (BLOCK_Y + 1) * each; row += 8)

// Adds up what the eight threads of a column have, in their order, and writes the part's sum.
// ANCHOR: fold
FUNCTION void fold(
    SHARED_POINTER float *room, float sum, GLOBAL float *parts,
    uint col, uint cols)
{
    BARRIER(); // the last sums have been read
    room[THREAD_Y * 32 + THREAD_X] = sum;
    BARRIER();
    if (THREAD_Y == 0 && col < cols) {
        for (uint y = 1; y < 8; y++) sum += room[y * 32 + THREAD_X];
        parts[BLOCK_Y * cols + col] = sum;
    }
}
// ANCHOR_END: fold
