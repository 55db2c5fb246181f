// ReLU and the largest of each 2×2 pixels, forward and backward.
//
// Launch    blocks of 256 threads along x, a thread for each number of y.
// Reads     x: lines of `line` numbers, channels last.
// Writes    y. which: a byte for each number of y, the bit of the pixel that it came from, or none for a zero. unpool: dx.

// The first of the four numbers that number i of y is made of.
FUNCTION uint corner(uint i, uint line, uint channels)
{
    uint across = line / 2, col = i % across;
    return i / across * 2 * line + col / channels * 2 * channels + col % channels;
}

KERNEL THREADS_OF_BLOCK(256, 1) void pool(
    IN(x), OUT(y), OUT(which), uint count, uint line, uint channels)
{
    READ(x);
    WRITE(y);
    BYTES(which);
    EACH_OF(i, count);
    uint top = corner(i, line, channels);
    float largest = 0.0f;
    uint place = 0;
    for (uint number = 0; number < 4; number++) {
        float from = x[top + number / 2 * line + number % 2 * channels];
        if (from > largest || from != from) { // NaN is larger than all
            largest = from;
            place = 1u << number;
        }
    }
    y[i] = largest;
    which[i] = (BYTE)place;
}

KERNEL THREADS_OF_BLOCK(256, 1) void unpool(
    IN(dy), OUT(which), OUT(dx), uint count, uint line, uint channels)
{
    READ(dy);
    BYTES(which);
    WRITE(dx);
    EACH_OF(i, count);
    uint top = corner(i, line, channels);
    for (uint number = 0; number < 4; number++)
        dx[top + number / 2 * line + number % 2 * channels] = which[i] >> number & 1 ? dy[i] : 0.0f;
}
