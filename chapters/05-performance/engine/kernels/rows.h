// One number from the 32 threads that share a row, eight rows a block: the largest, or the sum.
FUNCTION float of_row(SHARED_POINTER float *parts, float mine, bool largest)
{
    SHARED_POINTER float *row = parts + THREAD_Y * 32;
    BARRIER(); // the last result has been read
    row[THREAD_X] = mine;
    for (uint apart = 16; apart > 0; apart /= 2) {
        BARRIER();
        if (THREAD_X < apart) {
            float a = row[THREAD_X], b = row[THREAD_X + apart];
            row[THREAD_X] = largest ? (a > b ? a : b) : a + b;
        }
    }
    BARRIER();
    return row[0];
}
