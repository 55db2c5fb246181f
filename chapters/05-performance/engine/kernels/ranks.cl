// What ranks do to numbers that they sum or send.
//
// Launch    blocks of 256 threads along x, one for each number that is written.
// Reads     state: SHARE is what an image counts, of all in the batch. parts: rows of two sums, of losses and of right answers.
// Writes    zero: zeros. copy: the numbers of another tensor. weigh: what `images` images have left, times what they count.
//           losses: two sums and, times what an image counts, those of more rows; what stands behind them stays. broken: one
//           behind the sums if a number of a gradient is not finite; who writes it writes the same.

KERNEL THREADS_OF_BLOCK(256, 1) void zero(OUT(to), uint count)
{
    WRITE(to);
    EACH_OF(i, count);
    to[i] = 0.0f;
}

KERNEL THREADS_OF_BLOCK(256, 1) void copy_words(IN(from), OUT(to), uint count)
{
    READ(from);
    WRITE(to);
    EACH_OF(i, count);
    to[i] = from[i];
}

KERNEL THREADS_OF_BLOCK(256, 1) void weigh(IN(state), OUT(to), uint count, uint images)
{
    READ(state);
    WRITE(to);
    EACH_OF(i, count);
    to[i] *= state[SHARE] * (float)images;
}

KERNEL THREADS_OF_BLOCK(256, 1) void losses(
    IN(before), IN(parts), IN(state), OUT(sum), uint count, uint rows)
{
    READ(before);
    READ(parts);
    READ(state);
    WRITE(sum);
    EACH_OF(i, count);
    float all = before[i];
    if (i < 2)
        for (uint row = 0; row < rows; row++) all += parts[row * 2 + i] * state[SHARE];
    sum[i] = all;
}

KERNEL THREADS_OF_BLOCK(256, 1) void broken(IN(gradient), OUT(sums), uint count)
{
    WORDS(gradient);
    WRITE(sums);
    EACH_OF(i, count);
    if ((gradient[i] & 0x7f800000u) == 0x7f800000u) sums[2] = 1.0f;
}
