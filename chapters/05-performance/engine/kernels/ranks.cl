// What ranks do to numbers that they sum or send.
//
// Launch    blocks of 256 threads along x, one for each number that is written.
// Reads     state: SHARE is what an image counts, of all in the batch. parts: rows of two sums, of losses and of right answers.
// Writes    zero: zeros. copy: the numbers of another tensor. weigh: what `images` images have left, times what they count.
//           losses: two sums and, times what an image counts, those of more rows.

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
    for (uint row = 0; row < rows; row++) all += parts[row * count + i] * state[SHARE];
    sum[i] = all;
}
